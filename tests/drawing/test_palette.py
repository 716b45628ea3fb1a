import numpy as np
import pytest

from tests.analysis.make import TraceMaker
from viewer.analysis.core.classify import CLASSES
from viewer.analysis.study import Study
from viewer.drawing.colour import channels, luminance, oklch, to_oklch
from viewer.drawing.palette import DARK, LIGHT, Palette
from viewer.trace import Kind

# Simulation matrices on linear RGB, severity 1: Machado, Oliveira, Fernandes 2009.
SEEN_BY = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
THEMES = (LIGHT, DARK)


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
        assert group != "communication" or (argb == mid).all()
    red, green, blue = channels(np.array([palette.colour(trace.name("cudaStreamSynchronize"), LIGHT)]))[0]
    assert red > green + 0.2
    assert red > blue + 0.2


def test_ranges_take_their_colour_from_the_text_without_numbers_and_arguments():
    trace, _ = made()
    index = Palette(Study(trace.trace())).index
    assert index[trace.name("layer 1")] == index[trace.name("layer 2")]
    assert index[trace.name("aten::mm, op_id = 7")] == index[trace.name("aten::mm, op_id = 8")]


def test_users_colours_keep_their_hue_and_step_back():
    trace, _ = made()
    palette = Palette(Study(trace.trace()))
    at = palette.user_index(np.array([0xFF12AB34, 0x0012AB34, 0], np.uint32))
    assert at[0] == at[1]
    assert at[2] == 0
    _, _, wanted = to_oklch(0xFF12AB34)
    for theme in THEMES:
        _, chroma, hue = to_oklch(int(palette.argb(theme)[at[0]]))
        assert abs(hue - wanted) < 8
        assert 0.01 < chroma < 0.05


def test_the_state_lane_outweighs_the_ranges():
    """Compute, exposed and copies stand out from the ground by twice as much as any range, at least."""
    trace, _ = made()
    palette = Palette(Study(trace.trace()))
    ranges = [palette.index[trace.name(n)] for n in ("layer 1", "forward", "backward", "aten::mm, op_id = 7")]
    ranges.append(palette.user_index(np.array([0xFF12AB34], np.uint32))[0])
    for theme in THEMES:
        table = palette.argb(theme)
        loudest = max(contrast(int(table[position]), theme.background) for position in ranges)
        for part in (0, 2, 3):
            assert contrast(theme.parts[part], theme.background) > 1.8 * loudest


def test_the_table_begins_with_the_parts_and_holds_an_edge_for_each_colour():
    palette = Palette(Study(made()[0].trace()))
    for theme in (LIGHT, DARK):
        table = palette.argb(theme)
        assert table[:5].tolist() == list(theme.parts)
        assert len(table) == 2 * palette.size
        assert (table >> 24 == 0xFF).all()


def contrast(one, other):
    """The contrast of WCAG between two colours."""
    low, high = sorted(luminance(np.array([one, other], np.uint32)).tolist())
    return (high + 0.05) / (low + 0.05)


def test_text_on_every_colour_can_be_read():
    palette = Palette(Study(made()[0].trace()))
    for theme in THEMES:
        for ground, ink in zip(palette.argb(theme)[: palette.size], palette.ink(theme), strict=False):
            assert contrast(int(ground), int(ink)) >= 4.5


def test_text_of_the_frame_can_be_read():
    for theme in THEMES:
        grounds = (theme.background, theme.background_alternate, theme.panel, theme.control)
        inks = (theme.text, theme.text_soft, theme.text_faint, theme.warning, theme.error)
        assert min(contrast(ink, ground) for ink in inks for ground in grounds) >= 4.5
        assert contrast(theme.boundary_text, theme.accent_ground) >= 4.5
        assert contrast(theme.text, theme.accent_ground) >= 4.5
        for phase in theme.phases:
            assert contrast(theme.range_text, phase) >= 4.5


def test_marks_stand_out_from_their_ground():
    """What costs is 3:1 at least; hidden communication may be paler, with an edge that is not."""
    for theme in THEMES:
        compute, _, exposed, copy, idle = theme.parts
        for ground in (theme.background, theme.background_alternate, idle):
            for mark in (compute, exposed, copy, theme.hidden_edge):
                assert contrast(mark, ground) >= 3
        assert contrast(theme.accent, theme.panel) >= 3
        assert contrast(theme.selection_edge, theme.background) >= 3
        assert contrast(theme.event, theme.background) >= 3


def test_strength_says_cost_in_both_themes():
    """Exposed is stronger than copies or compute; hidden is the weakest, idle weaker still."""
    for theme in THEMES:
        compute, hidden, exposed, copy, idle = (contrast(part, theme.background) for part in theme.parts)
        chroma = [to_oklch(part)[1] for part in theme.parts]
        assert hidden < min(compute, exposed, copy)
        assert idle < hidden
        assert chroma[2] == max(chroma)
        assert theme is LIGHT or exposed > copy > compute > hidden


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


@pytest.mark.parametrize("seen_by", SEEN_BY)
def test_states_and_main_classes_are_told_apart_by_all_eyes(seen_by):
    palette = Palette(Study(made()[0].trace()))
    main = ("communication", "attention", "matrix multiply", "elementwise", "copy")
    assert set(main) - {"copy"} <= set(CLASSES)
    for theme in THEMES:
        # About 0.02 is the least difference that is seen side by side. Idle is told by its hatch too.
        states = [*theme.parts[:4], theme.background, theme.waiting]
        assert min(distances(states, SEEN_BY[seen_by]).values()) > 0.08
        classes = [palette.class_colour(c, theme) for c in main]
        assert min(distances(classes, SEEN_BY[seen_by]).values()) > 0.06


def test_a_colour_that_cannot_be_shown_loses_chroma_not_lightness():
    argb = oklch(0.7, 0.4, 150)
    assert argb >> 24 == 0xFF
    assert 0.3 < luminance(np.array([argb], np.uint32))[0] < 0.45
