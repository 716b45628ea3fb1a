"""The `lightbox` command. Its import loads no Qt and no reader: each command imports what it needs."""

from viewer.cli.main import main

__all__ = ["main"]
