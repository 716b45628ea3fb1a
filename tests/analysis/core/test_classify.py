from functools import cache

import pytest

from tests.analysis import sql
from tests.analysis.core.kernel_names import NAMES, NOT_WHAT_THEY_LOOK_LIKE
from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import CLASSES, COMMUNICATION, OTHER, Rules
from viewer.analysis.study import Study
from viewer.trace.names import base_name

BUILTIN = Rules.builtin()
LAMBDA = (
    "void at::native::elementwise_kernel<(int)128, (int)4, at::native::gpu_kernel_impl<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]>(T1)>(int, T3)"
)


def class_of(name, rules=BUILTIN):
    position = rules.match(name)
    return CLASSES[rules.rules[position].kernel_class] if position >= 0 else "other"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)", "communication"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm *, unsigned long)", "communication"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)8>(vllm::RankData *)", "communication"),
        ("void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<(int)4>(int, int)", "communication"),
        ("void deep_ep::intranode::dispatch<(int)8, (int)768>(int4 *)", "communication"),
        (
            "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128>>(flash::Flash_fwd_params)",
            "attention",
        ),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_7_64x128x128", "attention"),
        ("fmha_cutlassF_f16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Params)", "attention"),
        ("void moe_permute_topK_kernel<float>(float *)", "mixture-of-experts"),
        ("void cutlass::Kernel<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16>(T1)", "matrix multiply"),
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "matrix multiply"),
        ("sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc", "matrix multiply"),
        ("void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float>(T1)", "matrix multiply"),
        ("triton_tem_fused_mm_3", "matrix multiply"),
        ("void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float>(int)", "normalisation"),
        ("void transformer_engine::normalization::rmsnorm_bwd_general_kernel<T>(P)", "normalisation"),
        ("void at::native::normal_and_transform<float>(float *)", "other"),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<AdamFunctor>(T1)", "optimizer"),
        ("void lamb_stage_1(float *)", "optimizer"),
        ("void at::native::reduce_kernel<(int)512, (int)1>(T3)", "reduction"),
        ("void (anonymous namespace)::softmax_warp_forward<float, float, (int)10>(float *)", "reduction"),
        ("triton_per_fused_add_native_layer_norm_5", "normalisation"),
        ("triton_red_fused_mean_2", "reduction"),
        (LAMBDA, "elementwise"),
        ("triton_poi_fused_gelu_1", "elementwise"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>(T)", "elementwise"),
        ("vectorAdd(const float *, const float *, float *, int)", "other"),
    ],
)
def test_what_an_engineer_calls_it(name, expected):
    assert class_of(name) == expected


@pytest.mark.parametrize(("name", "expected", "_where"), NAMES)
def test_names_of_the_public_libraries(name, expected, _where):
    assert class_of(name) == expected


@pytest.mark.parametrize(("name", "expected"), NOT_WHAT_THEY_LOOK_LIKE)
def test_letters_that_mean_something_else(name, expected):
    assert class_of(name) == expected


def test_the_builtin_table_is_sound():
    assert BUILTIN.errors == ()
    assert {CLASSES[r.kernel_class] for r in BUILTIN.rules} == set(CLASSES) - {"other"}
    order = [r.kernel_class for r in BUILTIN.rules if not str(r).startswith("^triton_")]
    assert order == sorted(order), "the classes come in the order of definitions.md, after TorchInductor"


def test_a_bad_line_is_reported_and_the_rest_still_work():
    rules = Rules.parse(
        "stray\n[attention]\n# a comment\nmine(\n  my_attn  \n[nonsense]\nlost\n[other]\nx.y\n", "mine"
    )
    assert [(e.line, e.text) for e in rules.errors] == [
        (1, "stray"), (4, "mine("), (6, "[nonsense]"), (7, "lost"),
    ]  # fmt: skip
    assert "communication" in str(rules.errors[2])
    assert "line 4: mine(" in str(rules.errors[1])
    assert [(str(r), CLASSES[r.kernel_class], r.line) for r in rules.rules] == [
        ("my_attn", "attention", 5), ("x.y", "other", 9),
    ]  # fmt: skip


