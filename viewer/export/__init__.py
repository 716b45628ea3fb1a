"""Export: what is seen, in a file."""

from viewer.export.picture import PictureError, View, picture, png_bytes, present_view

__all__ = ["PictureError", "View", "picture", "png_bytes", "present_view"]
