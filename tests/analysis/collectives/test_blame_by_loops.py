"""Blame for waits, over all groups of a random job: against loops over every set and every member."""

from statistics import median

import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.collectives.caused_waits import REASONS, caused_waits
from viewer.analysis.core.classify import Rules
from viewer.analysis.study import Study
from viewer.analysis.time.time_breakdown import CATEGORIES

US, MS = 1_000, 1_000_000
RANKS, ROUNDS = 4, 12
NAMES = {
    (0, 1): ("ncclDevKernel_AllReduce_Sum_bf16", 20),
    (2, 3): ("ncclDevKernel_AllReduce_Sum_bf16", 20),
    (0, 1, 2, 3): ("ncclDevKernel_AllGather_RING_LL", 24),
    (0, 2): ("ncclDevKernel_ReduceScatter_Sum_bf16", 28),
    (0, 1, 3): ("ncclDevKernel_Broadcast_RING_LL", 30),
}


def job(seed):
    """Ranks that compute, copy and idle for random times between collectives of several groups."""
    random, maker, now = np.random.default_rng(seed), TraceMaker(), [50 * US * rank for rank in range(RANKS)]
    for rank in range(RANKS):
        # The recording of a rank begins with a call, or with a range of a thread of its own.
        maker.call(7 * rank, 7 * rank + 2, process=rank)
        maker.range(5 * rank, 900, "begin", tid=2, process=rank)
    for _ in range(ROUNDS):
        for members, (name, stream) in NAMES.items():
            starts = []
            for rank in members:
                for kind in random.permutation(3):
                    length = int(random.integers(0, 120)) * US
                    if kind == 0 and length:
                        maker.kernel(now[rank], now[rank] + length, process=rank)
                    elif kind == 1 and length:
                        maker.copy(now[rank], now[rank] + length // 4, process=rank, stream=13)
                        length //= 4
                    now[rank] += length
                starts.append(now[rank])
            last, transfer = max(starts), 60 * US
            for number, (rank, start) in enumerate(zip(members, starts, strict=True)):
                root = starts[1] if "Broadcast" in name else last
                end = max(start, root) + transfer + 300 * number + int(random.integers(0, 200))
                maker.kernel(start, end, name, stream=stream, process=rank)
                # Some compute goes on beside the collective.
                if random.random() < 0.4:
                    maker.kernel(start + 5 * US, start + int(random.integers(10, 90)) * US, process=rank)
                now[rank] = end + 3 * US
    return Study(maker.trace(), Rules.builtin()).collectives


class Loops:
    """Every set of every group, one by one."""

    def __init__(self, held, starts_ns, ends_ns):
        self.held, self.trace, self.kernels = held, held.trace, held.trace.kernels
        self.windows = starts_ns, ends_ns
        self.waits = [
            held.parts[gpu].intervals("exposed_comm") & held.waits(gpu) for gpu in range(len(self.trace.gpus))
        ]
        self.begins = [self.begin(gpu) for gpu in range(len(self.trace.gpus))]
        self.sets = {
            (n, s): self.set_of(g, s) for n, g in enumerate(held.groups) for s in np.flatnonzero(g.matched)
        }
        for (number, s), one in self.sets.items():
            before = self.sets.get((number, s - 1))
            self.lateness(one, before)

    def begin(self, gpu):
        process = self.trace.gpus[gpu].process
        first = [
            int(events.start_ns[row])
            for kind, events in self.trace.events.items()
            for row in range(len(events))
            if self.process_of(kind, events.owner_of(row)) == process
        ]
        return max(min(first), self.trace.window_ns[0])

    def process_of(self, kind, owner):
        trace = self.trace
        if kind.value in ("api", "osrt", "on_cpu", "overhead"):
            return trace.threads[owner].process
        if kind.value == "nvtx":
            return trace.threads[trace.tracks[owner].thread].process
        return trace.gpus[trace.streams[owner].gpu].process

    def waited(self, gpu, low, high):
        return sum(
            max(min(int(e), high) - max(int(s), low), 0)
            for s, e in zip(self.waits[gpu].start_ns, self.waits[gpu].end_ns, strict=True)
        )

    def set_of(self, group, s):
        rows = group.kernels[:, s]
        start, end = (column[rows].tolist() for column in (self.kernels.start_ns, self.kernels.end_ns))
        wait = [max(int(w), 0) for w in self.held.wait_ns[rows]]
        members = range(len(rows))
        order = sorted(members, key=lambda m: (start[m], m))
        until = [
            [
                self.waited(group.gpus[m], start[m], min(max(start[at], start[m]), start[m] + wait[m]))
                for m in members
            ]
            for at in order
        ]
        between = [sum(now) - sum(before) for before, now in zip([[0], *until], until, strict=False)]
        caused, so_far = [0.0] * len(rows), 0.0
        for place, member in enumerate(order):
            so_far += between[place] / (len(rows) - place) if place else 0.0
            caused[member] = so_far
        if group.kind == "Broadcast":
            root = int(group.roots[s])
            caused = [float(sum(between)) if m == root else 0.0 for m in members]
        went_on = [start[m] + until[-1][m] for m in members]
        apart = [e - int(median(end)) for e in end]
        return {
            "gpus": group.gpus, "start": start, "wait": wait, "order": order, "caused": caused,
            "went_on": went_on, "apart": apart,
        }  # fmt: skip

    def lateness(self, one, before):
        members, gpus = range(len(one["gpus"])), one["gpus"]
        begin = max(self.begins[gpu] for gpu in gpus)
        since = [min(before["went_on"][m] if before else begin, one["start"][m]) for m in members]
        spent = []
        for m in members:
            times = dict(
                zip(
                    CATEGORIES,
                    self.held.parts[gpus[m]].totals(since[m], one["start"][m]).tolist(),
                    strict=True,
                )
            )
            waited = self.waited(gpus[m], since[m], one["start"][m])
            behind = since[m] - min(since) if before else 0
            spent.append([
                times["compute_only"] + times["hidden_comm"], times["idle"], times["copy_only"],
                times["exposed_comm"] - waited, waited, behind,
            ])  # fmt: skip
        prompt = one["order"][: max(len(members) // 2, 1)]
        usual = [sum(spent[m][part] for m in prompt) / len(prompt) for part in range(6)]
        more = [[max(own - of_all, 0) for own, of_all in zip(spent[m], usual, strict=True)] for m in members]
        one["since"] = since
        one["parts"] = [[part / sum(of) if sum(of) else 0.0 for part in of] for of in more]

    def window_of(self, one):
        last = one["order"][-1]
        # Of members that start together the first counts as the last, as everywhere.
        last = min(m for m in one["order"] if one["start"][m] == one["start"][last])
        when, gpu = one["start"][last], one["gpus"][last]
        begun = [w for w, start in enumerate(self.windows[0][gpu]) if start <= when]
        return last, (begun[-1] if begun else 0), bool(begun) and when < self.windows[1][gpu][begun[-1]]

    def blame(self):
        gpus, windows = len(self.trace.gpus), self.windows[0].shape[1]
        root = np.zeros((gpus, windows, len(REASONS)))
        sets, last_sets, uncertain, by_host = [0] * gpus, [0] * gpus, [0.0] * gpus, []
        usual = {
            n: [
                abs(int(np.median([self.sets[k]["apart"][m] for k in self.sets if k[0] == n])))
                for m in range(len(g.gpus))
            ]
            for n, g in enumerate(self.held.groups)
        }
        amount, places = {}, {key: self.window_of(one) for key, one in self.sets.items()}
        for key, one in self.sets.items():
            last, _, inside = places[key]
            for m, gpu in enumerate(one["gpus"]):
                amount[key, m] = one["caused"][m] if inside else 0.0
                sets[gpu] += inside
                last_sets[gpu] += inside and m == last
                uncertain[gpu] += min(amount[key, m], usual[key[0]][m] * (len(one["gpus"]) - 1))
        total = sum(amount.values())
        for _ in range(200):
            for key in sorted(self.sets, reverse=True):
                before = (key[0], key[1] - 1)
                for m in range(len(self.sets[key]["gpus"])):
                    if before in self.sets:
                        amount[before, m] += amount[key, m] * self.sets[key]["parts"][m][5]
            handed = {}
            for (key, m), of_member in amount.items():
                one = self.sets[key]
                parts, gpu, window = one["parts"][m], one["gpus"][m], places[key][1]
                for reason in range(4):
                    root[gpu, window, reason] += of_member * parts[reason]
                root[gpu, window, 4] += of_member * (1 - sum(parts))
                handed[key, m] = of_member * parts[4]
                if of_member * parts[1] >= 1_000:
                    both = (m, one["order"][0])
                    by_host.append(tuple(one[what][n] for n in both for what in ("gpus", "since", "start")))
            if sum(handed.values()) <= 1e-4 * total:
                break
            amount = self.handed_on(handed)
        return root, sets, last_sets, uncertain, sorted(by_host)

    def handed_on(self, handed):
        result = dict.fromkeys(handed, 0.0)
        for (key, m), of_member in handed.items():
            if not of_member:
                continue
            one = self.sets[key]
            gpu, low, high = one["gpus"][m], one["since"][m], one["start"][m]
            waits = [
                (other, n)
                for other, there in self.sets.items()
                for n in range(len(there["gpus"]))
                if there["gpus"][n] == gpu and there["wait"][n] > 0 and low <= there["start"][n] < high
            ]
            waited = sum(self.sets[other]["wait"][n] for other, n in waits)
            for other, n in waits:
                there = self.sets[other]
                part = of_member * there["wait"][n] / waited
                later = [x for x in range(len(there["gpus"])) if there["start"][x] > there["start"][n]]
                weights = [max(there["caused"][x] - there["caused"][n], 0.0) for x in later]
                weights = weights if sum(weights) > 0 else [1.0] * len(later)
                for x, weight in zip(later, weights, strict=True):
                    result[other, x] += part * weight / sum(weights)
        return result


@pytest.mark.parametrize("seed", range(4))
def test_blame_equals_that_of_loops(seed):
    held = job(seed)
    assert {g.gpus for g in held.groups} >= {(0, 1), (2, 3), (0, 1, 2, 3)}
    span = held.trace.window_ns[1]
    edges = np.array([[span * k // 9 + 11 * gpu for k in range(1, 9)] for gpu in range(RANKS)], np.int64)
    # Three windows, with time before, behind and between them.
    starts, ends = edges[:, [0, 3, 5]], edges[:, [2, 5, 7]]
    found = caused_waits(held, starts, ends)
    root, sets, last_sets, uncertain, by_host = Loops(held, starts, ends).blame()
    assert found.sets.tolist() == sets
    assert found.last_sets.tolist() == last_sets
    np.testing.assert_allclose(found.root_ns, root, atol=2 + 1e-5 * root.sum())
    np.testing.assert_allclose(found.uncertain_ns, uncertain, atol=len(held.groups))
    assert sorted(tuple(arrival) for arrival in found.by_host.T.tolist()) == by_host
    assert found.by_rank.tolist() == found.root_ns.sum(axis=(1, 2)).tolist()
    assert (root.sum(axis=(0, 1)) > 0).sum() >= 4, "nearly all reasons occur"


def test_without_windows_nobody_is_to_blame():
    nothing = np.empty((RANKS, 0), np.int64)
    found = caused_waits(job(0), nothing, nothing)
    assert found.root_ns.shape == (RANKS, 0, len(REASONS))
    assert (found.sets.sum(), found.last_sets.sum(), found.uncertain_ns.sum(), found.by_host.shape) == (
        0,
        0,
        0,
        (6, 0),
    )
