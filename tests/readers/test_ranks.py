"""Which rank a process has, and where that is from."""

import pytest

from tests.readers import exports
from tests.readers.exports import CALLS, KERNELS, NVTX, call, kernel, nvtx, process
from viewer.analysis.study import Study
from viewer.analysis.summary.report import report
from viewer.readers import read
from viewer.trace.model import GUESSED_RANK

VARIABLE = "PROCESS_0:ENVIRONMENT_VARIABLE"


def captured(*values, name=VARIABLE):
    return {"META_DATA_CAPTURE": [{"name": name, "value": value} for value in values]}


def ranks(trace):
    return {p.pid: (p.rank, p.rank_from) for p in trace.processes}


@pytest.fixture
def one(small):
    """A function from what was captured to the rank of the only process."""

    def make(tables):
        file = small({KERNELS: [kernel()], CALLS: [call()], **tables})
        found = ranks(read(file, cache=False))[exports.PID]
        file.unlink()
        return found

    return make


@pytest.mark.parametrize(
    "variable", ["RANK", "PMI_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "LOCAL_RANK"]
)
@pytest.mark.parametrize("written", ['{}="3"', "{}='3'", "{}=3", '"{}=3"', '{}=" 3 "', "{} = 3"])
def test_a_rank_in_quotes(one, variable, written):
    assert one(captured("PATH=/bin", written.format(variable))) == (3, variable)


@pytest.mark.parametrize(
    "value", ['RANK=""', "RANK=abc", 'RANK="-1"', "RANKS=3", 'RANK="3', "RANK=99999999999"]
)
def test_what_is_no_rank(one, value):
    assert one(captured(value)) == (None, "")


def test_the_best_variable_is_taken(one):
    assert one(captured('LOCAL_RANK="1"', 'SLURM_PROCID="2"', 'RANK="9"')) == (9, "RANK")


@pytest.mark.parametrize("between", ["\n", "\r\n"])
def test_a_whole_environment_in_one_value(one, between):
    value = between.join(['HOME="/root"', 'RANK="5"', "TERM=x"])
    assert one(captured(value, name="PROCESS_0:ENVIRONMENT")) == (5, "RANK")


def two_processes(**more):
    first, second = process(100), process(200)
    return {
        KERNELS: [kernel(globalPid=first), kernel(globalPid=second, deviceId=1)],
        CALLS: [call(globalTid=first | 100), call(globalTid=second | 200)],
        **more,
    }


def test_a_guess_says_so(small):
    trace = read(small(two_processes()), cache=False)
    assert ranks(trace) == {100: (0, GUESSED_RANK), 200: (1, GUESSED_RANK)}
    assert [gpu["rank_from"] for gpu in report(Study(trace))["gpus"]] == ["pid order"] * 2
    assert any(f.title == "The ranks of 2 processes are a guess" for f in Study(trace).diagnostics)


def test_mpi_names_processes_without_gpu_rows_too(small):
    third = process(300)
    mpi = {"MPI_RANKS": [{"globalTid": process(p) | p, "rank": r} for p, r in ((100, 1), (200, 0), (300, 2))]}
    host = {NVTX: [nvtx(globalTid=third | 300)]}
    trace = read(small(two_processes(**mpi, **host)), cache=False)
    assert ranks(trace) == {100: (1, "MPI_RANKS"), 200: (0, "MPI_RANKS"), 300: (2, "MPI_RANKS")}
    assert not any("guess" in f.title for f in Study(trace).diagnostics)


def test_a_process_that_mpi_does_not_name_has_no_rank(small):
    mpi = {"MPI_RANKS": [{"globalTid": process(200) | 200, "rank": 5}]}
    assert ranks(read(small(two_processes(**mpi)), cache=False)) == {100: (None, ""), 200: (5, "MPI_RANKS")}


def test_ranks_of_two_jobs_are_not_mixed(small):
    mpi = {"MPI_RANKS": [{"globalTid": process(p) | p, "rank": 0} for p in (100, 200)]}
    trace = read(small(two_processes(**mpi)), cache=False)
    assert ranks(trace) == {100: (0, GUESSED_RANK), 200: (1, GUESSED_RANK)}


def test_the_stored_parse_keeps_where_a_rank_is_from(small):
    file = small({KERNELS: [kernel()], CALLS: [call()], **captured('RANK="3"')})
    assert ranks(read(file)) == ranks(read(file)) == {exports.PID: (3, "RANK")}
