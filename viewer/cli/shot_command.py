"""`lightbox shot`: the timeline as a PNG, SVG or PDF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from viewer.cli.open_study import EVER_NS, chosen_window
from viewer.drawing.times import TimeError, parse_iteration, parse_ns, parse_range

if TYPE_CHECKING:
    from viewer.analysis.study import Study

EXTRAS = ("headers", "ruler", "legend", "numbers")


@dataclass(frozen=True)
class Shot:
    """The command's options, as in `viewer.export.first_view`; `width` and `scale` as in `picture`.

    Attributes
    ----------
    selections : tuple of str
        Ranges whose numbers appear together.
    measurements, notes : tuple of str
        "RANGE: name" and "TIME or RANGE: text".
    without : frozenset of str
        Of `EXTRAS`.
    """

    range_text: str | None
    iteration: int | None
    patterns: tuple[str, ...]
    overlays: frozenset[str]
    theme: str
    width: int | None
    scale: float | None
    selections: tuple[str, ...] = ()
    measurements: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    scale_bar: bool = False
    title: str = ""
    subtitle: str = ""
    preset: str = "timeline"
    is_transparent: bool = False


def check(shot: Shot) -> None:
    """Refuse invalid ranges before the trace is read.

    Raises
    ------
    typer.BadParameter
    """
    spans = [(text, False) for text in shot.selections]
    spans += [(named(text, "RANGE: name")[0], False) for text in shot.measurements]
    spans += [(named(text, "TIME: text")[0], True) for text in shot.notes]
    for text, may_be_instant in spans:
        try:
            _span(text, EVER_NS, may_be_instant)
        except TimeError as error:
            raise typer.BadParameter(str(error)) from error


def named(text: str, form: str) -> tuple[str, str]:
    """Split "812ms: the loader" into its two parts.

    Raises
    ------
    typer.BadParameter
    """
    place, colon, rest = text.partition(":")
    if not colon or not rest.strip():
        raise typer.BadParameter(f"'{text}' is not of the form '{form}'")
    return place.strip(), rest.strip()


def take(study: Study, shot: Shot, out: Path, form: str) -> None:
    """Paint the picture offscreen and write it in one of the `viewer.export.picture_files.FORMATS`.

    Raises
    ------
    typer.TyperException
        If the trace has no such range, iteration or row.
    OSError
        If the file cannot be written.
    """
    window, iteration = chosen_window(study, shot.range_text, shot.iteration)
    from PySide6.QtGui import QGuiApplication

    from viewer.drawing.theme import DARK, LIGHT
    from viewer.export.atomic import write_atomic
    from viewer.export.first_view import first_view
    from viewer.export.footer import window_text
    from viewer.export.picture_files import picture_bytes
    from viewer.export.picture_view import Extras, PictureError
    from viewer.state import Measurement, Note
    from viewer.state.selections import with_range

    selections: tuple[tuple[int, int], ...] = ()
    for selection in _spans(study, shot.selections):
        selections = with_range(selections, selection)
    kept = [named(text, "") for text in shot.measurements]
    notes = [named(text, "") for text in shot.notes]
    app = QGuiApplication.instance() or QGuiApplication(["lightbox", "-platform", "offscreen"])
    theme = DARK if shot.theme == "dark" else LIGHT
    shown = {name: name not in shot.without for name in EXTRAS}
    shown["card"] = shown["table"] = shown.pop("numbers")
    try:
        view = first_view(
            study, window, iteration=iteration, patterns=shot.patterns, overlays=shot.overlays, theme=theme
        )
        view = replace(
            view,
            selections=selections,
            measurements=tuple(
                Measurement(*span, name)
                for span, (_, name) in zip(_spans(study, [p for p, _ in kept]), kept, strict=True)
            ),
            notes=tuple(
                Note(*span, text)
                for span, (_, text) in zip(_spans(study, [p for p, _ in notes], True), notes, strict=True)
            ),
            extras=Extras(**shown, scale_bar=shot.scale_bar),
            title=shot.title,
            subtitle=shot.subtitle,
            preset=shot.preset,
            is_transparent=shot.is_transparent,
        )
        content = picture_bytes(view, form, shot.width, shot.scale)
        missing = [f"measurement '{item.name}'" for item in view.measurements if item not in view.measured]
        noted = set(view.noted)
        missing += [f"note '{note.text}'" for note in view.notes if note not in noted]
    except PictureError as error:
        raise typer.TyperException(str(error)) from error
    finally:
        del app
    write_atomic(out, content)
    for what in missing:
        typer.echo(
            f"lightbox: the {what} is left out: the picture shows {window_text(view.window_ns)}", err=True
        )


def _spans(study: Study, texts: Sequence[str], may_be_instants: bool = False) -> list[tuple[int, int]]:
    spans = []
    for text in texts:
        if (iteration := parse_iteration(text)) is not None:
            iterations = study.iterations()
            chosen_window(study, None, iteration)
            assert iterations is not None
            spans.append((iterations.start_ns(iteration), iterations.end_ns(iteration)))
        else:
            spans.append(_span(text, study.trace.window_ns, may_be_instants))
    return spans


def _span(text: str, window_ns: tuple[int, int], may_be_instant: bool) -> tuple[int, int]:
    if parse_iteration(text) is not None:
        return window_ns
    if may_be_instant and ".." not in text:
        instant = parse_ns(text)
        return instant, instant
    return parse_range(text, window_ns)
