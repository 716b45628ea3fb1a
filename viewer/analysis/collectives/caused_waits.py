"""Who makes the others wait: each wait followed back to the rank where it began, and why that one was late.

See docs/definitions.md, section 8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewer.analysis.collectives.collective_kinds import ROOTED
from viewer.analysis.collectives.match import CollectiveGroup, Collectives
from viewer.analysis.time.time_breakdown import CATEGORIES
from viewer.trace import GPU_KINDS, Trace
from viewer.trace.events import Int64

REASONS = ("compute", "host", "copy", "communication", "unknown")
"""Why a rank was late: what it spent more time with than those who waited, since they last met.

"host": its GPU was idle. "unknown": nothing took longer than on those that came first.
"""
_COMPUTE, _HOST, _COPY, _COMMUNICATION, _UNKNOWN = range(len(REASONS))
_PARTS = {name: CATEGORIES.index(name) for name in CATEGORIES}
_ROUNDS = 200
_LEFT_OVER = 1e-4

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CausedWaits:
    """Exposed waiting in collectives, by the rank that caused it.

    Attributes
    ----------
    root_ns : ndarray of int64, shape (gpus, windows, len(REASONS))
        Exposed waiting of all other GPUs that began with this one, by why it was late.
    last_sets, sets : ndarray of int64, shape (gpus,)
        In how many of how many sets of the windows it was the last arrival.
    uncertain_ns : ndarray of int64, shape (gpus,)
        Of `root_ns`, what a clock that is off by how much this GPU's collectives end apart from the others'
        would explain.
    by_host : ndarray of int64, shape (6, arrivals)
        The arrivals that others waited for because the host was late: on which GPU, since when, until when;
        and the same of the member that came first.
    """

    root_ns: Int64
    last_sets: Int64
    sets: Int64
    uncertain_ns: Int64
    by_host: Int64

    @property
    def by_rank(self) -> Int64:
        """Waiting caused by each GPU in all windows, shape (gpus,), ns."""
        return np.asarray(self.root_ns.sum(axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """The members of the matched sets of a group, shape (members, sets) each unless it says otherwise.

    `caused_ns` is the exposed waiting that a member has a share in, `steps` that share seen from each waiting
    member: the later the member, the larger. `since_ns` is when it left the set before, `own` which part of
    its lateness it spent with compute, host, copy and communication, shape (4, ...), `handed` the part that
    it waited itself.
    """

    gpus: Int64
    start_ns: Int64
    since_ns: Int64
    wait_ns: Int64
    caused_ns: Float
    own: Float
    handed: Float
    carried: Float
    apart_ns: Int64


def caused_waits(collectives: Collectives, starts_ns: Int64, ends_ns: Int64) -> CausedWaits:
    """Return who caused the exposed waiting in some windows.

    A set's waiting lies between the arrivals of its members; what lies between two neighbouring arrivals is
    shared by the members that have not arrived yet. A member that waited itself since it last met the others,
    longer than they did, hands that part on to those it waited for.

    Parameters
    ----------
    starts_ns, ends_ns : ndarray of int64, shape (gpus, windows)
        The windows of each GPU, such as its iterations, in order of time. A set is in the window in which its
        last member arrives.
    """
    trace, windows = collectives.trace, starts_ns.shape[1]
    gpus = len(trace.gpus)
    exposure = _Exposure(collectives)
    # All groups at once, since blame moves between them: a rank may be late in one because it waited in
    # another.
    groups = [a for g in collectives.groups if (a := _arrivals(collectives, g, exposure)) is not None]
    root = np.zeros((gpus, windows, len(REASONS)))
    sets, last_sets, uncertain = (np.zeros(gpus, np.int64) for _ in range(3))
    by_host = [np.empty((6, 0), np.int64)]
    places = [_window_of(a, starts_ns, ends_ns) for a in groups]
    blame = []
    for arrivals, (_, inside) in zip(groups, places, strict=True):
        np.add.at(sets, arrivals.gpus, int(inside.sum()))
        np.add.at(last_sets, arrivals.gpus[arrivals.start_ns.argmax(axis=0)[inside]], 1)
        # Sets outside the windows start without blame, but still hand on what others pass to them.
        amount = np.where(inside, arrivals.caused_ns, 0.0)
        np.add.at(uncertain, arrivals.gpus, np.minimum(amount, arrivals.apart_ns).sum(axis=1).astype(int))
        blame.append(amount)
    waiting = [_Waiting(groups, gpu) for gpu in range(gpus)]
    total = sum(float(b.sum()) for b in blame)
    # Each round hands on what is left; it shrinks from round to round, since a part of every lateness is its
    # own.
    for _ in range(_ROUNDS if windows else 0):
        blame = [_carried_back(a, amount) for a, amount in zip(groups, blame, strict=True)]
        for arrivals, amount, (window, _) in zip(groups, blame, places, strict=True):
            at = np.broadcast_to(arrivals.gpus[:, None], amount.shape)
            # What no part explains stays with the member itself: nothing is lost on the way.
            unknown = amount * (1 - arrivals.own.sum(axis=0) - arrivals.handed - arrivals.carried)
            for reason, of_reason in enumerate((*(amount * arrivals.own), unknown)):
                np.add.at(root[:, :, reason], (at, np.broadcast_to(window, at.shape)), of_reason)
            by_host.append(_host_arrivals(arrivals, amount))
        handed = [a.handed * amount for a, amount in zip(groups, blame, strict=True)]
        # A ten-thousandth of all waiting is below what is shown.
        if sum(float(h.sum()) for h in handed) <= _LEFT_OVER * total:
            break
        blame = _handed_on(groups, waiting, handed)
    every = np.concatenate(by_host, axis=1)
    return CausedWaits(np.rint(root).astype(np.int64), last_sets, sets, uncertain, every)


def _host_arrivals(arrivals: _Arrivals, amount: Float) -> Int64:
    """Return the arrivals with 1 µs at least of the host's blame, as `CausedWaits.by_host`."""
    # Under a microsecond each: thousands of them would say nothing, and are summed already.
    member, column = np.nonzero(amount * arrivals.own[_HOST] >= 1_000)
    first = arrivals.start_ns.argmin(axis=0)[column]
    pairs = [
        (arrivals.gpus[m], arrivals.since_ns[m, column], arrivals.start_ns[m, column])
        for m in (member, first)
    ]
    return np.array([values for pair in pairs for values in pair], np.int64).reshape(6, -1)


