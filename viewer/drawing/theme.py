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
    panel, control : int
        Of ruler, tool bar and cards; of buttons and fields on them.
    line, line_soft : int
        Between processes, and between rows.
    text, text_soft, text_faint : int
    accent, accent_text, accent_ground : int
        The selected tab, the handle of the overview; text on it; a tint of it behind texts.
    selection : int
        Fill of the selected range, translucent.
    selection_edge, cursor, boundary, boundary_text : int
        Edges of the selection, the vertical cut, the boundaries of iterations and their names.
    parts : tuple of five int
        In order of `viewer.analysis.time.time_breakdown.CATEGORIES`; the last is the ground of the hatch.
        What costs most is strongest: exposed, copies, compute, hidden.
    hidden_edge : int
        Where hidden communication, which may be pale, meets the ground.
    waiting, spinning : int
        Stripes on exposed communication that waits for a rank, and on compute that only waits.
    hatch : int
        Lines of the hatch where a GPU is idle.
    lane : int
        The ground of the streams that communicate.
    phases : tuple of five int
        NVTX ranges: forward, backward, optimizer, data loader, checkpoint. Quiet: the GPUs' states count.
    range_text : int
        Text on NVTX ranges.
    event, link : int
        Outline of the selected event, the line to its other end.
    warning, error, good : int
    """

    name: str
    background: int
    background_alternate: int
    panel: int
    control: int
    line: int
    line_soft: int
    text: int
    text_soft: int
    text_faint: int
    accent: int
    accent_text: int
    accent_ground: int
    selection: int
    selection_edge: int
    cursor: int
    boundary: int
    boundary_text: int
    parts: tuple[int, int, int, int, int]
    hidden_edge: int
    waiting: int
    spinning: int
    hatch: int
    lane: int
    phases: tuple[int, int, int, int, int]
    range_text: int
    event: int
    link: int
    warning: int
    error: int
    good: int

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
    background="#ffffff",
    background_alternate="#fafbfc",
    panel="#f6f8fa",
    control="#ffffff",
    line="#d9dee5",
    line_soft="#eaedf1",
    text="#151a21",
    text_soft="#566173",
    text_faint="#66707d",
    accent="#2563eb",
    accent_text="#ffffff",
    accent_ground="#e1e9f9",
    selection_edge="#2563eb",
    cursor="#39424f",
    boundary="#2563eb",
    boundary_text="#1d4fc4",
    parts=("#5286c8", "#f3c995", "#de6c17", "#0f766e", "#f6f8f9"),
    hidden_edge="#b8741f",
    waiting="#7a2e05",
    spinning="#27507f",
    hatch="#d5dae2",
    lane="#f4f6f8",
    phases=("#e6ebf1", "#d6dde6", "#ece6d4", "#e7e1ef", "#dbe9e6"),
    range_text="#39434f",
    event="#111827",
    link="#b4236a",
    warning="#9a4a06",
    error="#b42318",
    good="#177245",
)

DARK = _theme(
    "dark",
    selection=0x333B82F6,
    background="#13161b",
    background_alternate="#15191f",
    panel="#191d23",
    control="#13161b",
    line="#2f3742",
    line_soft="#20262e",
    text="#e8ebf0",
    text_soft="#959eaa",
    text_faint="#828d9b",
    accent="#3b82f6",
    accent_text="#ffffff",
    accent_ground="#1c2738",
    selection_edge="#60a5fa",
    cursor="#b8c2cf",
    boundary="#3b82f6",
    boundary_text="#7fb0fb",
    parts=("#4373b3", "#8a6440", "#ff9d42", "#2aa698", "#191d23"),
    hidden_edge="#a87b50",
    waiting="#7a3c08",
    spinning="#1f3d66",
    hatch="#2c343f",
    lane="#20262e",
    phases=("#2a313b", "#363f4b", "#3d3a2c", "#37313f", "#2b3b39"),
    range_text="#c3cbd6",
    event="#f9fafb",
    link="#f472b6",
    warning="#f59e0b",
    error="#f87171",
    good="#4ade80",
)


def without_ground(theme: Theme, *, has_lines: bool = True) -> Theme:
    """Return a theme whose rows and panels have no ground of their own; with or without lines."""
    bare = replace(theme, background=0, background_alternate=0, panel=0)
    return bare if has_lines else replace(bare, line=0, line_soft=0)


def on_paper(theme: Theme) -> Theme:
    """Return a theme without a frame around its rows: all stands on the background."""
    return replace(theme, panel=theme.background)


def on_ground(theme: Theme, ground: int) -> Theme:
    """Return a theme whose rows stand on another ground, an opaque ARGB."""
    parts = (*theme.parts[:4], ground)
    return replace(theme, background=ground, background_alternate=ground, parts=parts)
