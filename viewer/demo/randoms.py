"""Random numbers that belong to what they are drawn for: a seed, an iteration, a step, a rank and a use.

A generator hands out numbers in the order of the calls, so one step more would change all later ones. Here a
number is a hash of what it is for: a job with a fault and the job without it share the numbers of all steps
that both have (common random numbers), and differ by the fault alone.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_FRACTION_BITS = 53


def key_of(text: str) -> int:
    """Return a 64-bit number that stands for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def uniform(seed: int, iteration: int, keys: Keys, ranks: int, use: str) -> Float:
    """Return a number in (0, 1) for each step and rank.

    Parameters
    ----------
    keys : ndarray of uint64, shape (steps,)
        What tells the steps apart, the same in every job that has the step.
    use : str
        What the number is for: a step draws several.

    Returns
    -------
    ndarray of float64, shape (steps, ranks)
    """
    of_use = np.uint64(key_of(f"{use}/{seed}/{iteration}"))
    # Sums and products wrap around at 64 bits, as the mixing needs it.
    of_rank = _mixed(of_use + _STEP * np.arange(1, ranks + 1, dtype=np.uint64))
    bits = _mixed(keys[:, None] ^ of_rank[None, :])
    whole = (bits >> np.uint64(64 - _FRACTION_BITS)).astype(np.float64)
    numbers: Float = (whole + 0.5) * 2.0**-_FRACTION_BITS
    return numbers


def normal(seed: int, iteration: int, keys: Keys, ranks: int, use: str) -> Float:
    """Return standard normal numbers, shape (steps, ranks), by Box and Muller's method."""
    radius: Float = np.sqrt(-2 * np.log(uniform(seed, iteration, keys, ranks, f"{use} radius")))
    cosine: Float = np.cos(2 * np.pi * uniform(seed, iteration, keys, ranks, f"{use} angle"))
    return radius * cosine


def exponential(seed: int, iteration: int, keys: Keys, ranks: int, use: str) -> Float:
    """Return exponential numbers of mean 1, shape (steps, ranks)."""
    numbers: Float = -np.log(uniform(seed, iteration, keys, ranks, use))
    return numbers


def _mixed(z: Keys) -> Keys:
    """Return the output function of the generator SplitMix64 for each number."""
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