def test_full_rules_see_template_arguments_and_the_others_do_not():
    name = "void multi<AdamFunctor>(int)"
    assert class_of(name, Rules.parse("[optimizer]\nadam", "")) == "other"
    assert class_of(name, Rules.parse("[optimizer]\nfull: adam", "")) == "optimizer"
    assert class_of("ADAM_step(int)", Rules.parse("[optimizer]\nadam", "")) == "optimizer"


def test_the_first_rule_wins():
    text = "[{}]\ngemm\n[{}]\ngemm"
    assert class_of("gemm", Rules.parse(text.format("reduction", "attention"), "")) == "reduction"
    assert class_of("gemm", Rules.parse(text.format("attention", "reduction"), "")) == "attention"


def test_the_hash_is_that_of_the_rules_alone():
    hashes = [
        Rules.parse(text, "").hash
        for text in ("[attention]\na\nb", "# said\n[attention]\n\na\n[attention]\nb\n", "[attention]\nb\na",
                     "[optimizer]\na\nb", "[attention]\na\nfull: b")
    ]  # fmt: skip
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_the_users_own_table_is_taken_where_there_is_one():
    assert Rules.current().origin == "builtin"
    assert Rules.current_text() == Rules.builtin_text()
    path = Rules.user_path()
    Rules.keep_text(f"# mine\n{Rules.builtin_text()}")
    assert Rules.current().origin == str(path)
    assert Rules.current().hash == BUILTIN.hash
    Rules.keep_text(Rules.builtin_text())
    assert not path.exists(), "a table equal to the built-in one is none of one's own"
    Rules.keep_text("[optimizer]\ngemm\n")
    assert Rules.current_text() == "[optimizer]\ngemm\n"
    assert [file.name for file in path.parent.iterdir() if "classes" in file.name] == [path.name]
    trace = TraceMaker().kernel(0, 10, "gemm").trace()
    assert Study(trace).classes.class_name(trace.kernels.name_id[0]) == "optimizer"
    assert Study(trace, BUILTIN).classes.class_name(trace.kernels.name_id[0]) == "matrix multiply"


def test_classes_of_a_trace_say_which_rule_fired():
    maker = TraceMaker().kernel(0, 1, "nccl_x(int)").kernel(1, 2, "mystery").range(0, 9, "flash")
    trace = maker.trace()
    classes = Study(trace, BUILTIN).classes
    comm, mystery, text = (maker.name(name) for name in ("nccl_x(int)", "mystery", "flash"))
    assert str(classes.rule(comm)) == "nccl(?!_ep)|rccl|msccl"
    assert (classes.rule(mystery), classes.rule_of[mystery], classes.class_of[mystery]) == (None, -1, OTHER)
    assert classes.class_of[text] == OTHER, "no kernel has this name"
    assert classes.class_of[comm] == COMMUNICATION
    assert classes.is_comm(trace.kernels.name_id).tolist() == [True, False]


def test_what_each_rule_takes_of_all_real_kernels(shared, request, capsys):
    """With -v it prints them."""
    taken, total = {}, 0
    match, base = cache(BUILTIN.match), cache(base_name)
    for path in sorted((shared / "traces").glob("*.sqlite")):
        for ops in sql.operations(path).values():
            for op in ops:
                if op.what == "kernel":
                    ns = taken.setdefault(match(op.name), {})
                    ns[base(op.name)] = ns.get(base(op.name), 0) + op.end - op.start
                    total += op.end - op.start
    classes = [*(CLASSES[rule.kernel_class] for rule in BUILTIN.rules), "other"]
    if request.config.option.verbose > 0:
        said = [*map(str, BUILTIN.rules), "no rule"]
        with capsys.disabled():
            for position, names in sorted(taken.items(), key=lambda item: item[0] % len(said)):
                share = 100 * sum(names.values()) / total
                print(f"\n{classes[position]}, by {said[position]}: {share:.2f} %")
                print("", *sorted(names, key=names.get)[:-7:-1], sep="\n  ")
    by_class = {name: classes[position] for position, names in taken.items() for name in names}
    assert not [n for n, c in by_class.items() if c == "optimizer" and "lambda" in n.lower()]
    assert all(c == "communication" for n, c in by_class.items() if n.startswith("nccl"))
    expected = {"attention", "matrix multiply", "normalisation", "reduction", "elementwise"}
    assert expected <= set(by_class.values())
    assert by_class["flash::flash_fwd_kernel"] == "attention"
    assert by_class["jacobi_kernel"] == "other"