def _window_of(arrivals: _Arrivals, starts_ns: Int64, ends_ns: Int64) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Return the window of each set, outside all the one before, and whether it is inside; (sets,) each."""
    # By the last member's own windows: it is its lateness that is counted.
    latest = arrivals.start_ns.argmax(axis=0)
    when, of = arrivals.start_ns.max(axis=0), arrivals.gpus[latest]
    window, inside = np.zeros(len(when), np.int64), np.zeros(len(when), bool)
    for gpu in np.unique(of).tolist() if starts_ns.shape[1] else ():
        of_gpu = of == gpu
        at = np.searchsorted(starts_ns[gpu], when[of_gpu], side="right") - 1
        inside[of_gpu] = (at >= 0) & (when[of_gpu] < ends_ns[gpu][np.maximum(at, 0)])
        window[of_gpu] = np.maximum(at, 0)
    return window, inside


def _carried_back(arrivals: _Arrivals, amount: Float) -> Float:
    """Return the blame with what a member carried along from the sets before added there.

    What a member has in set k is its own amount, and the carried part of what it has in set k + 1: a linear
    recurrence, solved in log2(sets) steps, each over twice as many sets.
    """
    result = amount.copy()
    # Set k receives from set k + 1; the last one has none behind it.
    factor = np.concatenate((arrivals.carried[:, 1:], np.zeros((len(amount), 1))), axis=1)
    step = 1
    while step < result.shape[1]:
        result[:, :-step] += factor[:, :-step] * result[:, step:]
        factor[:, :-step] = factor[:, :-step] * factor[:, step:]
        factor[:, -step:] = 0.0
        step *= 2
    return result


class _Exposure:
    """The time of each GPU: its five categories, its exposed waiting, when its recording begins."""

    def __init__(self, collectives: Collectives) -> None:
        trace = collectives.trace
        self.parts = collectives.parts
        self.begins = [_begin(trace, gpu.index) for gpu in trace.gpus]
        self.waits = []
        for gpu in collectives.trace.gpus:
            exposed = collectives.parts[gpu.index].intervals("exposed_comm")
            self.waits.append(exposed & collectives.waits(gpu.index))


def _begin(trace: Trace, gpu: int) -> int:
    """Return when the recording of a GPU's process begins: its first range, call or operation, ns."""
    threads = [thread.index for thread in trace.threads_of(trace.gpus[gpu].process)]
    tables = [
        (trace.api, threads),
        (trace.nvtx, [t.index for thread in threads for t in trace.tracks_of(thread)]),
    ]
    tables += [(trace.events[kind], [s.index for s in trace.streams_of(gpu)]) for kind in GPU_KINDS]
    # Each owner's events are sorted by start.
    firsts = [
        int(e.start_ns[e.of(o)][0]) for e, owners in tables for o in owners if e.of(o).stop > e.of(o).start
    ]
    return max(min(firsts, default=0), trace.window_ns[0])


