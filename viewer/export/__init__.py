"""Export: what is seen, in a file."""

from viewer.export.picture import Extras, PictureError, View, picture, png_bytes, present_view

__all__ = ["Extras", "PictureError", "View", "picture", "png_bytes", "present_view"]
