"""Diagnostics about GPU clocks: shifted, drifting, contradictory (docs/definitions.md, section 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from viewer.analysis.core.classify import KernelClasses
from viewer.analysis.launches.launches import Launches
from viewer.analysis.recording.alignment import offsets
from viewer.analysis.recording.clock_ends import EndOffset, end_offsets
from viewer.analysis.recording.clocks import Clock
from viewer.analysis.recording.diagnostic import Diagnostic
from viewer.trace import Trace


def clock_diagnostics(
    launches: Launches, classes: KernelClasses, clocks: Sequence[Clock]
) -> Iterator[Diagnostic]:
    """Yield the GPUs whose clocks are off, by launches and synchronisations, else by collectives' ends."""
    trace = launches.trace
    ends = end_offsets(trace, classes)
    drifting = {end.gpu for end in ends if end.is_drift}
    # A drift of 10 µs is seen by the ends of collectives; to the bounds it is a shift, or a contradiction.
    shifted = [clock for clock in clocks if clock.gpu not in drifting or clock.drift is not None]
    yield from _shifted(trace, shifted, offsets(shifted, launches, classes))
    shifted_gpus = {clock.gpu for clock in shifted if clock.is_shifted}
    yield from _apart(trace, [end for end in ends if end.gpu not in shifted_gpus])
    yield from _contradictions(trace, [clock for clock in clocks if clock.gpu not in drifting])


def _apart(trace: Trace, ends: Sequence[EndOffset]) -> Iterator[Diagnostic]:
    for end in ends:
        where = trace.gpu_label(end.gpu)
        kinds = f"in {end.kinds} kinds or sizes of them" if end.kinds > 1 else "and all others end together"
        late = "later" if end.offset_ns > 0 else "earlier"
        by = f"{abs(end.offset_ns) / 1e3:,.1f} µs"
        whose = "the others'"
        if end.partner is not None:
            whose = f"those of {trace.gpu_label(end.partner)}"
            kinds += "; either of the two clocks may be off"
        if end.is_drift:
            title = f"{where}: its clock drifts, by {abs(end.drift_ns) / 1e3:,.1f} µs over the trace's window"
            seen = f"Its collectives end more and more apart from {whose}, {kinds}"
            rest = f"; aligned, it is right in the middle only: by {-end.offset_ns / 1e6:+,.4f} ms"
        else:
            title = f"{where}: its clock is {'late' if end.offset_ns > 0 else 'early'} by {by}"
            seen = f"Its collectives always end {by} {late} than {whose}, {kinds}"
            rest = f" until it is aligned: by {-end.offset_ns / 1e6:+,.4f} ms"
        known = abs(end.offset_ns) + abs(end.drift_ns) / 2
        yield Diagnostic(
            "clock-apart",
            "warning",
            title,
            f"{seen}. Waits in collectives with it are known to ± {known / 1e3:,.1f} µs{rest}.",
            where,
            end.gpu,
            align_ns=-end.offset_ns or None,
        )


def _shifted(trace: Trace, clocks: Sequence[Clock], by_ns: Mapping[int, int]) -> Iterator[Diagnostic]:
    for clock in clocks:
        if not clock.is_shifted:
            continue
        offset = by_ns[clock.gpu]
        where = trace.gpu_label(clock.gpu)
        if clock.drift is not None:
            yield Diagnostic(
                "shifted-clock",
                "error",
                f"{where}: its clock drifts, by {abs(clock.drift.growth_ns) / 1e6:,.2f} ms over the trace's "
                "window",
                "What would have to be added to its times so that operations start after their launches and "
                "end before the synchronisations that wait for them grows with time. Numbers over the common "
                "window and between GPUs are unreliable; aligned it is right in the middle only: by "
                f"{offset / 1e6:+,.3f} ms.",
                where,
                clock.gpu,
                align_ns=offset,
            )
            continue
        early = clock.is_early
        least = abs(clock.lower_ns or 0) if early else abs(clock.upper_ns or 0)
        seen = (
            "Operations start up to that long before they were launched"
            if early
            else "Synchronisations return up to that long before the work that they wait for ends"
        )
        yield Diagnostic(
            "shifted-clock",
            "error",
            f"{where}: its clock is {'early' if early else 'late'} by at least {least / 1e6:,.2f} ms",
            f"{seen}. Numbers over the common window and between GPUs are unreliable until it is aligned: "
            f"by {offset / 1e6:+,.3f} ms.",
            where,
            clock.gpu,
            align_ns=offset,
        )


def _contradictions(trace: Trace, clocks: Sequence[Clock]) -> Iterator[Diagnostic]:
    for clock in clocks:
        if clock.contradicts and clock.lower_ns is not None and clock.upper_ns is not None:
            where = trace.gpu_label(clock.gpu)
            yield Diagnostic(
                "contradicting-clock",
                "warning",
                f"{where}: its times contradict the CPU's",
                f"Judged by the launches, {clock.lower_ns / 1e6:+,.2f} ms or more would have to be added to "
                f"them; judged by the synchronisations, {clock.upper_ns / 1e6:+,.2f} ms or less. No offset "
                "does both: a few rows have wrong times, or are matched with a launch that is not theirs.",
                where,
                clock.gpu,
            )
