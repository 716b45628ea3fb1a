"""What options with a few values can be."""

from __future__ import annotations

from enum import StrEnum


class Renderer(StrEnum):
    """What draws the timeline: `auto` uses the graphics card where there is one."""

    AUTO = "auto"
    GL = "gl"
    RASTER = "raster"


class PicturePreset(StrEnum):
    """The kinds of pictures, as in `viewer.export.figure_style.PRESETS`."""

    TIMELINE = "timeline"
    SLIDE = "slide"
    PAPER = "paper"


class PictureTheme(StrEnum):
    """The colours of a picture."""

    LIGHT = "light"
    DARK = "dark"


class DemoJob(StrEnum):
    """What the demo resembles."""

    MEGATRON = "megatron"
    DISTCA = "distca"
    PIPELINE = "pipeline"


class DemoFault(StrEnum):
    """What is wrong with the demo's job, as in `viewer.demo.injected_faults.FAULTS`."""

    BUSY_CPU = "busy-cpu"
    ITEM = "item"
    MALLOC = "malloc"
    TINY_KERNELS = "tiny-kernels"
    EVENT_WAIT = "event-wait"
    PREEMPTED = "preempted"
    BUFFER_FLUSH = "buffer-flush"
    POLLING = "polling"
    BROADCAST = "broadcast"
    NEEDLESS_WAIT = "needless-wait"
    LATE_DATA = "late-data"
    LATE_HOST = "late-host"
    TWO_SLOW_RANKS = "two-slow-ranks"
    HEAVY_STAGE = "heavy-stage"
