"""Names of rows are looked up in the trace: as an array of them would give them."""

import numpy as np

from viewer.rows.tree import build_rows
from viewer.trace import Kind


def test_ids_are_those_of_the_tables(demo_study):
    trace = demo_study.trace
    mixed = 0
    for row in (row for root in build_rows(demo_study) for row in root.walk() if row.events):
        events, kinds = row.events, tuple(Kind)
        refs = [events.ref(at) for at in range(min(len(events), 50))]
        expected = [int(trace.events[ref.kind].name_id[ref.index]) for ref in refs]
        assert [int(events.name_id[at]) for at in range(len(refs))] == expected, row.key
        assert events.name_id[: len(refs)].tolist() == expected
        assert np.asarray(events.name_id)[: len(refs)].tolist() == expected
        assert len(events.name_id) == len(events)
        if isinstance(events.kind, np.ndarray):
            mixed += 1
            at = np.flatnonzero(events.kind != events.kind[0])[:5]
            assert events.name_id[at].tolist() == [
                int(trace.events[kinds[events.kind[i]]].name_id[events.index[i]]) for i in at
            ]
    assert mixed