def _arrivals(collectives: Collectives, group: CollectiveGroup, exposure: _Exposure) -> _Arrivals | None:
    columns = np.flatnonzero(group.matched)
    rows = group.kernels[:, columns]
    if not rows.size or (group.kind in ROOTED and not (group.roots[columns] >= 0).any()):
        return None
    kernels, members = collectives.trace.kernels, len(group.gpus)
    starts, ends = kernels.start_ns[rows], kernels.end_ns[rows]
    # -1, not known, is no waiting here: a wait of unknown length has no cause to be followed.
    wait = np.maximum(collectives.wait_ns[rows], 0).astype(np.int64)
    # (members, sets): how much of its wait a member has had, exposed, before the arrival at each place.
    order = np.argsort(starts, axis=0, kind="stable")
    sorted_starts = np.take_along_axis(starts, order, axis=0)
    waited_until = np.zeros((members, *starts.shape), np.int64)
    for member, gpu in enumerate(group.gpus):
        turn = starts[member] + wait[member]
        for place in range(members):
            # A member waits from its own arrival until its turn: arrivals before and after that count
            # nothing.
            at = np.clip(sorted_starts[place], starts[member], turn)
            waited_until[place, member] = exposure.waits[gpu].covered(starts[member], at)
    # Exposed waiting of all between the arrivals at two neighbouring places, shared by those still to come.
    between = np.diff(waited_until.sum(axis=1), axis=0, prepend=0)
    to_come = members - np.arange(members)
    share = np.where(np.arange(members)[:, None] > 0, between / to_come[:, None], 0.0)
    if group.kind == "Broadcast":
        # All wait for the root, whoever else comes late.
        caused = np.zeros(starts.shape)
        root = group.roots[columns]
        caused[np.maximum(root, 0), np.arange(len(columns))] = np.where(root >= 0, between.sum(axis=0), 0)
    else:
        caused = np.empty(starts.shape)
        np.put_along_axis(caused, order, np.cumsum(share, axis=0), axis=0)
    # Each goes on after the set before when it has come, and has waited for the others as far as it had to:
    # who computes meanwhile does not wait.
    went_on = starts + waited_until[-1]
    begin = np.full((members, 1), max(exposure.begins[gpu] for gpu in group.gpus))
    since = np.minimum(np.concatenate((begin, went_on[:, :-1]), axis=1), starts)
    own, handed, carried = _lateness(np.array(group.gpus), since, starts, exposure)
    # How far a GPU's collectives end from the others' is what its clock may be off by.
    apart = ends - np.median(ends, axis=0).astype(np.int64)
    usual = np.abs(np.median(apart, axis=1)).astype(np.int64)
    return _Arrivals(
        np.array(group.gpus),
        starts,
        since,
        wait,
        caused,
        own,
        handed,
        carried,
        usual[:, None] * (members - 1),
    )


