"""Moved to `viewer.state.work`."""

from viewer.state.work import Asked, Worker, join_all

__all__ = ["Asked", "Worker", "join_all"]
