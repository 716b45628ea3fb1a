"""The `lightbox` command. Importing it imports no Qt and no reader: a command brings what it needs."""

from viewer.cli.main import main

__all__ = ["main"]
