"""Names: the interned texts of a trace, and how a long one is said shortly."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa


class Names:
    """Interned texts, shared by all tables: the same text has the same id, hence the same colour.

    Parameters
    ----------
    texts : Arrow string array, or iterable of str
        Id ``i`` is the ``i``-th text. Id 0 is always "" (a range without a name).
    """

    def __init__(self, texts: pa.Array | Iterable[str] = ("",)) -> None:
        self.array: pa.Array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, name_id: int) -> str:
        return str(self.array[int(name_id)].as_py())

    def take(self, name_ids: np.ndarray) -> list[str]:
        """Return the texts of many ids."""
        return self.array.take(pa.array(name_ids)).to_pylist()  # type: ignore[no-any-return]


_LEADING = re.compile(r"^(?:void|bool|int|float|double|unsigned|static|auto|const|__global__)\s+")
_ARGUMENTS = re.compile(r",\s*(?:op_id|seq|sizes|input_op_ids)\s*=.*$", re.DOTALL)
_COUNTERS = ("iteration", "iter", "itr", "step", "epoch", "batch", "sample", "episode", "repeat")
"""What may end a word to which a number is glued: ``trainStep12``. ``fp16`` and its like are names."""
_SHORT_COUNTERS = ("it", "loop", "round", "run", "trial")
"""The same where they are the whole word: a ``bit8`` counts nothing."""
_GLUED = "|".join(
    [f"(?<={word})" for word in _COUNTERS] + [f"(?<={word})(?<![a-z]{word})" for word in _SHORT_COUNTERS]
)
_ONE = r"(?:(?<![(\[,])\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:\.\d+)?(?!\d))"
_DIGITS = rf"{_ONE}(?:\s*(?:/|of)\s*{_ONE})?"
_NUMBER = re.compile(rf"#?(?<![a-z\d]){_DIGITS}(?![a-z\d])|(?:{_GLUED}){_DIGITS}", re.IGNORECASE)
_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>")


def base_name(name: str) -> str:
    """Return the qualified name of a demangled kernel: no return type, template arguments or parameters.

    ``void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)`` becomes
    ``at::native::vectorized_elementwise_kernel``. A name that is no C++ signature comes back as it is.
    """
    text = _ANONYMOUS.sub("{anonymous}", name).strip()
    out: list[str] = []
    depth = 0
    for position, char in enumerate(text):
        if char == "<" and not text.startswith("operator<", max(0, position - 8)):
            depth += 1
        elif char == ">" and depth:
            depth -= 1
        elif depth == 0:
            if char == "(":
                break
            out.append(char)
    base = "".join(out).strip()
    while (shorter := _LEADING.sub("", base)) != base:
        base = shorter
    if " " in base and "::" in base:
        base = base.rsplit(" ", 1)[-1]
    return base.replace("{anonymous}::", "") or name


_DULL = re.compile(r"^(?:ncclDevKernel_|ncclKernel_|sm\d+_xmma_|void )|(?:_kernel|Kernel)$")


_SHELL = re.compile(r"::(?:Kernel2?|device_kernel)<\s*(?:\w+::)*(\w+)")
_SHELLS = ("Kernel", "Kernel2", "device_kernel")


def short_name(name: str) -> str:
    """Return the telling part of a kernel's name, for a bar: ``vectorized_elementwise``.

    The last component of the qualified name, without the prefixes and suffixes that all kernels share. Where
    that is a mere shell, ``cutlass::Kernel2<...>``, the name of what it holds.
    """
    last = base_name(name).rsplit("::", 1)[-1]
    if last in _SHELLS and (held := _SHELL.search(name)):
        last = held[1]
    previous = None
    while previous != last:
        previous, last = last, _DULL.sub("", last)
    return last or name


def strip_arguments(text: str) -> str:
    """Return an NVTX text without PyTorch's per-call arguments (``aten::mm, op_id = 7`` is ``aten::mm``)."""
    return _ARGUMENTS.sub("", text)


def normalise_numbers(text: str) -> str:
    """Return a text with each number, whole, replaced by ``#``: ``step_12`` is ``step_#``.

    A number stands free, or is glued to a word that counts: ``iteration12``; also ``Iteration 1,234``,
    ``iter 12/100`` and ``ProfilerStep#12`` end in one ``#``. ``fp16``, ``layer4`` and ``gemm_128x64`` stay.
    """
    return _NUMBER.sub("#", strip_arguments(text))
