"""The data model of a trace. Nothing here reads files, computes numbers or depends on Qt."""

from viewer.trace.event_records import EventRecords
from viewer.trace.events import GPU_KINDS, Events, Kind
from viewer.trace.model import CaptureSession, Gpu, Process, Source, Stream, Thread, Trace, Track
from viewer.trace.names import Names

__all__ = [
    "GPU_KINDS",
    "CaptureSession",
    "EventRecords",
    "Events",
    "Gpu",
    "Kind",
    "Names",
    "Process",
    "Source",
    "Stream",
    "Thread",
    "Trace",
    "Track",
]
