"""What a trace is. Nothing here reads files, computes numbers or knows about Qt."""

from viewer.trace.events import GPU_KINDS, Events, Kind
from viewer.trace.model import Gpu, Process, Session, Source, Stream, Thread, Trace, Track
from viewer.trace.names import Names

__all__ = [
    "GPU_KINDS",
    "Events",
    "Gpu",
    "Kind",
    "Names",
    "Process",
    "Session",
    "Source",
    "Stream",
    "Thread",
    "Trace",
    "Track",
]
