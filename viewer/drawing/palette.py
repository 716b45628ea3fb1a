"""Palette: a name has one colour everywhere. Hue by class of work, shade by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from viewer.analysis.core.classify import CLASSES
from viewer.analysis.core.nvtx_texts import CHECKPOINT, PHASES
from viewer.analysis.launches.blocking_calls import is_synchronising
from viewer.analysis.study import Study
from viewer.drawing.colour import Argb, hex_argb, luminance, mix, oklch, to_oklch
from viewer.drawing.theme import DARK, LIGHT, Theme
from viewer.trace import Kind
from viewer.trace.lazy import cached_property

__all__ = ["DARK", "LIGHT", "SHADES", "Palette", "Theme"]

SHADES = 6
COMPUTE, HIDDEN, EXPOSED, COPY = range(4)
"""The first categories of a GPU's time, as colours."""
UNKNOWN, COMMUNICATION, WAITING, SPINNING, HIDDEN_EDGE = range(5, 10)
"""No name; communication, by name; exposed that waits; compute that only waits; the edge of hidden."""
_FIRST = 10
_MAX_COLOURS = 32_000


@dataclass(frozen=True, slots=True)
class _Hue:
    """A family of shades: from `light[0]` to `light[1]` on the light theme, `dark` on the dark one."""

    hue: float
    chroma: float
    light: tuple[float, float]
    dark: tuple[float, float]

    def shades(self, dark: bool) -> list[int]:
        low, high = self.dark if dark else self.light
        return [
            oklch(low + (high - low) * i / (SHADES - 1), self.chroma, self.hue + 3 * (i - 2))
            for i in range(SHADES)
        ]


_HUES = {
    "attention": _Hue(298, 0.17, (0.38, 0.52), (0.40, 0.52)),
    "mixture-of-experts": _Hue(350, 0.15, (0.66, 0.77), (0.68, 0.78)),
    "matrix multiply": _Hue(256, 0.13, (0.52, 0.68), (0.50, 0.62)),
    "normalisation": _Hue(235, 0.09, (0.74, 0.83), (0.64, 0.72)),
    "optimizer": _Hue(278, 0.09, (0.68, 0.78), (0.62, 0.70)),
    "reduction": _Hue(225, 0.07, (0.44, 0.54), (0.48, 0.57)),
    "elementwise": _Hue(150, 0.12, (0.70, 0.83), (0.58, 0.70)),
    "waiting": _Hue(105, 0.07, (0.62, 0.74), (0.58, 0.70)),
    "other": _Hue(250, 0.014, (0.71, 0.81), (0.52, 0.62)),
    "copy": _Hue(183, 0.12, (0.46, 0.58), (0.64, 0.76)),
    "launch": _Hue(252, 0.05, (0.66, 0.78), (0.48, 0.60)),
    "synchronise": _Hue(25, 0.15, (0.58, 0.68), (0.56, 0.66)),
    "call": _Hue(250, 0.02, (0.66, 0.80), (0.46, 0.58)),
    "system": _Hue(260, 0.012, (0.64, 0.80), (0.44, 0.58)),
    "processor": _Hue(145, 0.04, (0.70, 0.80), (0.48, 0.58)),
    "overhead": _Hue(15, 0.05, (0.62, 0.72), (0.48, 0.58)),
    "range": _Hue(252, 0.010, (0.895, 0.94), (0.30, 0.355)),
}
_GROUPS = tuple(_HUES)
_FIRST_RANGE = _FIRST + _GROUPS.index("range") * SHADES
_FORWARD, _BACKWARD, _OPTIMIZER, _LOADER, _CHECKPOINT = (_FIRST + len(_GROUPS) * SHADES + i for i in range(5))
_PHASE_WORDS = (
    (_BACKWARD, PHASES["backward"]),
    (_FORWARD, PHASES["forward"]),
    (_OPTIMIZER, PHASES["optimizer"]),
    (_CHECKPOINT, CHECKPOINT),
    (_LOADER, r"data_?loader|(?:load|get|fetch|next)_?(?:data|batch)"),
)
_QUIET = {LIGHT.name: (0.86, 0.94, 0.022), DARK.name: (0.30, 0.37, 0.024)}
"""Lightness from and to, and chroma, of the user's own colours of NVTX ranges; their hue stays."""
_COMMUNICATION = "communication"
_SYNCHRONISE = "Synchronize"
_BLOCKING = "synchronise"
_COPY_CALL = "[Mm]emcpy|[Mm]emset"
_LAUNCH = "Launch"
_ARGUMENTS = r",\s*(op_id|seq|sizes|input_op_ids)\s*=.*"


