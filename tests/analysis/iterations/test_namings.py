"""Which range marks the iterations, for the ways in which jobs name them."""

from dataclasses import replace

import pytest

from tests.analysis.iterations.jobs import ADAM, AUTOGRAD, BACKWARD, FORWARD, Loop, Names, training
from tests.analysis.make import TraceMaker
from viewer.analysis.study import Study

STEPS = [
    # Megatron, nanoGPT and scripts of one's own.
    "Iteration {step}", "iteration{step}", "step_{step}", "step {step}", "iter {step}/100", "step={step}",
    "iter{step}", "it {step}", "train_step {step}", "trainStep{step}", "global_step={step}",
    "Step-{step:05d}", "step {step}, loss 2.31", "Epoch: 3 [Step {step}/500]", "iteration: {step} of 100",
    "training step #{step}", "step id={step}", "Iter({step})", "iteration {step} (fwd+bwd+optimizer)",
    "第 {step} 步", "迭代{step}",
    # torch.profiler, the examples of apex, NeMo.
    "ProfilerStep#{step}", "Body of iteration {step}", "nemo step {step}",
    # No step by name, but nothing else does as well.
    "Batch {step}", "batch{step}", "train12x{step}", "train_batch", "[pl][profile]run_training_batch", "work",
]  # fmt: skip


@pytest.mark.parametrize("text", STEPS)
@pytest.mark.parametrize("micro_batches", [1, 4])
def test_the_iteration_is_found_by_its_name(text, micro_batches):
    names = Names(text, micro="micro-batch {micro}", layer="TransformerLayer {layer}")
    study = Study(training(names, micro_batches=micro_batches, layers=3).trace())
    iterations = study.iterations()
    assert (iterations.count, iterations.by.kind, iterations.by.unit) == (8, "named", "iteration")
    assert iterations.names[0] == text.format(step=0)
    assert iterations.doubt == ""
    # The derived ones are offered.
    assert [c.count for c in study.candidates if c.what == "optimizer"] == [8]


@pytest.mark.parametrize("text", ["Iteration {step}", "step_{step}", "ProfilerStep#{step}", "iter {step}/9"])
@pytest.mark.parametrize("steps", [1, 2])
def test_one_or_two_numbered_steps_suffice(text, steps):
    iterations = Study(training(Names(text), steps=steps, micro_batches=4).trace()).iterations()
    assert (iterations.count, iterations.by.kind) == (steps, "named")
    assert "too few" in iterations.not_steady


PHASES = [
    Names(),
    Names(forward="forward pass", backward="Backward pass", optimizer="Optimizer.step#AdamW.step"),
    Names(forward="Engine.forward", backward="Engine.backward", optimizer="DeepSpeedEngine.step"),
    Names(forward="fwd_{micro}", backward="bwd_{micro}", optimizer="optim"),
    Names(forward="step {step} forward", backward="step {step} backward", optimizer="step {step} optimizer"),
    Names(forward=None, backward=None, micro="micro-batch {micro}", optimizer="optimizer.step()"),
    Names(forward=None, backward=None, micro="forward_backward", optimizer="optimizer"),
    Names(forward=None, backward=None, micro="micro_step {micro}", optimizer="update_weights"),
    Names(forward=None, backward=None, micro="grad accum {micro}", optimizer="adam.step"),
    Names(forward=None, backward=None, layer="layer {layer}", optimizer="optimizer"),
    Names(forward=None, backward=None, optimizer="Optimizer.step#Adam.step"),
    Names(optimizer=None),
    Names(forward=None, backward=None, optimizer=None, layer="layer {layer}"),
]  # fmt: skip


@pytest.mark.parametrize("names", PHASES)
@pytest.mark.parametrize("micro_batches", [1, 4])
def test_phases_alone_are_cut_at_the_optimizer(names, micro_batches):
    study = Study(training(names, micro_batches=micro_batches, layers=3).trace())
    iterations = study.iterations()
    assert (iterations.count, iterations.by.kind) == (8, "derived")
    assert "cut after the" in iterations.by.why
    # Each begins with the batch, right after the optimizer, the first one too.
    assert iterations.starts[0, :-1].tolist() == batches(study)
    assert all(c.guess for c in study.candidates if c.qualifies)


