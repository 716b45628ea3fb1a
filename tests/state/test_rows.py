"""Hiding, filtering, folding and pinning rows."""

import pytest

from viewer.rows import Row, RowKind
from viewer.state import RowState


def tree():
    """Two ranks with a GPU "H200" each, and streams 7, 20 and 200 on it."""
    roots = []
    for rank in range(2):
        root = Row(f"{rank}", RowKind.PROCESS, f"Rank {rank}", "python")
        gpu = Row(f"{rank}/gpu", RowKind.GPU, "GPU 0", "H200", parent=root)
        root.children.append(gpu)
        for stream in (7, 20, 200):
            gpu.children.append(
                Row(f"{rank}/s{stream}", RowKind.STREAM, f"Stream {stream}", "NCCL" if stream == 20 else "",
                    parent=gpu)
            )  # fmt: skip
        roots.append(root)
    return tuple(roots)


@pytest.fixture
def rows():
    state = RowState()
    state.reset(tree())
    return state


def shown(rows):
    return {r.key for root in rows.roots for r in root.walk() if rows.is_shown(r)}


def test_everything_is_shown_at_first(rows):
    assert shown(rows) == {r.key for root in rows.roots for r in root.walk()}
    assert rows.shown[""] == rows.roots


def test_a_hidden_row_takes_along_what_is_under_it(rows):
    rows.set_hidden(["0/gpu"], True)
    assert shown(rows) == {"0", "1", "1/gpu", "1/s7", "1/s20", "1/s200"}
    rows.set_hidden(["0/gpu"], False)
    assert len(shown(rows)) == 10


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("stream 20", {"0/s20", "1/s20"}),
        ("NCCL rank 1", {"1/s20"}),
        ("nccl", {"0/s20", "1/s20"}),
        ("200", {"0/s7", "0/s20", "0/s200", "1/s7", "1/s20", "1/s200"}),
        ("stream 2", set()),
        ("h20", set()),
    ],
)
def test_a_filter_finds_words_anywhere_in_the_path_and_whole_numbers(rows, text, streams):
    rows.set_filter(text)
    assert {k for k in shown(rows) if "/s" in k} == streams
    assert all(rows.is_shown(r) for k in streams for r in rows.row(k).path())


def test_what_is_under_a_match_stays(rows):
    rows.set_filter("rank 1")
    assert shown(rows) == {"1", "1/gpu", "1/s7", "1/s20", "1/s200"}
    assert rows.expanded == set()


def test_a_filter_unfolds_and_its_end_folds_again(rows):
    rows.set_expanded(["0"], True)
    rows.set_filter("nccl")
    assert rows.expanded == {"0", "0/gpu", "1", "1/gpu"}
    rows.set_filter("nccl rank 1")
    assert rows.expanded == {"0", "1", "1/gpu"}
    rows.set_filter("  ")
    assert rows.expanded == {"0"}


def test_the_shown_rows_are_kept_until_they_change(rows):
    first = rows.shown
    rows.set_expanded(["0"], True)
    assert rows.shown is first
    rows.set_hidden(["1"], True)
    assert rows.shown is not first
    assert "1" not in shown(rows)


def test_pinned_rows_keep_the_order_they_were_given(rows):
    for key in ("0", "1", "0/s7"):
        rows.set_pinned(key, True)
    rows.move_pinned("0/s7", 0)
    assert rows.pinned == ["0/s7", "0", "1"]
    rows.set_pinned("0", False)
    assert rows.pinned == ["0/s7", "1"]
    assert rows.is_shown(rows.row("0"))


def test_rows_that_stand_already_as_they_did_are_not_laid_out_again(rows):
    heard = []
    rows.set_expanded(["0"], True)
    rows.changed.connect(lambda: heard.append(rows.expanded))
    rows.restore(["0", "gone"], [], [])
    assert heard == []
    rows.restore(["0"], ["1"], [])
    assert heard == [{"0"}]
    assert rows.hidden == {"1"}


def test_a_preset_is_left_when_a_row_is_unfolded_or_hidden_by_hand(rows):
    for change in (lambda: rows.set_expanded(["0"], True), lambda: rows.set_hidden(["1"], True)):
        rows.apply_preset("lanes")
        assert rows.preset == "lanes"
        change()
        assert rows.preset == ""


def test_a_filter_leaves_no_preset(rows):
    rows.apply_preset("lanes")
    rows.set_filter("nccl")
    rows.set_expanded(["1"], False)
    rows.set_filter("")
    assert rows.preset == "lanes"
    assert rows.expanded == {"0/gpu", "1/gpu"}


def test_a_preset_chosen_under_a_filter_outlives_it(rows):
    rows.set_filter("nccl")
    rows.apply_preset("everything")
    assert "0/s7" not in shown(rows)
    rows.set_filter("")
    assert rows.expanded == {"0", "0/gpu", "1", "1/gpu"}


def test_rows_that_a_preset_hides_are_not_missed(rows):
    rows.apply_preset("compute + communication")
    assert "0/s200" in rows.hidden
    assert not rows.missed
    rows.set_hidden(["0/s7"], True)
    assert rows.missed == {"0/s7"}


def test_few_gpus_start_with_their_streams(rows):
    rows.show_first()
    assert {"0", "0/gpu"} <= rows.expanded
    rows.reset(tree() * 3)
    rows.show_first()
    assert rows.preset == "lanes"
    assert "0" not in rows.expanded
