"""picture_bytes: a picture as the bytes of a file, in the format of its suffix."""

from __future__ import annotations

from viewer.drawing.scene import Scene
from viewer.export.picture import picture, png_bytes
from viewer.export.picture_view import View
from viewer.export.vector import pdf_bytes, svg_bytes

FORMATS = (".png", ".svg", ".pdf")


def picture_bytes(
    view: View, suffix: str, width: int | None = None, scale: float | None = None, scene: Scene | None = None
) -> bytes:
    """Return a picture as the bytes of a file of one of the `FORMATS`; parameters as `picture`.

    Raises
    ------
    PictureError
        As `viewer.export.picture.PicturePage`, or if it would hold too many shapes for its format.
    """
    match suffix.casefold():
        case ".svg":
            return svg_bytes(view, width, scale, scene)
        case ".pdf":
            return pdf_bytes(view, width, scale, scene)
        case ".png":
            return png_bytes(picture(view, width, scale, scene))
    raise ValueError(suffix)
