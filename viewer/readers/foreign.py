"""The recognition of other tools' files: messages that name each and say what to do instead."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from viewer.readers.tables import Tables

HOW_TO_EXPORT = "choose an .nsys-rep report, or an export made by `nsys export --type sqlite REPORT`"
_RECORD = "record the run with `nsys profile` and open its .nsys-rep"
_AMD = "of AMD GPUs, which Lightbox does not read: see it in Perfetto"

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89HDF\r\n\x1a\n", "is an HDF5 export, which is not read here: use `nsys export --type sqlite`"),
    (b"PAR1", "is one table of a parquetdir export: open the folder that holds it"),
    (b"ARROW1", "is one table of an arrowdir export: open the folder that holds it"),
    (b"NVR\0", f"is a report of Nsight Compute, about single kernels: open it in ncu-ui, or {_RECORD}"),
    (b"PK\x03\x04", "is compressed (zip): unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed (zstd): unpack it first"),
    (b"\xfd7zXZ\x00", "is compressed (xz): unpack it first"),
    (b"BZh", "is compressed (bzip2): unpack it first"),
    (b"7z\xbc\xaf", "is compressed (7z): unpack it first"),
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: run `git lfs pull`"),
    (b"\x80\x02", f"is a Python pickle, perhaps a memory snapshot of PyTorch: {HOW_TO_EXPORT}"),
    (b"\x80\x03", f"is a Python pickle, perhaps a memory snapshot of PyTorch: {HOW_TO_EXPORT}"),
    (b"\x80\x04", f"is a Python pickle, perhaps a memory snapshot of PyTorch: {HOW_TO_EXPORT}"),
    (b"\x80\x05", f"is a Python pickle, perhaps a memory snapshot of PyTorch: {HOW_TO_EXPORT}"),
    (b"%PDF-", f"is a PDF: {HOW_TO_EXPORT}"),
    (b"\x89PNG", f"is a picture: {HOW_TO_EXPORT}"),
    (b"\x7fELF", f"is a program: record it with `nsys profile`, or {HOW_TO_EXPORT}"),
    (b"PERFILE2", f"is a recording of Linux perf: {_RECORD}"),
)

_JSON: tuple[tuple[str, str], ...] = (
    (
        r'"window_ns"\s*:.*"overlays"\s*:',
        "is a session of Lightbox, which names a trace: open it in the window",
    ),
    (
        r'^\{\s*"schema"\s*:\s*\d+,\s*"trace"\s*:',
        f"is a report of Lightbox (--json), not a trace: {HOW_TO_EXPORT}",
    ),
    (r'"(rocprofiler-sdk-tool|rocprofiler_sdk)"', f"is a trace of rocprofv3, {_AMD}"),
    (
        r'"(schemaVersion|deviceProperties|distributedInfo|cupti_version|kineto|record_shapes|with_stack'
        r'|PyTorch Profiler)"|pytorch_trace|ProfilerStep#'
        r'|"cat"\s*:\s*"(cpu_op|user_annotation|Operator|python_function|cuda_runtime|gpu_memcpy|ac2g)"',
        f"is a trace of PyTorch's profiler (Kineto, JSON), which Lightbox does not read: "
        f"{_RECORD}, or see it in Perfetto",
    ),
    (
        r'"(HIP_API|HSA_API|ROCTX)|CPU (HIP|HSA) API|\bHIPGPU',
        f"is a trace of rocprof, {_AMD}",
    ),
    (
        r'"(TraceProcessEvent|CudaEvent|NvtxEvent|GlobalTid|globalProcesses|ProcessEvent)"|^\{"Type":',
        "is an export of nsys as JSON, which is not read here: use `nsys export --type sqlite`",
    ),
    (
        r'"traceEvents"|"ph"\s*:\s*"',
        f"is a Chrome trace (JSON), not of Nsight Systems: {_RECORD}, or see it in Perfetto",
    ),
)

_CSV: tuple[tuple[str, str], ...] = (
    (r"^==\d+==|NVPROF", f"is a text report of nvprof: {_RECORD}"),
    (
        r"\b(Kind|Domain)\W+.*\b(Agent_Id|Correlation_Id|Dispatch_Id)\b|\bKernelName\b.*\b(gpu-id|grd)\b"
        r"|\bTotalDurationNs\b|\b(BeginNs|EndNs)\b",
        f"is a table of rocprof, {_AMD}",
    ),
    (
        r"^\W*Time \(?%|\bTotal Time \((ns|us|ms|s)\)|^\W*Start \((ns|us|ms|s)\)|\bCorrId\b",
        "is a table of `nsys stats`, not a trace: open the report or the .sqlite file that it was made from",
    ),
    (r"^\W*ID\W+Process ID\W+Process Name", f"is a table of Nsight Compute, about single kernels: {_RECORD}"),
)

_ROCPROF_TABLES = frozenset({"KERN", "HIP", "HSA", "OPS", "COPY", "rocTX"})
_LARGEST_PACKET = 1 << 28
_PERFETTO_FIELDS = frozenset({
    *range(1, 13), *range(27, 70), 77, 82, 89, 90, 900,
})  # fmt: skip
"""Fields with which a Perfetto packet may begin: times, clocks, configuration, descriptors, events."""


def what_else(head: bytes, size: int, suffix: str = "") -> str:
    """Return what a file is that is no trace of Nsight Systems, and what to do; a sentence without subject.

    Parameters
    ----------
    head : bytes
        The first few thousand bytes.
    size : int
        Its length in bytes.
    suffix : str
        The suffix of its name, used only if the content does not decide.
    """
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head.startswith(b"\x1f\x8b"):
        return _inside_gzip(head)
    if b"NVIDIA Nsight Systems Stream" in head[:64]:
        return (
            "is a raw capture (.qdstrm): open it once in nsys-ui, or run QdstrmImporter, to make an .nsys-rep"
        )
    if head.startswith(b"\n") and re.search(rb"/(host|device):(CPU|GPU|TPU)", head[:256]):
        return f"is a profile of JAX or TensorFlow (XPlane), which Lightbox does not read: {_RECORD}"
    if suffix in (".pftrace", ".perfetto-trace", ".perfetto") or _is_perfetto(head, size):
        return _PERFETTO
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip()
    if text[:1] in ("{", "["):
        return _first(_JSON, text) or f"is JSON, not an Nsight Systems trace: {HOW_TO_EXPORT}"
    if b"\0" not in head:
        if text[:1] == "<":
            return f"is a page (HTML or XML), not an Nsight Systems trace: {HOW_TO_EXPORT}"
        return _first(_CSV, text) or f"is a text file, not an Nsight Systems trace: {HOW_TO_EXPORT}"
    return f"is not an Nsight Systems trace: {HOW_TO_EXPORT}"


_PERFETTO = (
    "is a trace of Perfetto (as Android, omnitrace and rocprof-sys write it), which Lightbox does not read: "
    f"see it in Perfetto, or {_RECORD}"
)


def foreign_tables(tables: Tables) -> str:
    """Return what a database of another tool is, and what to do; "" for any other database."""
    names = tables.names
    if any(name.startswith("rocpd_") for name in names):
        return f"is a database of rocprof (rocpd), {_AMD}"
    if "StringIds" in names:
        return ""
    cupti = [name for name in names if name.startswith("CUPTI_ACTIVITY_")]
    if cupti and ("StringTable" in names or any("_id_" in tables.columns(name) for name in cupti)):
        return (
            "is a database of nvprof (or the Visual Profiler), which Lightbox does not read: "
            f"{_RECORD}, or open this one in nvvp"
        )
    if len(_ROCPROF_TABLES & names) >= 2:
        return f"is a database of rocprof, {_AMD}"
    return ""


def foreign_folder(folder: Path) -> str:
    """Return what a folder without an export contains, and what to do."""
    inside = sorted(file for file in folder.iterdir() if file.suffix in (".nsys-rep", ".qdrep", ".sqlite"))
    if inside:
        several = f"{len(inside)} traces" if len(inside) > 1 else "a trace"
        name = os.fsencode(inside[0].name).decode("utf-8", "replace")
        return f"is a folder with {several} in it: open {name} itself"
    return f"is a folder without an export in it: {HOW_TO_EXPORT}"


def _first(kinds: tuple[tuple[str, str], ...], text: str) -> str:
    for pattern, what in kinds:
        if re.search(pattern, text, re.DOTALL):
            return what
    return ""


def _inside_gzip(head: bytes) -> str:
    """Return what a gzip file contains, judged by its first bytes, and what to do."""
    try:
        inside = zlib.decompressobj(wbits=31).decompress(head, 1 << 16)
    except zlib.error:
        return "is compressed (gzip), and damaged: copy it again"
    if inside.startswith((b"SQLite format 3\0", b"NVIDIA Tegra Profiler Report")):
        return "is compressed (gzip): unpack it first (gunzip)"
    if inside[257:262] == b"ustar":
        return "is a compressed archive (tar.gz): unpack it first"
    what = what_else(inside, 1 << 62) if inside and not inside.startswith(b"\x1f\x8b") else ""
    if _is_named(what):
        return what.replace("is ", "is, compressed (gzip), ", 1)
    return "is compressed (gzip): unpack it first"


def _is_named(what: str) -> bool:
    return bool(what) and not what.startswith(("is not an", "is a text file"))


def _is_perfetto(head: bytes, size: int) -> bool:
    """Return whether a file is a sequence of Perfetto packets, each beginning with a known field."""
    packets = list(islice(_packets(head, size), 8))
    return bool(packets) and all(packets)


def _packets(head: bytes, size: int) -> Iterator[bool]:
    """Yield for each packet (the tag of field 1, a length, the content) whether it is plausible."""
    position = 0
    while position < len(head):
        if head[position] != 0x0A:
            yield False
            return
        length, begin = _varint(head, position + 1)
        if begin == 0:
            return
        tag, _ = _varint(head, begin)
        fits = 0 < length <= min(size - begin, _LARGEST_PACKET)
        yield fits and tag >> 3 in _PERFETTO_FIELDS and tag & 7 in (0, 1, 2, 5)
        position = begin + length


def _varint(data: bytes, begin: int) -> tuple[int, int]:
    """Return a number and the position after it; 0, 0 if the data end within it."""
    value = 0
    for shift, byte in enumerate(data[begin : begin + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, begin + shift + 1
    return 0, 0
