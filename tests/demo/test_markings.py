"""The same job under other names: its iterations are found, or said to be derived or guessed."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.core.classify import OTHER
from viewer.analysis.iterations.guess import guesses
from viewer.analysis.study import Study
from viewer.demo import DemoOptions, make_demo
from viewer.demo.make import job
from viewer.demo.markings import WARM_UP_STEPS
from viewer.demo.truth import ground_truth
from viewer.readers import read

RANKS = 2


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """A function that returns the study of a demo and its truth."""
    made = {}

    def study(**options):
        key = repr(options)
        if key not in made:
            wanted = DemoOptions(ranks=RANKS, **options)
            path = make_demo(tmp_path_factory.mktemp("markings") / "demo.sqlite", wanted)
            made[key] = Study(read(path, cache=False)), ground_truth(job(wanted))
        return made[key]

    return study


@pytest.mark.parametrize("marking", ["iterations", "glued", "own-domain"])
def test_every_name_of_the_iterations_marks_them(studied, marking):
    study, truth = studied(iterations=8, marking=marking)
    iterations = study.iterations()
    assert iterations.starts[:, :-1].tolist() == truth.iteration_start_ns.tolist()
    assert (iterations.by.kind, iterations.doubt_text, iterations.warnings) == ("named", "", ())


@pytest.mark.parametrize(
    ("marking", "kind"),
    [("phases", "derived"), ("layers", "derived"), ("optimizer", "derived"), ("none", "guess")],
)
@pytest.mark.parametrize(
    "options", [{"iterations": 16}, {"iterations": 16, "clean": True}, {"iterations": 3, "clean": True}]
)
def test_without_such_a_name_they_are_cut_at_the_optimizer(studied, marking, kind, options):
    study, truth = studied(marking=marking, **options)
    iterations = study.iterations()
    assert (iterations.count, iterations.by.kind) == (options["iterations"], kind)
    assert iterations.doubt in iterations.doubt_text
    true = np.median(np.diff(truth.iteration_start_ns.min(axis=0)))
    assert iterations.median_ns == pytest.approx(true, rel=0.02)


def test_idle_time_of_a_guess_is_that_of_the_iterations(studied):
    named, _ = studied(iterations=16, marking="iterations")
    guessed, _ = studied(iterations=16, marking="none")
    idle = [
        study.default_scope(study.iterations()).parts(study.parts)[:, 4].sum()
        / study.default_scope(study.iterations()).total_ns
        for study in (named, guessed)
    ]
    assert idle[1] == pytest.approx(idle[0], abs=0.01)


def test_samples_without_ranges(studied):
    study, _ = studied(like="distca", iterations=20, marking="none")
    assert (study.iterations().count, study.iterations().by.kind) == (20, "guess")


def test_without_launches_the_guess_goes_by_the_gpus_alone(studied):
    study, _ = studied(iterations=32, marking="none")
    guess = guesses(study.trace, study.order, study.classes)[0]
    assert (guess.count, guess.tested) == (32, True)


def test_an_optimizer_that_is_not_known_as_one_comes_less_often_than_the_layers(studied):
    study, truth = studied(iterations=32, marking="none")
    unknown = replace(study.classes, class_of=np.full_like(study.classes.class_of, OTHER))
    guess, layers = guesses(study.trace, study.order, unknown)
    assert (guess.count, guess.tested) == (32, True)
    assert (layers.count, layers.tested) == (320, False)
    assert "once in every 10 repetitions" in guess.why
    # It begins where the batch is copied.
    order = study.order(0)
    assert order.start_ns[guess.positions[0][:-1]].tolist() == truth.iteration_start_ns[0].tolist()


def test_warm_up_steps_of_another_name_are_not_the_run(studied):
    study, _ = studied(iterations=WARM_UP_STEPS + 4, marking="warm-up")
    iterations = study.iterations()
    assert iterations.names == tuple(f"Step {number}" for number in range(WARM_UP_STEPS, WARM_UP_STEPS + 4))
    offered = {c.name: c.count for c in study.candidates if c.qualifies and not c.guess}
    assert offered == {"Step #": 4, "Warm-up Step #": WARM_UP_STEPS}


def test_a_marking_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no marking 'nonsense'"):
        DemoOptions(marking="nonsense")
