"""What the texts of NVTX ranges tell: a library's own, a phase, a checkpoint, an evaluation."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.assets import asset
from viewer.trace import Names

_FILE = "nvtx-libraries.txt"

PHASES = {
    "forward": r"(?i)(?:^|[^a-z])(?:forward|fwd)",
    "backward": r"(?i)(?:^|[^a-z])(?:backward|bwd)",
    "optimizer": r"(?i)(?:^|[^a-z])(?:optimi[sz]er|optim)(?:[^a-z]|$)",
}
# Hooks around a phase, both phases in one range, and functions of a library are no phase.
_NO_PHASE = r"(?i)(?:pre|post)[_ -]?(?:forward|backward)|zero_?grad|forward.*backward|backward.*forward|::"

_PROFILED_STEP = (
    r"(?i)(?:^[^:,]*(?:step|iter)[^:,]*|(?:blocks?|layers?)\.\d+[^,]*), (?:seq|op_id|sizes|input_op_ids) = "
)
_NO_STEP = r"(?i)^enumerate|zero_?grad"

CHECKPOINT = (
    r"(?i)(?:save|write|store|dump)[\W_a-z]{0,24}(?:checkpoint|ckpt)"
    r"|(?:checkpoint|ckpt)[\W_]*(?:sav|writ|dump|io)"
    r"|^(?:checkpoint|checkpointing|ckpt)[\W_\d]*$"
)
EVALUATION = (
    r"(?i)(?:^|[^a-z])(?:eval|evaluate|evaluation|validate|validation)(?:[\W\d]|_(?:step|loop|epoch|pass)|$)"
)


@cache
def _libraries() -> tuple[re.Pattern[str], str]:
    """Return the pattern of whole domain names, and that of texts, from the list in resources/.

    The second one is RE2 text for pyarrow, which searches all names of a trace at once.
    """
    sections: dict[str, list[str]] = {"domains": [], "texts": []}
    section: list[str] = []
    for line in asset(_FILE).read_text("utf-8").splitlines():
        if line.startswith("[") and line.rstrip().endswith("]"):
            section = sections[line.strip()[1:-1]]
        elif line.strip() and not line.startswith("#"):
            section.append(line)
    return re.compile("|".join(sections["domains"]), re.IGNORECASE), "(?i)" + "|".join(sections["texts"])


def is_library_domain(domain: str) -> bool:
    """Return whether an NVTX domain belongs to a library."""
    return _libraries()[0].fullmatch(domain) is not None


def matching(names: Names, ids: npt.NDArray[np.uint32], pattern: str) -> npt.NDArray[np.bool_]:
    """Return in which of some texts a pattern is found, a mask of shape (len(ids),).

    `pattern` has RE2 syntax: no look-around, no back-references.
    """
    return np.asarray(
        pc.match_substring_regex(names.array.take(pa.array(ids)), pattern).to_numpy(False), bool
    )


def users_own(names: Names, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which texts are the user's: not empty, no operator's, no library's; shape (len(ids),)."""
    # Id 0 is the empty text: a range without one says nothing of its owner.
    return np.asarray((ids != 0) & ~matching(names, ids, _libraries()[1]))


def users_or_profilers(names: Names, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which texts are the user's, or steps and layers that PyTorch marks; shape (len(ids),).

    With `emit_nvtx` each `record_function` carries an operator's arguments: ``ProfilerStep#12, op_id = 7``.
    """
    step = matching(names, ids, _PROFILED_STEP) & ~matching(names, ids, _NO_STEP)
    return np.asarray(users_own(names, ids) | ((ids != 0) & step))


def in_phase(names: Names, ids: npt.NDArray[np.uint32], phase: str) -> npt.NDArray[np.bool_]:
    """Return which texts name a phase ("forward", "backward" or "optimizer"), shape (len(ids),)."""
    # Two patterns, since RE2 has no look-around with which one could say both.
    named = matching(names, ids, PHASES[phase]) & ~matching(names, ids, _NO_PHASE)
    return np.asarray(named & users_own(names, ids))
