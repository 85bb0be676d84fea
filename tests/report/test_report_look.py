"""What the eye meets: nothing overlaps, names and colours are as they should be."""

import dataclasses
import io
from itertools import chain, combinations

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from pacs.report import figures
from pacs.report.style import COLOURS
from tests.report.drawn import (
    NAMED,
    axes_of,
    constant,
    groups_of,
    lines_of,
    note_of,
    overview,
    seeds,
    unwrapped,
)


def layouts(make_run):
    sources = [f"pacs/validation/{name}/pass@{k}" for name in ("aime24", "math500", "org/gsm8k") for k in (1, 2, 64)]
    timings = ("old_log_prob", "ref", "update_weights", "values", "update_critic")
    more = {f"timing_s/{name}": constant(0.2) for name in timings}
    yield groups_of(make_run("all", validation=sources, more=more, resets=[3]))
    names = ("a" * 60, "second", "grpo")
    yield groups_of(*(make_run(name, validation=sources, pacs=name != "grpo", resets=[2]) for name in names))
    yield groups_of(*seeds(make_run, "x", (0.1, 0.9)), *seeds(make_run, "y" * 30, (0.1, 0.9)), each=False)
    # The reference that sampled; as PPO logs, with a first step so long that it is cut off, which the axis says.
    yield groups_of(make_run("always", steps=40, resets=range(1, 41)))
    slow = {"timing_s/step": lambda step: 4000.0 if step == 1 else 4.0, "timing_s/update_critic": constant(0.5)}
    yield groups_of(make_run("ppo", pacs=False, steps=30, more=slow))
    graded = {"pacs/rows/graded_count": constant(1.0), "critic/score/mean": lambda step: -12345.6 * step}
    yield groups_of(make_run("graded", validation=[f"val-core/{'x' * 40}/acc/mean@4"], more=graded))


def test_nothing_reaches_into_another_panel_of_the_overview(make_run):
    for groups in layouts(make_run):
        assert_nothing_overlaps(figures.overview(groups, figures.panels_of(groups)))


@pytest.mark.slow
@pytest.mark.long
def test_nothing_reaches_into_another_panel_of_a_figure(make_run):
    for groups in layouts(make_run):
        for panel in figures.panels_of(groups):
            assert_nothing_overlaps(figures.figure_of(panel, groups))


def test_a_label_too_long_for_its_axes_is_in_several_lines(make_run):
    groups = groups_of(make_run())
    long = dataclasses.replace(
        NAMED["entropy"], unit="share of the responses of mixed groups that are right, by verdict"
    )
    assert_nothing_overlaps(figures.overview(groups, [long, *figures.panels_of(groups)]))


def assert_nothing_overlaps(figure):
    """Neither texts nor axes of one panel with those of another, and each label stays beside its own axes."""
    figure.set_dpi(50)  # quicker
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # lays it out
    boxes = []
    for axes in figure.axes:
        label, own = axes.yaxis.label.get_window_extent(), axes.get_window_extent()
        assert label.height <= own.height, axes.get_ylabel()
        # Of all texts, those of the ticks among them, and of the legend; marks at the edge of the axes reach over it.
        boxes.append([axes.get_tightbbox(canvas.get_renderer())])
    shared = [legend.get_window_extent() for legend in figure.legends]
    shared += [figure._suptitle.get_window_extent()] if figure.get_suptitle() else []
    for box in [*chain(*boxes), *shared]:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    for first, second in combinations([*boxes, shared], 2):
        assert not [(a, b) for a in first for b in second if a.overlaps(b) and a.width and b.width]


@pytest.mark.parametrize("name", ["$x_$", r"$\frac{$", "_hidden", "<b>", "%s"])
def test_a_name_is_shown_as_it_is(make_run, name):
    single = overview(groups_of(make_run(name)))
    assert single.get_suptitle() == name
    assert not single._suptitle.get_parse_math()
    more = {"critic/score/mean": constant(0.9)}
    pair = figures.figure_of(NAMED["pass_rate"], groups_of(make_run(f"again/{name}", more=more), make_run("other")))
    figures.render_png(pair)
    assert note_of(pair) == [name, "other"]
    assert (
        unwrapped(pair.axes[0])
        == f"Right answers in training, last third up to step 6: 0.90 for {name}, 0.58 for other"
    )


def test_the_png_is_a_picture_and_the_same_each_time(make_run):
    folder = make_run()
    first, second = (figures.render_png(figures.figure_of(NAMED["scores"], groups_of(folder))) for _ in range(2))
    assert first == second
    assert Image.open(io.BytesIO(first)).size == (1300, 680)


def test_the_palette_keeps_the_colours(make_run):
    """Every colour of the palette that a curve has is there, to within what the eye cannot tell."""
    groups = groups_of(
        *(make_run(f"r{index}", more={"critic/score/mean": constant(0.1 * index)}) for index in range(7))
    )
    picture = Image.open(io.BytesIO(figures.render_png(figures.figure_of(NAMED["pass_rate"], groups)))).convert("RGB")
    seen = [colour for _, colour in picture.getcolors(1 << 24)]
    for colour in COLOURS:
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert min(max(abs(a - b) for a, b in zip(wanted, other, strict=True)) for other in seen) <= 4, colour


def test_a_run_of_one_step_can_be_seen(make_run):
    (line,) = lines_of(axes_of("pass_rate", groups_of(make_run(steps=1))))
    assert line.get_marker() == "o"


def test_the_users_matplotlib_settings_neither_matter_nor_change(make_run):
    groups = groups_of(make_run())
    plain = figures.render_png(figures.figure_of(NAMED["scores"], groups))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
        assert figures.render_png(figures.figure_of(NAMED["scores"], groups)) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_a_long_title_is_in_several_lines(make_run):
    axes = axes_of("pass_rate", groups_of(make_run("a" * 60), make_run("b" * 60)))
    assert axes.get_title(loc="left").count("\n") >= 1
