"""Names: the interned texts of a trace, and functions that shorten and normalise them."""

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
"""Word endings after which a number without a separator is a counter: ``trainStep12``, but not ``fp16``."""
_SHORT_COUNTERS = ("it", "loop", "round", "run", "trial")
"""Counters only as whole words: ``it8`` is one, but the ``it`` in ``bit8`` is not."""
# Alternatives of lookbehinds, because Python's `re` requires each lookbehind to have a fixed width.
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
    ``at::native::vectorized_elementwise_kernel``. A name that is not a C++ signature is returned unchanged.
    """
    # Parentheses end the scan below: hide those of anonymous namespaces.
    text = _ANONYMOUS.sub("{anonymous}", name).strip()
    out: list[str] = []
    # Characters outside <...> form the name; the first ( outside begins the parameters. `operator<`,
    # `operator<<` and the like are part of a name, not the start of template arguments.
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
    # A space that is left follows a return type that _LEADING does not list, such as a class.
    if " " in base and "::" in base:
        base = base.rsplit(" ", 1)[-1]
    return base.replace("{anonymous}::", "") or name


_DULL = re.compile(r"^(?:ncclDevKernel_|ncclKernel_|sm\d+_xmma_|void )|(?:_kernel|Kernel)$")


_SHELL = re.compile(r"::(?:Kernel2?|device_kernel)<\s*(?:\w+::)*(\w+)")
_SHELLS = ("Kernel", "Kernel2", "device_kernel")


def is_wrapper(name: str) -> bool:
    """Return whether a short name is that of a generic wrapper, such as CUTLASS's ``Kernel2``."""
    return name in _SHELLS


def short_name(name: str) -> str:
    """Return the distinctive part of a kernel's name, for labels of bars: ``vectorized_elementwise``.

    This is the last component of the qualified name, without common prefixes and suffixes. For a generic
    wrapper such as ``cutlass::Kernel2<...>`` it is the name of the wrapped kernel.
    """
    last = base_name(name).rsplit("::", 1)[-1]
    if last in _SHELLS and (wrapped := _SHELL.search(name)):
        last = wrapped[1]
    # One removal may expose the next: ncclDevKernel_..., then a suffix.
    previous = None
    while previous != last:
        previous, last = last, _DULL.sub("", last)
    return last or name


_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv|reduce|gather|scatter|send|recv",
    re.IGNORECASE,
)


def collective_in(name: str) -> tuple[int, int] | None:
    """Return where the word for a collective stands in a name, as [first, last); None without one."""
    match = _COLLECTIVE.search(name)
    return match.span() if match else None


def strip_arguments(text: str) -> str:
    """Return an NVTX text without PyTorch's per-call arguments (``aten::mm, op_id = 7`` is ``aten::mm``)."""
    return _ARGUMENTS.sub("", text)


def normalise_numbers(text: str) -> str:
    """Return a text with each number replaced by one ``#``: ``step_12`` becomes ``step_#``.

    A number counts if no letter adjoins it, or if it follows a counting word: ``iteration12``. The numbers of
    ``Iteration 1,234``, ``iter 12/100`` and ``ProfilerStep#12`` become one ``#`` each. ``fp16``, ``layer4``
    and ``gemm_128x64`` do not change.
    """
    return _NUMBER.sub("#", strip_arguments(text))