def batches(study):
    kernels = study.trace.kernels
    return [
        int(t)
        for t, n in zip(kernels.start_ns, kernels.name_id, strict=True)
        if study.trace.names[n] == "batch"
    ]


@pytest.mark.parametrize("micro_batches", [1, 2, 4])
def test_micro_batches_that_do_not_say_so_are_counted_against_the_optimizer(micro_batches):
    names = Names(forward=None, backward=None, micro="train_batch", optimizer="optimizer")
    iterations = Study(training(names, micro_batches=micro_batches).trace()).iterations()
    assert iterations.count == 8
    assert iterations.by.kind == ("named" if micro_batches == 1 else "derived")


def test_one_numbered_section_of_a_script_is_no_iteration():
    loop = Loop()

    def train():
        for number in range(8):
            loop.inside("forward", lambda: loop.launch(*FORWARD, *BACKWARD))
            loop.inside("optimizer", lambda: loop.launch(*ADAM))
            if number == 3:
                loop.inside("save checkpoint at step 500", lambda: loop.launch("copy"))

    loop.inside("Step 1: load the data", lambda: loop.launch("copy"))
    loop.inside("Step 2: train", train)
    study = Study(loop.maker.trace())
    assert (study.iterations().count, study.iterations().by.kind) == (8, "derived")
    assert [c.name for c in study.candidates if c.kind == "named" and c.qualifies] == ["Step #: train"]


def test_a_thread_that_only_waits_marks_nothing():
    """Its ranges lie around all that others launch; the thread that launches has shorter ones."""
    loop = Loop()
    for number in range(8):
        loop.inside(f"train_step {number}", lambda: loop.launch("batch", *FORWARD))
        loop.maker.range(loop.time - 130, loop.time + 4, f"Step {number}", tid=7)
        loop.time += 10
    assert Study(loop.maker.trace()).iterations().marker == "train_step #"


@pytest.mark.parametrize("text", ["Epoch {0}", "train_one_epoch"])
def test_an_epoch_is_no_iteration(text):
    loop, work = Loop(), ["batch", *FORWARD]

    def step():
        loop.inside("forward", lambda: loop.launch(*work))
        loop.inside("backward", lambda: loop.launch(*BACKWARD, tid=AUTOGRAD))
        loop.inside("optimizer", lambda: loop.launch(*ADAM))

    def epoch():
        for _ in range(5):
            step()
        loop.launch("metrics")

    for number in range(3):
        loop.inside(text.format(number), epoch)
    study = Study(loop.maker.trace())
    assert (study.iterations().count, study.iterations().by.kind) == (15, "derived")
    offered = {c.name: c.warning for c in study.candidates if c.qualifies and not c.guess}
    assert list(offered.values()) == ["the optimizer runs 5 times in each of them"]


def test_steps_that_pytorchs_profiler_marks_carry_an_operators_arguments():
    for names, kind in (
        (Names("ProfilerStep#{step}, op_id = 9{step}"), "named"),
        (
            Names(forward=None, backward=None, optimizer="Optimizer.step#AdamW.step, op_id = 7{step}"),
            "derived",
        ),
        (Names("aten::step_{step}, op_id = 9{step}", None, None, None), "guess"),
    ):
        iterations = Study(training(names, micro_batches=4).trace()).iterations()
        assert (iterations.count, iterations.by.kind) == (8, kind)
        if kind == "named":
            assert iterations.names[:2] == ("ProfilerStep#0", "ProfilerStep#1")


def test_a_marker_in_a_domain_of_its_own_with_backward_on_another_thread():
    names = Names("Iteration {step}", domain="MyTrainer", layer="TransformerLayer {layer}")
    study = Study(training(names, micro_batches=2, backward_thread=AUTOGRAD).trace())
    assert (study.candidates[0].name, study.candidates[0].domain) == ("Iteration #", "MyTrainer")
    # What autograd launches inside ranges of its own, in the default domain, belongs to the iteration.
    launched = study.projection("process").set_index("range")["ops"]
    nvtx = study.trace.nvtx
    ops = [launched[row] for row in launched.index if study.trace.names[nvtx.name_id[row]].startswith("Iter")]
    assert ops == [1 + 2 * (6 + 12) + 4] * 8
    assert study.iterations().count == 8
    assert study.iterations().starts[0, :-1].tolist() == batches(study)


