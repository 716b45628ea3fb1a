"""Fixtures of the analysis tests."""

import pytest

from viewer.analysis.classify import Rules
from viewer.analysis.study import Study


@pytest.fixture(scope="session")
def real_study(shared_trace):
    """A function from a real trace's name to its numbers by the built-in rules, made once."""
    from viewer.readers import read

    studies = {}

    def study(name):
        if name not in studies:
            studies[name] = Study(read(shared_trace(name), cache=False), Rules.builtin())
        return studies[name]

    return study
