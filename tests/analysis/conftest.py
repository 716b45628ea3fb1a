"""Fixtures of the analysis tests."""

import pytest

from viewer.analysis.core.classify import Rules
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


@pytest.fixture(scope="session")
def demo_of(tmp_path_factory):
    """A function from the options of a demo to its numbers by the built-in rules, made once."""
    from viewer.demo import DemoOptions, make_demo
    from viewer.readers import read

    studies = {}

    def study(**options):
        key = repr(sorted(options.items()))
        if key not in studies:
            path = tmp_path_factory.mktemp("demo") / "demo.sqlite"
            make_demo(path, DemoOptions(**options))
            studies[key] = Study(read(path, cache=False), Rules.builtin())
        return studies[key]

    return study


@pytest.fixture(scope="session")
def shared_case(shared):
    """A function from the name of a case in ../shared/cases to its numbers by the built-in rules."""
    from viewer.readers import read

    def study(name):
        file = shared / "cases" / f"{name}.sqlite"
        if not file.is_file():
            pytest.skip(f"no {file.name} in ../shared/cases")
        return Study(read(file, cache=False), Rules.builtin())

    return study
