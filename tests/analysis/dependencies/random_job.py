"""Random jobs whose streams wait for events, with what each wait waits for as the job itself keeps it.

The truth is kept while the job is made, in dictionaries, and never read off the trace.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field

from tests.analysis.make import TraceMaker

US = 1000


@dataclass
class RandomJob:
    """A job of two processes with two contexts each.

    `waits` maps (process, correlation id of the wait) to {stream: correlation id of its last operation},
    `syncs` the same of the calls that wait for an event. `returns` has those that wait for a stream or a
    context: (what they wait for, the last operations of each stream). `unknown` are those that a lost
    record makes unknowable, `never` those that hang on an event that was never recorded.
    """

    maker: TraceMaker = field(default_factory=TraceMaker)
    waits: dict = field(default_factory=dict)
    syncs: dict = field(default_factory=dict)
    returns: dict = field(default_factory=dict)
    edges: dict = field(default_factory=lambda: defaultdict(dict))
    unknown: set = field(default_factory=set)
    never: set = field(default_factory=set)


def _joined(*parts):
    """Return the last operation of each stream in some of {stream: (order, correlation)}."""
    together = {}
    for part in parts:
        for stream, operation in part.items():
            together[stream] = max(together.get(stream, operation), operation)
    return together


def random_job(seed, ids="all", lost=0.0, actions=400, handles=5, blocking=0):
    """Make a job.

    `ids` is how sync ids are recorded: "all", "none", or "some" (half of the waits have NULL); `lost` the
    share of records without a row, `blocking` how often calls wait for a stream or a context.
    """
    rng = random.Random(seed)
    job = RandomJob()
    for process in range(2):
        _fill(job, rng, process, ids, lost, actions, handles, blocking)
    return job


def _fill(job, rng, process, ids, lost, actions, handles, blocking):
    maker, time = job.maker, process
    streams = [(context, stream) for context in (1, 2) for stream in (7, 13, 14, 20, 21)]
    # Nothing ever runs on these two: they relay.
    relays = {(1, 21), (2, 20)}
    tail, pending = {s: {} for s in streams}, {s: [] for s in streams}
    events, next_id, free = {}, {1: 0, 2: 0}, dict.fromkeys(streams, 0)
    for number in range(1, actions + 1):
        time += rng.randrange(1, 30) * US
        stream = rng.choice(streams)
        context, stream_id = stream
        event = context, rng.randrange(handles)
        what = rng.choices(("launch", "record", "wait", "sync", "block"), (3, 4, 4, 1, blocking))[0]
        if what == "launch" and stream not in relays:
            maker.call(time, time + US, correlation=number, process=process)
            start = max(time + 2 * US, free[stream] + US)
            free[stream] = start + rng.randrange(1, 60) * US
            maker.kernel(
                start, free[stream], stream=stream_id, context=context, process=process, correlation=number
            )
            known = [p for p, is_known, _ in pending[stream] if is_known]
            job.edges[process, number] = {op for part in known for op in part.values()}
            tail[stream], pending[stream] = {stream: (number, number)}, []
        elif what == "record":
            next_id[context] += 1
            is_lost = rng.random() < lost
            known = all(is_known for _, is_known, _ in pending[stream])
            maker.call(time, time + US, "cudaEventRecord", correlation=number, process=process)
            if not is_lost:
                maker.record(
                    number, stream_id, event[1], 0 if ids == "none" else next_id[context], process, context
                )
            stands = _joined(tail[stream], *(part for part, *_ in pending[stream]))
            never = any(is_never for *_, is_never in pending[stream])
            events[event] = stands, stream, next_id[context], known, not is_lost, never
        elif what in ("wait", "sync"):
            stands, recorded_on, sync_id, known, has_row, never = events.get(
                event, ({}, None, 0, True, True, True)
            )
            without = ids == "none" or (ids == "some" and rng.random() < 0.5)
            is_joined = has_row and not (without and ids == "some" and recorded_on is not None)
            if what == "wait" and recorded_on == stream:
                # Whatever it relays, the stream itself has waited for it.
                stands, known, never = {}, True, False
            is_known = is_joined and known
            name = "cudaStreamWaitEvent" if what == "wait" else "cudaEventSynchronize"
            maker.call(time, time + US, name, correlation=number, process=process)
            maker.sync(
                time, time + US, name, process, number, stream_id if what == "wait" else 0xFFFFFFFF, context,
                event[1], 0 if without else sync_id,
            )  # fmt: skip
            (job.waits if what == "wait" else job.syncs)[process, number] = set(stands.values())
            if not is_known:
                job.unknown.add((process, number))
            if what == "wait":
                pending[stream].append((stands, is_known, never))
            if never:
                job.never.add((process, number))
        elif what == "block":
            on = [stream] if rng.random() < 0.6 else [s for s in streams if s[0] == context]
            name = "cudaStreamSynchronize" if len(on) == 1 else "cudaDeviceSynchronize"
            maker.call(time, time + US, name, correlation=number, process=process)
            maker.sync(
                time, time + US, name, process, number, stream_id if len(on) == 1 else 0xFFFFFFFF, context
            )  # fmt: skip
            behind = [part for s in on for part, *_ in pending[s]]
            job.returns[process, number] = tuple(on), _joined(*(tail[s] for s in on), *behind)