def _lateness(gpus: Int64, since: Int64, starts: Int64, exposure: _Exposure) -> tuple[Float, Float, Float]:
    """Return with what each member spent more time than the prompt ones since the set before, as parts of 1.

    Where nothing took longer all parts are 0.

    Returns
    -------
    own : ndarray of float, shape (4, members, sets)
        Compute, host (an idle GPU), copies, communication that was no waiting.
    handed : ndarray of float, shape (members, sets)
        Exposed waiting for others.
    carried : ndarray of float, shape (members, sets)
        By how much it was behind already.
    """
    # (6, members, sets): compute, host, copy, communication without waiting, waiting; behind before.
    spent = np.zeros((6, *starts.shape), np.int64)
    for member, gpu in enumerate(gpus.tolist()):
        times = np.moveaxis(exposure.parts[gpu].totals(since[member], starts[member]), -1, 0)
        wait = exposure.waits[gpu].covered(since[member], starts[member])
        spent[0, member] = times[_PARTS["compute_only"]] + times[_PARTS["hidden_comm"]]
        spent[1, member], spent[2, member] = times[_PARTS["idle"]], times[_PARTS["copy_only"]]
        spent[3, member], spent[4, member] = times[_PARTS["exposed_comm"]] - wait, wait
    # Before the first set nothing is known of being behind.
    spent[5, :, 1:] = (since - since.min(axis=0))[:, 1:]
    # What is usual is what the members that came first spent, half of all.
    # Twice: the order of the order is the rank of each member.
    rank = np.argsort(np.argsort(starts, axis=0, kind="stable"), axis=0, kind="stable")
    prompt = rank < max(len(gpus) // 2, 1)
    usual = (spent * prompt).sum(axis=1) / prompt.sum(axis=0)
    # Only what took longer: less of one thing does not excuse more of another.
    more = np.maximum(spent - usual[:, None, :], 0.0)
    total = more.sum(axis=0)
    parts = np.where(total > 0, more / np.where(total > 0, total, 1), 0.0)
    return parts[:4], parts[4], parts[5]


class _Waiting:
    """The members that wait on one GPU, over all groups, by start: who may be handed blame."""

    def __init__(self, groups: list[_Arrivals], gpu: int) -> None:
        places: list[tuple[int, int, Int64]] = []
        starts, waits = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, arrivals in enumerate(groups):
            for member in np.flatnonzero(arrivals.gpus == gpu).tolist():
                column = np.flatnonzero(arrivals.wait_ns[member] > 0)
                starts.append(arrivals.start_ns[member, column])
                waits.append(arrivals.wait_ns[member, column])
                places.append((number, member, column))
        every = np.concatenate(starts)
        self.order = np.argsort(every, kind="stable")
        self.start_ns = every[self.order]
        self.wait_ns = np.concatenate(waits)[self.order].astype(np.float64)
        # Sums of waits between any two instants in two look-ups, for all groups of the GPU together.
        self.before = np.concatenate(([0.0], np.cumsum(self.wait_ns)))
        self.places = places


def _handed_on(groups: list[_Arrivals], waiting: list[_Waiting], handed: list[Float]) -> list[Float]:
    """Return the blame of each member after the handed parts have gone to those that were waited for."""
    given = [np.zeros(a.start_ns.shape) for a in groups]
    for gpu, of_gpu in enumerate(waiting):
        if not len(of_gpu.start_ns):
            continue
        rate = np.zeros(len(of_gpu.start_ns) + 1)
        for arrivals, amount in zip(groups, handed, strict=True):
            for member in np.flatnonzero(arrivals.gpus == gpu).tolist():
                low = np.searchsorted(of_gpu.start_ns, arrivals.since_ns[member])
                high = np.searchsorted(of_gpu.start_ns, arrivals.start_ns[member])
                waited = of_gpu.before[high] - of_gpu.before[low]
                per_ns = np.where(waited > 0, amount[member] / np.where(waited > 0, waited, 1), 0.0)
                # A difference array: blame for each nanosecond waited rises at the first wait and falls
                # behind the last.
                np.add.at(rate, low, per_ns)
                np.add.at(rate, high, -per_ns)
        amount_of = np.empty(len(of_gpu.start_ns))
        amount_of[of_gpu.order] = np.maximum(np.cumsum(rate[:-1]), 0.0) * of_gpu.wait_ns
        begin = 0
        for number, member, column in of_gpu.places:
            given[number][member, column] = amount_of[begin : begin + len(column)]
            begin += len(column)
    blame = []
    for arrivals, amounts in zip(groups, given, strict=True):
        taken = np.zeros(amounts.shape)
        for member in range(len(amounts)):
            # Those that came after the waiting member, the more the later.
            later = np.maximum(arrivals.caused_ns - arrivals.caused_ns[member], 0.0)
            is_later = arrivals.start_ns > arrivals.start_ns[member]
            weight = np.where(is_later, later, 0.0)
            weight = np.where(weight.sum(axis=0) > 0, weight, is_later)
            total = weight.sum(axis=0)
            taken += np.where(total > 0, weight / np.where(total > 0, total, 1), 0.0) * amounts[member]
        blame.append(taken)
    return blame
