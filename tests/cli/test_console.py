"""Names of a trace are printed as they are."""

from tests.readers import exports
from viewer.cli import main


def test_what_rich_takes_for_markup_is_printed(tmp_path, capsys):
    names = {1: "void [/k] gemm<float>(int)", 2: "[/k] gemm", 3: "cudaLaunchKernel"}
    steps = [
        exports.nvtx(start=1000 * i, end=1000 * i + 900, text=f"[rank 0] :cat: [/b] step {i}")
        for i in range(1, 9)
    ]
    calls = [exports.call(start=1000 * i + 10, end=1000 * i + 20, correlationId=i) for i in range(1, 9)]
    kernels = [exports.kernel(start=1000 * i + 30, end=1000 * i + 800, correlationId=i) for i in range(1, 9)]
    physical_gpu = {"id": 0, "name": "[/x] H200", "busLocation": "", "cuDevice": 0, "smCount": 132}
    path = exports.write(
        tmp_path / "trace.sqlite",
        {
            exports.KERNELS: kernels,
            exports.CALLS: calls,
            exports.NVTX: steps,
            "TARGET_INFO_GPU": [physical_gpu],
        },
        names,
    )
    assert main(["report", str(path)]) == 0
    out = capsys.readouterr().out
    assert "[/x] H200" in out
    assert "[rank 0] :cat: [/b] step 1" in out
    assert "[/k] gemm" in out
