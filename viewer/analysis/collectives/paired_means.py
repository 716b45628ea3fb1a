"""How much longer some kernels take beside something than alone, like compared with like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from viewer.trace.events import Int64

STANDARD_ERRORS = 3.0
"""A difference counts from this many standard errors on; of many, or of few kernels, from more on."""
FALSE_ALARMS = 0.0002
"""In which share of traces without any difference one is found nevertheless, whatever their size."""
MOST_SPREAD = 0.25
"""Kernels of one stratum that vary by more than this share of their mean are a mixture of sizes, whose mean
depends on which of them lie beside."""
LEAST_FREEDOM = 10
"""Degrees of freedom from which on a side's own spread counts."""

Float = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MeanDifference:
    """The mean duration beside less that alone, by signature. All arrays have shape (signatures,).

    Attributes
    ----------
    alone, beside : ndarray of int64
        The kernels that are compared: those of strata that have both.
    alone_ns : ndarray of float64
        Their mean duration alone, ns; NaN without any.
    each_ns : ndarray of int64
        The difference, ns; 0 where it is not told from none, or not known.
    bound_ns : ndarray of int64
        By how much it may be off, ns.
    is_known : ndarray of bool
        Whether there are enough kernels on both sides, of one size.
    """

    alone: Int64
    beside: Int64
    alone_ns: Float
    each_ns: Int64
    bound_ns: Int64
    is_known: Mask

    def take(self, signatures: Int64) -> MeanDifference:
        """Return those of some signatures, in that order."""
        return MeanDifference(*(getattr(self, field.name)[signatures] for field in fields(self)))

    def or_else(self, other: MeanDifference) -> MeanDifference:
        """Return these where they are known, else the others."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return MeanDifference(*(np.where(self.is_known, own, others) for own, others in pairs))


def mean_differences(
    signature: Int64,
    stratum: Int64,
    is_beside: Mask,
    length_ns: Int64,
    signatures: int,
    least: int,
) -> MeanDifference:
    """Compare the kernels beside with those alone, signature by signature.

    Only kernels of one stratum are compared, and the differences are pooled: a slow rank that has less beside
    it than the others would otherwise look like a price, or hide one.

    Parameters
    ----------
    signature, stratum, is_beside, length_ns : ndarray, shape (n,)
        Of each kernel.
    signatures : int
        How many signatures there are.
    least : int
        How many kernels there must be on both sides.
    """
    # A cell is a stratum of a signature; only cells with kernels on both sides compare anything.
    cell, keys = pd.factorize(signature * (int(stratum.max(initial=0)) + 1) + stratum)
    of_cell = np.zeros(len(keys), np.int64)
    of_cell[cell] = signature
    count, mean, squares = _moments(cell, is_beside, length_ns, len(keys))
    compares = (count[0] > 0) & (count[1] > 0)
    count, mean, squares, of_cell = (
        count[:, compares],
        mean[:, compares],
        squares[:, compares],
        of_cell[compares],
    )

    def by_signature(values: Float) -> Float:
        # Without any cell numpy would count in integers.
        return np.bincount(of_cell, values, minlength=signatures).astype(np.float64)

    number = np.stack([by_signature(side) for side in count])
    # What a cell knows of the difference: its weight is the inverse of the variance of its two means.
    weight = count[0] * count[1] / np.maximum(count.sum(axis=0), 1)
    whole = by_signature(weight)
    # Without a cell that compares anything all sums are 0.
    whole[whole == 0] = 1
    difference = by_signature(weight * (mean[1] - mean[0])) / whole
    error, freedom, variance = _error(by_signature, weight, count, squares, whole)
    means = np.stack([by_signature(c * m) for c, m in zip(count, mean, strict=True)]) / np.maximum(number, 1)
    is_mixed = (variance > (MOST_SPREAD * means) ** 2).any(axis=0)
    is_known = (number >= least).all(axis=0) & (freedom > 0) & ~is_mixed
    needed = _needed(freedom, int(is_known.sum())) * error
    each = np.where(is_known & (np.abs(difference) > needed), np.rint(difference), 0)
    bound = np.where(is_known, np.ceil(needed), 0)
    return MeanDifference(
        number[0].astype(np.int64),
        number[1].astype(np.int64),
        np.where(number[0] > 0, means[0], np.nan),
        each.astype(np.int64),
        bound.astype(np.int64),
        is_known,
    )


def _moments(cell: npt.NDArray[np.intp], is_beside: Mask, length_ns: Int64, cells: int) -> tuple[Float, ...]:
    """Return number, mean and sum of squared deviations of each side of each cell, shape (2, cells) each."""
    place = cell + cells * is_beside
    count = np.bincount(place, minlength=2 * cells)
    # Whole nanoseconds add up exactly in float64 up to 2**53, a hundred days of kernel time.
    mean = np.bincount(place, length_ns, minlength=2 * cells) / np.maximum(count, 1)
    # Of deviations, not of lengths: the squares of lengths would leave nothing of a small spread.
    squares = np.bincount(place, (length_ns - mean[place]) ** 2, minlength=2 * cells)
    return tuple(np.asarray(c, np.float64).reshape(2, cells) for c in (count, mean, squares))


def _error(
    by_signature: Callable[[Float], Float], weight: Float, count: Float, squares: Float, whole: Float
) -> tuple[Float, Float, Float]:
    """Return the standard error of the difference, its degrees of freedom, and the variance of each side.

    Shape (signatures,), the last one (2, signatures).
    """
    cells = by_signature(np.ones_like(weight))
    free = np.stack([by_signature(side) - cells for side in count])
    square = np.stack([by_signature(side) for side in squares])
    # A side with few kernels says little of its own spread: it takes that of both.
    is_own = free >= LEAST_FREEDOM
    freedom = np.where(is_own, free, free.sum(axis=0))
    variance = np.where(is_own, square, square.sum(axis=0)) / np.maximum(freedom, 1)
    terms = variance * np.stack([by_signature(weight**2 / side) for side in count]) / whole**2
    total = terms.sum(axis=0)
    # Welch and Satterthwaite: the two sides need not vary alike.
    spread = (terms**2 / np.maximum(freedom, 1)).sum(axis=0)
    welch = np.divide(total**2, spread, out=freedom.min(axis=0), where=spread > 0)
    # Where both take the spread of both, it is one and the same, and its freedom counts once.
    return np.sqrt(total), np.minimum(welch, free.sum(axis=0)), variance


def _needed(freedom: Float, tests: int) -> Float:
    """Return how many standard errors a difference needs, shape (signatures,).

    One in a thousand of traces without any difference may show one: of many signatures each has to be the
    surer, and the fewer kernels it has, the wider is what chance does (Student's t, by Cornish and Fisher).
    """
    z = NormalDist().inv_cdf(1 - FALSE_ALARMS / max(tests, 1) / 2)
    inverse = 1 / np.maximum(freedom, 1)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return np.maximum(z + inverse * (first + inverse * (second + inverse * third)), STANDARD_ERRORS)