def test_work_inside_a_librarys_domain_on_another_thread_does_not_disqualify_the_step():
    # Most of the time is NCCL's, launched by autograd's thread inside NCCL's own ranges.
    study = Study(training(Names("Iteration {step}"), backward_domain="NCCL").trace())
    assert (study.iterations().marker, study.iterations().count) == ("Iteration #", 8)


@pytest.mark.parametrize(
    ("step", "warm_up"),
    [
        ("Step {step}", "Warm-up Step {step}"), ("Iteration {step}", "warmup iteration {step}"),
        ("train_step {step}", "sanity check step {step}"), ("benchmark step {step}", "warm-up step {step}"),
    ],
)  # fmt: skip
def test_eight_warm_up_steps_do_not_hide_four_iterations(step, warm_up):
    study = Study(training(Names(step, warm_up=warm_up), steps=4, warm_up=8).trace())
    assert study.iterations().names == tuple(step.format(step=number) for number in range(4))
    assert {c.count for c in study.candidates if c.what == "range" and c.qualifies} >= {4, 8}


@pytest.mark.parametrize(
    "evaluation", ["eval_step {step}", "validation step {step}", "test iteration {step}"]
)
def test_steps_of_an_evaluation_are_no_training_steps(evaluation):
    names = Names("train_step {step}", evaluation=evaluation)
    study = Study(training(names, steps=8, evaluate_every=2).trace())
    assert (study.iterations().marker, study.iterations().count) == ("train_step #", 8)


@pytest.mark.parametrize("evaluation", ["eval_step {step}", "test batch", "request"])
def test_an_evaluation_alone_has_names_and_the_training_has_none(evaluation):
    names = Names(evaluation=evaluation)
    study = Study(training(names, steps=8, evaluate_every=8).trace())
    assert (study.iterations().count, study.iterations().by.kind) == (8, "derived")
    assert [c.count for c in study.candidates if c.kind == "named" and c.qualifies] == [5]


def test_without_an_optimizer_phases_are_called_what_they_are():
    loop = Loop()
    for number in range(12):
        # An inference server: as many kernels as the request is long.
        loop.inside("forward", lambda number=number: loop.launch(*FORWARD * (3 + (number > 9))))
        loop.launch("sample")
    iterations = Study(loop.maker.trace()).iterations()
    assert (iterations.marker, iterations.by.kind, iterations.by.unit) == ("forward", "guess", "forward")
    assert "no optimizer tells how many make one" in iterations.doubt_text


def test_layers_alone_without_an_optimizer_that_is_known():
    """What comes once in every fourth layer, here the batch, shows that they are parts of a step."""
    loop = Loop()
    for _ in range(6):
        loop.launch("batch", *["embedding"] * 3)
        for layer in range(4):
            loop.inside(f"layer {layer}", lambda: loop.launch(*FORWARD, *BACKWARD))
        loop.launch(*["update"] * 3)
    study = Study(loop.maker.trace())
    iterations = study.iterations()
    assert (iterations.count, iterations.by.kind) == (6, "guess")
    assert iterations.starts[0, :-1].tolist() == batches(study)
    assert {c.unit for c in study.candidates if c.name == "layer #"} == {"layer"}


@pytest.mark.parametrize("text", ["Optimizer.step#Adam.step", None])
def test_two_optimizers_that_take_turns_make_one_iteration(text):
    loop = Loop()
    for _ in range(8):
        for work in (FORWARD, FORWARD + BACKWARD):
            loop.inside("forward", lambda work=work: loop.launch(*work))
            loop.inside(text, lambda: loop.launch(*ADAM))
    assert Study(loop.maker.trace()).iterations().count == 8


@pytest.mark.parametrize("step", ["train step {step}", None])
def test_an_evaluation_after_every_second_step_is_no_second_optimizer(step):
    names = Names(step=step, evaluation="eval step {step}")
    study = Study(training(names, evaluate_every=2).trace())
    assert study.iterations().count == 8
    assert not any(c.warning for c in study.candidates if c.kind == "named" and c.qualifies)


