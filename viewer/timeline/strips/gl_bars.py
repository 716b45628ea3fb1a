"""GlBars: draws all rectangles of a frame as one instanced draw, with Qt's OpenGL classes (core 3.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QOffscreenSurface, QOpenGLContext, QSurfaceFormat
from PySide6.QtOpenGL import (
    QOpenGLBuffer,
    QOpenGLShader,
    QOpenGLShaderProgram,
    QOpenGLVertexArrayObject,
)

from viewer.assets import asset

_FLOAT, _UNSIGNED_BYTE, _TRIANGLE_STRIP, _BLEND, _RENDERER = 0x1406, 0x1401, 0x0005, 0x0BE2, 0x1F01
_INSTANCE = np.dtype([("rect", np.float32, 4), ("colour", np.uint8, 4)])
_SOFTWARE = ("llvmpipe", "softpipe", "swiftshader", "gdi generic", "software rasterizer", "swrast")


def surface_format() -> QSurfaceFormat:
    """Return the format of the contexts that `GlBars` draws in."""
    made = QSurfaceFormat()
    made.setVersion(3, 3)
    made.setProfile(QSurfaceFormat.OpenGLContextProfile.CoreProfile)
    made.setSamples(0)
    return made


def renderer_name() -> str:
    """Return OpenGL's name of its renderer ("" if there is no context of version 3.3)."""
    context = QOpenGLContext()
    context.setFormat(surface_format())
    surface = QOffscreenSurface()
    surface.setFormat(surface_format())
    surface.create()
    if not context.create() or not context.makeCurrent(surface):
        return ""
    try:
        if context.format().version() < (3, 3):
            return ""
        return str(context.functions().glGetString(_RENDERER) or "")
    finally:
        context.doneCurrent()


def is_hardware(renderer: str) -> bool:
    """Whether a renderer's name is that of a GPU; OpenGL on the CPU is slower than raster."""
    return bool(renderer) and not any(name in renderer.lower() for name in _SOFTWARE)


class GlBars:
    """Rectangles on the GPU; create, use and release it with its context current."""

    def __init__(self) -> None:
        self._program = QOpenGLShaderProgram()
        for stage, name in (
            (QOpenGLShader.ShaderTypeBit.Vertex, "bars.vert"),
            (QOpenGLShader.ShaderTypeBit.Fragment, "bars.frag"),
        ):
            source = asset(f"shaders/{name}").read_text(encoding="utf-8")
            if not self._program.addShaderFromSourceCode(stage, source):
                raise RuntimeError(f"{name}: {self._program.log()}")
        if not self._program.link():
            raise RuntimeError(self._program.log())
        self._size = self._program.uniformLocation("size")
        self._vertices = QOpenGLVertexArrayObject()
        self._buffer = QOpenGLBuffer(QOpenGLBuffer.Type.VertexBuffer)
        if not (self._vertices.create() and self._buffer.create()):
            raise RuntimeError("OpenGL gave no buffer")
        self._count = 0
        self._bind_layout()

    def _bind_layout(self) -> None:
        extra = QOpenGLContext.currentContext().extraFunctions()
        self._vertices.bind()
        self._buffer.bind()
        self._program.bind()
        stride = _INSTANCE.itemsize
        self._program.enableAttributeArray(0)
        self._program.setAttributeBuffer(0, _FLOAT, 0, 4, stride)
        self._program.enableAttributeArray(1)
        self._program.setAttributeBuffer(1, _UNSIGNED_BYTE, 16, 4, stride)
        extra.glVertexAttribDivisor(0, 1)
        extra.glVertexAttribDivisor(1, 1)
        self._vertices.release()
        self._buffer.release()
        self._program.release()

    def load(self, rect: npt.NDArray[np.float32], argb: npt.NDArray[np.uint32]) -> None:
        """Upload rectangles (x, y, width, height in device pixels, shape (n, 4)) and their colours (n,)."""
        instances = np.empty(len(rect), _INSTANCE)
        instances["rect"] = rect
        for channel, shift in enumerate((16, 8, 0, 24)):
            instances["colour"][:, channel] = (argb >> np.uint32(shift)) & np.uint32(0xFF)
        self._count = len(instances)
        self._buffer.bind()
        if self._count:
            self._buffer.allocate(instances.tobytes(), instances.nbytes)
        self._buffer.release()

    def draw(self, width: int, height: int) -> None:
        """Draw the loaded rectangles into a viewport of `width` x `height` device pixels."""
        if not self._count:
            return
        context = QOpenGLContext.currentContext()
        context.functions().glDisable(_BLEND)
        self._program.bind()
        self._program.setUniformValue(self._size, float(width), float(height))
        self._vertices.bind()
        context.extraFunctions().glDrawArraysInstanced(_TRIANGLE_STRIP, 0, 4, self._count)
        self._vertices.release()
        self._program.release()

    def release(self) -> None:
        """Free the GPU's memory."""
        self._vertices.destroy()
        self._buffer.destroy()
        self._program.removeAllShaders()
