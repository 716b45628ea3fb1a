"""Kernel families: kernels of one short name, or one wrapped kernel (docs/definitions.md, section 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from viewer.trace import Trace
from viewer.trace.events import UInt32
from viewer.trace.names import is_wrapper, short_name


def kernel_families(trace: Trace, rows: npt.NDArray[np.signedinteger[Any]]) -> UInt32:
    """Return the family of some kernels, ids into ``trace.names``, shape (len(rows),).

    It is the short name that nsys gives. All that CUTLASS makes has one of a few, such as ``Kernel2``, which
    only wrap the kernel that a template argument names: there it is the whole name.
    """
    kernels = trace.kernels
    name = kernels.name_id[rows]
    if "short_id" not in kernels.columns:
        return np.asarray(name)
    short = kernels.columns["short_id"][rows]
    # A table over all names instead of a sort: there are far fewer names than kernels.
    wraps = np.zeros(len(trace.names), bool)
    wraps[short] = True
    wraps[[i for i in np.flatnonzero(wraps).tolist() if not is_wrapper(trace.names[i])]] = False
    return np.asarray(np.where(wraps[short], name, short))


def family_name(trace: Trace, family: int) -> str:
    """Return what a family is called: its short name, of a wrapped kernel the name of that."""
    text = trace.names[family]
    return short_name(text) if "<" in text else text