@pytest.mark.parametrize("evaluation", ["evaluate", "eval step {step}", "validation"])
def test_evaluations_alone_named_mark_no_training(evaluation):
    names = Names(step=None, evaluation=evaluation)
    # After every step, so that the evaluations have most of the GPU's time from the first one on.
    iterations = Study(training(names, evaluate_every=1).trace()).iterations()
    # The first step has no evaluation ahead of it, less than nine tenths of the others: no whole iteration.
    assert (iterations.count, iterations.by.kind, iterations.marker) == (7, "derived", "optimizer")


def test_warm_up_steps_alone_named_mark_no_training():
    names = Names(step=None, warm_up="Warm-up Step {step}")
    iterations = Study(training(names, warm_up=4).trace()).iterations()
    assert (iterations.count, iterations.by.kind) == (12, "derived")
    only = Study(training(names, warm_up=4, steps=0).trace()).iterations()
    assert (only.count, only.by.kind) == (4, "named")


def test_two_optimizers_in_a_row_are_one_step():
    loop = Loop()
    for _ in range(8):
        loop.inside("forward", lambda: loop.launch(*FORWARD, *BACKWARD))
        for name in ("Optimizer.step#Muon.step", "Optimizer.step#AdamW.step"):
            loop.inside(name, lambda: loop.launch(*ADAM))
    assert Study(loop.maker.trace()).iterations().count == 8


def test_a_step_that_is_called_for_every_micro_batch_updates_after_the_last_one():
    loop = Loop()
    # As many micro-batches for a step as fit: the numbers differ.
    for micro_batches in (3, 2, 4, 3, 2, 3, 4, 2):
        for number in range(micro_batches):
            loop.inside("DeepSpeedEngine.forward", lambda: loop.launch(*FORWARD))
            loop.inside("DeepSpeedEngine.backward", lambda: loop.launch(*BACKWARD, tid=AUTOGRAD))
            work = ADAM * 3 if number == micro_batches - 1 else ["check"]
            loop.inside("DeepSpeedEngine.step", lambda work=work: loop.launch(*work))
    assert Study(loop.maker.trace()).iterations().count == 8


def test_a_second_optimizer_that_runs_now_and_then_belongs_to_the_step():
    loop = Loop()
    for number in range(9):
        loop.inside("forward", lambda: loop.launch(*FORWARD * 4, *BACKWARD * 4))
        for name in ("Optimizer.step#AdamW.step",) * (2 if number in (1, 2, 5) else 1):
            loop.inside(name, lambda: loop.launch(*ADAM))
    assert Study(loop.maker.trace()).iterations().count == 9


def test_of_numbered_steps_within_each_other_the_optimizers_lead():
    loop = Loop()

    def epoch():
        for number in range(4):
            loop.inside(f"step {number}", lambda: loop.launch(*FORWARD, *BACKWARD, *ADAM))

    for number in range(3):
        loop.inside(f"Iteration {number}", epoch)
    study = Study(loop.maker.trace())
    assert [(c.name, c.warning) for c in study.candidates if c.kind == "named"] == [
        ("step #", ""),
        ("Iteration #", "the optimizer runs 4 times in each of them"),
    ]


@pytest.mark.parametrize(("ranks", "marker"), [(2, "step #"), (3, "lap #")])
def test_numbered_steps_lead_where_at_least_half_of_the_ranks_have_them(ranks, marker):
    maker = TraceMaker()
    for process in range(ranks):
        loop = Loop(process, maker)
        for number in range(5):
            inner = f"step {number}" if process == 0 else None
            loop.inside(f"lap {number}", lambda inner=inner, loop=loop: loop.inside(
                inner, lambda: loop.launch(*FORWARD)
            ))  # fmt: skip
    assert Study(maker.trace()).candidates[0].name == marker


def test_a_number_glued_to_a_letter_is_a_name_where_it_comes_back():
    loop = Loop()
    for _ in range(5):
        for stage in range(3):
            loop.inside(f"h{stage}", lambda: loop.launch(*FORWARD))
    assert {c.name for c in Study(loop.maker.trace()).candidates} >= {"h0", "h1", "h2"}
    assert "h#" not in {c.name for c in Study(loop.maker.trace()).candidates}


