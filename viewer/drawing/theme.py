"""The two themes: named colours of the frame, the categories and the overlays, as ARGB integers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewer.drawing.colour import hex_argb


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they are for; opaque ARGB unless said otherwise.

    Attributes
    ----------
    background, background_alternate : int
        Of the canvas; every other process stands on the second.
    panel : int
        Of headers, ruler and cards.
    line, line_soft : int
        Between processes, and between rows.
    text, text_soft, text_faint : int
    accent, accent_text : int
        Buttons, tags on the ruler, the handle of the overview; and text on them.
    selection : int
        Fill of the selected range, translucent.
    selection_edge, cursor, boundary : int
        Edges of the selection, the vertical cut, the boundaries of iterations.
    parts : tuple of five int
        In order of `viewer.analysis.time.time_breakdown.CATEGORIES`; the last is the background, under the
        hatch.
    hatch : int
        Lines of the hatch where a GPU is idle.
    overlay_exposed, overlay_copy, overlay_waiting : int
        Tints of the overlays.
    event, link : int
        Outline of the selected event, the line to its other end.
    warning, error : int
    """

    name: str
    background: int
    background_alternate: int
    panel: int
    line: int
    line_soft: int
    text: int
    text_soft: int
    text_faint: int
    accent: int
    accent_text: int
    selection: int
    selection_edge: int
    cursor: int
    boundary: int
    parts: tuple[int, int, int, int, int]
    hatch: int
    overlay_exposed: int
    overlay_copy: int
    overlay_waiting: int
    event: int
    link: int
    warning: int
    error: int

    @property
    def is_dark(self) -> bool:
        """Whether text is brighter than the background."""
        return self.name == "dark"


def _theme(name: str, selection: int, **colours: str | tuple[str, ...]) -> Theme:
    values = {k: hex_argb(v) if isinstance(v, str) else tuple(map(hex_argb, v)) for k, v in colours.items()}
    return Theme(name=name, selection=selection, **values)  # type: ignore[arg-type]


LIGHT = _theme(
    "light",
    selection=0x1F2563EB,
    background="#fcfdfd",
    background_alternate="#f7f9fa",
    panel="#ffffff",
    line="#dfe3e8",
    line_soft="#eef1f4",
    text="#151a21",
    text_soft="#586374",
    text_faint="#8a94a3",
    accent="#2563eb",
    accent_text="#ffffff",
    selection_edge="#2563eb",
    cursor="#39424f",
    boundary="#2563eb",
    parts=("#4a7fc1", "#f6cc9a", "#f08a2e", "#1ea399", "#fcfdfd"),
    hatch="#c8cfd8",
    overlay_exposed="#f08a2e",
    overlay_copy="#1ea399",
    overlay_waiting="#c2570c",
    event="#111827",
    link="#b4236a",
    warning="#b45309",
    error="#b42318",
)

DARK = _theme(
    "dark",
    selection=0x333B82F6,
    background="#13161b",
    background_alternate="#171b21",
    panel="#181c22",
    line="#2c333d",
    line_soft="#20262e",
    text="#e6e9ee",
    text_soft="#9aa5b4",
    text_faint="#6b7686",
    accent="#3b82f6",
    accent_text="#ffffff",
    selection_edge="#60a5fa",
    cursor="#b8c2cf",
    boundary="#60a5fa",
    parts=("#4c84c9", "#f5cc9b", "#ec8933", "#1ea299", "#13161b"),
    hatch="#3b4450",
    overlay_exposed="#ec8933",
    overlay_copy="#1ea299",
    overlay_waiting="#f4a763",
    event="#f9fafb",
    link="#f472b6",
    warning="#f59e0b",
    error="#f87171",
)


def without_ground(theme: Theme, *, has_lines: bool = True) -> Theme:
    """Return a theme whose rows and panels have no ground of their own; with or without lines."""
    bare = replace(theme, background=0, background_alternate=0, panel=0)
    return bare if has_lines else replace(bare, line=0, line_soft=0)


def on_ground(theme: Theme, ground: int) -> Theme:
    """Return a theme whose rows stand on another ground, an opaque ARGB."""
    parts = (*theme.parts[:4], ground)
    return replace(theme, background=ground, background_alternate=ground, parts=parts)
