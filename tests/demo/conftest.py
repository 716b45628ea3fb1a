"""The demo traces that the tests of this folder look at, each made once."""

import pytest

from viewer.demo import DemoOptions, make_demo


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """A function from options to a demo trace, made once for the same options."""
    made = {}

    def once(**options):
        key = DemoOptions(**options).key
        if key not in made:
            made[key] = make_demo(tmp_path_factory.mktemp("demos") / f"{key}.sqlite", DemoOptions(**options))
        return made[key]

    return once


@pytest.fixture(scope="session")
def path(make):
    """The default demo."""
    return make()