@pytest.mark.parametrize("adam", ["FusedAdamMathFunctor", "BinaryOpListAlphaFunctor"])
@pytest.mark.parametrize("names", [Names(optimizer=None), Names(None, None, None, None)])
def test_copies_of_lists_of_tensors_in_every_layer_are_no_steps_of_the_optimizer(adam, names):
    """FSDP copies each layer's shards with the kernel that the optimizer uses, too."""
    copy, update, norm = (
        f"multi_tensor_apply_kernel<{functor}>" for functor in ("CopyFunctor", adam, "LpNormFunctor")
    )
    loop = Loop()
    for _ in range(6):
        for text, kernels in (("forward", FORWARD), ("backward", BACKWARD)):
            loop.inside(
                text if names.forward else None,
                lambda kernels=kernels: [loop.launch(copy, *kernels * 2) for _ in range(4)],
            )
        loop.launch(norm, *[update] * 4)
    iterations = Study(loop.maker.trace()).iterations()
    assert (iterations.count, iterations.doubt) == (6, "derived" if names.forward else "guess")


def test_ranges_of_the_optimizer_around_something_else_are_no_steps():
    loop = Loop()
    for _ in range(6):
        for layer in range(4):
            loop.inside(f"layer {layer}", lambda: loop.launch(*FORWARD, *BACKWARD))
            loop.inside("prefetch optimizer shard", lambda: loop.launch("copy", "copy"))
        loop.inside("optimizer", lambda: loop.launch(*ADAM))
    assert Study(loop.maker.trace()).iterations().count == 6


def test_the_module_of_a_compiler_marks_the_steps():
    loop = Loop()
    for _ in range(6):
        loop.launch("batch")
        module = "XlaModule:#hlo_module=jit_train_step,program_id=7#"
        loop.inside(module, lambda: loop.launch(*FORWARD, *BACKWARD), domain="TSL")
        loop.inside("Thunk:#hlo_op=fusion.3#", lambda: loop.launch("small"), domain="TSL")
    study = Study(loop.maker.trace())
    assert (study.iterations().count, study.iterations().by.kind) == (6, "named")
    assert "Thunk" not in "".join(c.name for c in study.candidates)


def test_a_recording_that_begins_in_the_middle_of_an_iteration():
    names = Names()
    loop = Loop(maker=TraceMaker())
    loop.inside("backward", lambda: loop.launch(*BACKWARD, tid=AUTOGRAD))
    loop.inside("optimizer", lambda: loop.launch(*ADAM))
    for _ in range(6):
        loop.inside(names.forward, lambda: loop.launch(*FORWARD))
        loop.inside(names.backward, lambda: loop.launch(*BACKWARD, tid=AUTOGRAD))
        loop.inside(names.optimizer, lambda: loop.launch(*ADAM))
    iterations = Study(loop.maker.trace()).iterations()
    assert iterations.count == 6
    assert set(iterations.flags) == {None}


def test_numbered_micro_steps_stay_and_are_doubted():
    names = Names(forward=None, backward=None, micro="step {micro}", optimizer="optimizer")
    study = Study(training(names, micro_batches=4).trace())
    iterations = study.iterations()
    assert (iterations.count, iterations.by.kind) == (32, "named")
    assert "the optimizer runs once in every 4 of them" in iterations.notes


def test_one_stray_kernel_of_an_optimizer_says_nothing():
    names = Names(forward=None, backward=None, micro="request", optimizer=None)
    loop = Loop()
    loop.launch(*ADAM)
    training(names, optimizer=["other"], maker=loop.maker, first=0, start=loop.time)
    assert Study(loop.maker.trace()).iterations().by.kind == "named"


def test_a_rank_without_an_optimizer_says_nothing_about_the_others():
    names = Names(forward=None, backward=None, micro="train_batch")
    maker = training(names)
    training(replace(names, optimizer=None), optimizer=["other"], maker=maker, process=1)
    iterations = Study(maker.trace()).iterations()
    assert (iterations.count, iterations.by.kind, iterations.warnings) == (8, "named", ())


def test_ranks_that_disagree_are_said():
    maker = training(Names("Iteration {step}"), steps=8)
    training(Names("Iteration {step}"), steps=7, maker=maker, process=1, first=1)
    iterations = Study(maker.trace()).iterations()
    assert iterations.count == 7
    assert any("do not agree" in note for note in iterations.notes)
