import numpy as np

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import CLASSES
from viewer.analysis.study import Study
from viewer.drawing.colour import channels, luminance, oklch
from viewer.drawing.palette import DARK, LIGHT, Palette
from viewer.trace import Kind

DEUTERANOPIA = np.array(
    [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
)  # simulation matrix on linear RGB, Machado et al. 2009
PROTANOPIA = np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]])


def made():
    names = {
        "gemm": "matrix multiply",
        "flash_fwd": "attention",
        "ncclDevKernel_AllReduce": "communication",
        "vectorized_elementwise_kernel": "elementwise",
    }
    trace = TraceMaker()
    for at, name in enumerate(names):
        trace.kernel(at * 10, at * 10 + 5, name)
    trace.kernel(0, 5, "gemm", process=1)
    trace.call(0, 1, "cudaStreamSynchronize").call(2, 3, "cudaLaunchKernel").copy(90, 95)
    trace.range(0, 9, "layer 1").range(10, 19, "layer 2").range(20, 29, "forward").range(30, 39, "backward")
    trace.range(40, 49, "aten::mm, op_id = 7").range(50, 59, "aten::mm, op_id = 8")
    trace.add(Kind.NVTX, trace.track(0, 1), 60, 69, "mine", event_type=59, argb=0xFF12AB34)
    trace.add(Kind.NVTX, trace.track(0, 1), 70, 79, "mine too", event_type=59, argb=0x0012AB34)
    return trace, names


def test_hue_by_class_and_the_same_name_the_same_colour():
    trace, names = made()
    palette = Palette(Study(trace.trace()))
    for name, group in names.items():
        argb = channels(np.array([palette.colour(trace.name(name), LIGHT)], np.uint32))
        mid = channels(np.array([palette.class_colour(group, LIGHT)], np.uint32))
        assert np.abs(argb - mid).max() < 0.2, name
    red, green, blue = channels(np.array([palette.colour(trace.name("cudaStreamSynchronize"), LIGHT)]))[0]
    assert red > green + 0.2
    assert red > blue + 0.2


def test_ranges_take_their_colour_from_the_text_without_numbers_and_arguments():
    trace, _ = made()
    index = Palette(Study(trace.trace())).index
    assert index[trace.name("layer 1")] == index[trace.name("layer 2")]
    assert index[trace.name("aten::mm, op_id = 7")] == index[trace.name("aten::mm, op_id = 8")]


def test_forward_is_darker_than_backward():
    trace, _ = made()
    palette = Palette(Study(trace.trace()))
    forward, backward = (
        luminance(np.array([palette.colour(trace.name(n), LIGHT)], np.uint32))[0]
        for n in ("forward", "backward")
    )
    assert forward < backward


def test_users_colours_are_kept_in_both_themes_and_made_opaque():
    trace, _ = made()
    palette = Palette(Study(trace.trace()))
    at = palette.user_index(np.array([0xFF12AB34, 0x0012AB34, 0], np.uint32))
    assert at[0] == at[1]
    assert at[2] == 0
    for theme in (LIGHT, DARK):
        assert palette.argb(theme)[at[0]] == 0xFF12AB34


def test_the_table_begins_with_the_parts_and_holds_an_edge_for_each_colour():
    palette = Palette(Study(made()[0].trace()))
    for theme in (LIGHT, DARK):
        table = palette.argb(theme)
        assert table[:5].tolist() == list(theme.parts)
        assert len(table) == 2 * palette.size
        assert (table >> 24 == 0xFF).all()


def test_text_on_every_colour_can_be_read():
    palette = Palette(Study(made()[0].trace()))
    for theme in (LIGHT, DARK):
        ground, ink = (
            luminance(palette.argb(theme)[: palette.size]),
            luminance(palette.ink(theme)[: palette.size]),
        )
        contrast = (np.maximum(ground, ink) + 0.05) / (np.minimum(ground, ink) + 0.05)
        assert contrast.min() > 3


def lab(rgb):
    """Linear RGB in OKLab."""
    cone = np.array([[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]])
    to_lab = np.array(
        [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    )
    return np.cbrt(np.clip(rgb @ cone.T, 0, None)) @ to_lab.T


def distances(argb, seen_by):
    rgb = channels(np.array(argb, np.uint32))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    held = lab(np.clip(linear @ seen_by.T, 0, 1))
    return {(i, j): np.linalg.norm(held[i] - held[j]) for i in range(len(argb)) for j in range(i)}


def test_red_green_blind_readers_tell_the_parts_and_the_main_classes_apart():
    palette = Palette(Study(made()[0].trace()))
    main = ("communication", "attention", "matrix multiply", "elementwise", "copy")
    assert set(main) - {"copy"} <= set(CLASSES)
    for theme in (LIGHT, DARK):
        for seen_by in (np.eye(3), DEUTERANOPIA, PROTANOPIA):
            # About 0.02 is the least difference that is seen side by side.
            assert min(distances(theme.parts[:4], seen_by).values()) > 0.08
            assert min(distances([palette.class_colour(c, theme) for c in main], seen_by).values()) > 0.06


def test_a_colour_that_cannot_be_shown_loses_chroma_not_lightness():
    argb = oklch(0.7, 0.4, 150)
    assert argb >> 24 == 0xFF
    assert 0.3 < luminance(np.array([argb], np.uint32))[0] < 0.45