class Palette:
    """Colours of a trace's names, as positions in a table with one version per theme.

    Positions 0 to 4 are the five categories of a GPU's time. Then come what is fixed beside them, the shades
    of each class of work, and the hues of the user's own NVTX colours. Position ``p + size`` is the edge
    between two neighbouring bars of colour ``p``.

    Attributes
    ----------
    index : ndarray of uint16, shape (names,)
        The colour of each name.
    size : int
        How many colours there are, edges left out.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.index: npt.NDArray[np.uint16] = _colour_names(study)
        self._user = _user_colours(study)
        self._first_user = _CHECKPOINT + 1
        self.size = self._first_user + len(self._user)

    def argb(self, theme: Theme) -> Argb:
        """Return the table of colours for a theme, opaque ARGB, shape (2 * size,): colours, then edges."""
        return self._dark if theme.is_dark else self._light

    def ink(self, theme: Theme) -> Argb:
        """Return the colour of text on each colour, shape (2 * size,)."""
        dark, light = np.uint32(hex_argb("#000000")), np.uint32(hex_argb("#ffffff"))
        ink = np.where(luminance(self.argb(theme)) > 0.179, dark, light).astype(np.uint32)
        for first in (0, self.size):
            ink[first + _FIRST_RANGE : first + _FIRST_RANGE + SHADES] = theme.range_text
            ink[first + _FORWARD : first + self.size] = theme.range_text
        return ink

    def user_index(self, argb: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
        """Return the positions of the user's own colours (NVTX); 0 stays 0, for "none"."""
        if not len(self._user):
            return np.zeros(len(argb), np.uint16)
        opaque = argb | np.uint32(0xFF000000)
        position = np.minimum(np.searchsorted(self._user, opaque), len(self._user) - 1)
        # 0 is "none given": opaque black is another number.
        return np.where(argb == 0, 0, self._first_user + position).astype(np.uint16)

    @property
    def blocking(self) -> int:
        """The position of the colour of a call that waits for the GPU, whatever it is called."""
        return _FIRST + _GROUPS.index(_BLOCKING) * SHADES + SHADES // 2

    @property
    def counter(self) -> int:
        """The position of the colour of counter rows; its edge is the fainter one."""
        return _FIRST + _GROUPS.index("launch") * SHADES + SHADES // 2

    def class_colour(self, kernel_class: str, theme: Theme) -> int:
        """Return the ARGB colour that stands for a class in legends and charts ("attention", "copy" ...)."""
        if kernel_class == _COMMUNICATION:
            return theme.parts[EXPOSED]
        group = _GROUPS.index(kernel_class)
        return int(self.argb(theme)[_FIRST + group * SHADES + SHADES // 2])

    def shown(self, theme: Theme, overlays: Collection[str]) -> Argb:
        """Return `argb` as it is with some of the overlays "exposed" and "waiting".

        Communication that is not marked as exposed looks like that which compute hides.
        """
        table = self.argb(theme).copy()
        if "exposed" not in overlays:
            for first in (0, self.size):
                table[first + EXPOSED] = table[first + WAITING] = table[first + HIDDEN]
            table[HIDDEN_EDGE] = table[HIDDEN]
        return table

    def colour(self, name_id: int, theme: Theme) -> int:
        """Return the ARGB colour of a name."""
        return int(self.argb(theme)[self.index[name_id]])

    @cached_property
    def _light(self) -> Argb:
        return _table(LIGHT, self._user)

    @cached_property
    def _dark(self) -> Argb:
        return _table(DARK, self._user)


def _table(theme: Theme, user: Argb) -> Argb:
    shades = [argb for hue in _HUES.values() for argb in hue.shades(theme.is_dark)]
    low, high, chroma = _QUIET[theme.name]
    quiet = [
        oklch(low + (high - low) * lightness, min(chroma, own), hue)
        for lightness, own, hue in map(to_oklch, user.tolist())
    ]
    fixed = [hex_argb("#8b95a3"), theme.parts[EXPOSED], theme.parts[EXPOSED], theme.parts[COMPUTE]]
    colours = np.array([*theme.parts, *fixed, theme.hidden_edge, *shades, *theme.phases, *quiet], np.uint32)
    # Every colour has its lighter one `size` behind it, so that an edge needs no table of its own.
    return np.concatenate([colours, mix(colours, theme.background, 0.45)])


def _user_colours(study: Study) -> Argb:
    argb = study.trace.nvtx.columns.get("argb")
    if argb is None or not len(argb):
        return np.empty(0, np.uint32)
    # A translucent range would let the row's ground through and look like less time.
    colours = np.unique(argb[argb != 0].astype(np.uint32) | np.uint32(0xFF000000))
    return colours[:_MAX_COLOURS]


def _colour_names(study: Study) -> npt.NDArray[np.uint16]:
    """Colour the names table by table; where a name is in several, the later table of this order wins."""
    trace = study.trace
    index = np.full(len(trace.names), UNKNOWN, np.uint16)

    def used(*kinds: Kind) -> npt.NDArray[np.int64]:
        # A mask over the names: sorting the ids of millions of events would take longer than the rest.
        mask = np.zeros(len(trace.names), bool)
        for kind in kinds:
            mask[trace.events[kind].name_id] = True
        return np.flatnonzero(mask)

    def paint(ids: npt.NDArray[np.int64], group: str, texts: pa.Array | None = None) -> None:
        texts = trace.names.array.take(pa.array(ids)) if texts is None else texts
        index[ids] = _FIRST + _GROUPS.index(group) * SHADES + _shade(texts)

    for kind, group in ((Kind.OVERHEAD, "overhead"), (Kind.ON_CPU, "processor"), (Kind.OSRT, "system")):
        paint(used(kind), group)
    _paint_calls(trace.names.array, used(Kind.API, Kind.SYNC), index)
    _paint_ranges(trace.names.array, used(Kind.NVTX), index)
    # Work on the GPU last, so that it wins: its colours are those that people compare.
    paint(used(Kind.MEMCPY, Kind.MEMSET), "copy")
    kernels = used(Kind.KERNEL, Kind.GRAPH)
    class_of = study.classes.class_of[kernels]
    for position, group in enumerate(CLASSES):
        if group == _COMMUNICATION:
            index[kernels[class_of == position]] = COMMUNICATION
        else:
            paint(kernels[class_of == position], group)
    return index


def _paint_calls(names: pa.Array, ids: npt.NDArray[np.int64], index: npt.NDArray[np.uint16]) -> None:
    texts = names.take(pa.array(ids))
    group = np.full(len(ids), _GROUPS.index("call"))
    for pattern, name in ((_LAUNCH, "launch"), (_COPY_CALL, "copy"), (_SYNCHRONISE, _BLOCKING)):
        group[_matches(texts, pattern)] = _GROUPS.index(name)
    group[[is_synchronising(text) for text in texts.to_pylist()]] = _GROUPS.index(_BLOCKING)
    index[ids] = _FIRST + group * SHADES + _shade(texts)


def _paint_ranges(names: pa.Array, ids: npt.NDArray[np.int64], index: npt.NDArray[np.uint16]) -> None:
    texts = names.take(pa.array(ids))
    # Without arguments and numbers, so that the ranges of one loop have one shade.
    texts = pc.replace_substring_regex(texts, _ARGUMENTS, "")
    texts = pc.replace_substring_regex(texts, r"\d+", "#")
    colour = _FIRST + _GROUPS.index("range") * SHADES + _shade(texts)
    # Reversed: the first of the words wins where a text has several, "backward of forward".
    for position, words in reversed(_PHASE_WORDS):
        colour[_matches(texts, words)] = position
    index[ids] = colour


def _matches(texts: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    mask = pc.match_substring_regex(texts, pattern, ignore_case=True)
    return np.asarray(mask.to_numpy(zero_copy_only=False), bool)


def _shade(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Return the shade of each text: by its hash, so that it is the same in every trace."""
    coded = texts.dictionary_encode()
    shades = np.array([crc32(t.encode()) % SHADES for t in coded.dictionary.to_pylist()], np.int64)
    return np.asarray(shades[coded.indices.to_numpy(zero_copy_only=False)]) if len(shades) else shades
