import io
import re
from itertools import chain, combinations
from pathlib import Path

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from PIL import Image

from pacs.report import RunError, figures, read_runs
from pacs.report.groups import group_runs
from pacs.report.panels import PANELS, Curve, Panel
from pacs.report.style import COLOURS

NAMED = {panel.name: panel for panel in PANELS}


def groups_of(*folders, each=True):
    return group_runs(read_runs(folders), each=each)


def all_axes(name, groups):
    (panel,) = (panel for panel in figures.panels_of(groups) if panel.name == name)
    return figures.figure_of(panel, groups).axes


def axes_of(name, groups):
    (axes,) = all_axes(name, groups)
    return axes


def overview(groups):
    return figures.overview(groups, figures.panels_of(groups))


def lines_of(axes):
    """The data's lines, without marks of ours."""
    return [line for line in axes.get_lines() if line.get_gid() is None]


def resets_of(axes):
    """Step and top of each mark, by colour."""
    marks = [mark for mark in axes.collections if mark.get_gid() == "reset"]
    return {to_hex(mark.get_color()[0]).upper(): [tuple(end) for _, end in mark.get_segments()] for mark in marks}


def bands_of(axes):
    """Of each band the steps, and the lower and the upper edge."""
    found = []
    for area in axes.collections:
        if not isinstance(area, LineCollection):
            edges = {}
            for step, value in area.get_paths()[0].vertices:
                edges.setdefault(step, []).append(value)
            found.append({step: (min(values), max(values)) for step, values in sorted(edges.items())})
    return found


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def note_of(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def constant(value):
    return lambda step: value


def test_a_run_of_today_has_every_panel_with_its_data(make_run):
    groups = groups_of(make_run(steps=3))
    assert [panel.name for panel in figures.panels_of(groups)] == list(NAMED)
    axes = axes_of("scores", groups)
    right, wrong = lines_of(axes)
    assert list(right.get_xdata()) == [1, 2, 3]
    assert list(right.get_ydata()) == pytest.approx([0.6, 0.7, 0.8])
    assert list(wrong.get_ydata()) == pytest.approx([0.3, 0.1, -0.1])
    assert legend_of(axes) == ["right", "wrong"]
    pass_1, pass_8 = lines_of(axes_of("validation", groups))
    assert list(pass_1.get_xdata()) == list(pass_8.get_xdata()) == [0, 3]


def test_an_older_run_has_its_panels_and_what_stood_for_the_new_ones(make_run):
    groups = groups_of(make_run(old=True, validation=["val-core/arithmetic/reward/mean@8"]))
    panels = figures.panels_of(groups)
    assert [panel.name for panel in panels] == [name for name in NAMED if name != "calibration"]
    right, _ = lines_of(axes_of("scores", groups))
    assert list(right.get_ydata()) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert axes_of("scores", groups).get_ylabel() == "mean ψ, β × nats"
    assert unwrapped(axes_of("validation", groups)) == "Mean@8 on arithmetic went from 0.25 to 0.50"


def test_an_older_run_beside_one_of_today_is_drawn_with_what_both_have(make_run):
    groups = groups_of(make_run("old", old=True), make_run("new"), make_run("grpo", pacs=False))
    (axes,) = all_axes("scores", groups)
    assert len(lines_of(axes)) == 4
    assert axes.get_ylabel() == "mean ψ, β × nats"


def test_a_panel_without_data_is_left_out(make_run):
    groups = groups_of(make_run(pacs=False, validation=()))
    drawn = [panel.name for panel in figures.panels_of(groups)]
    assert drawn == ["pass_rate", "entropy", "response_length", "gradient_norm", "time"]


def test_bins_without_rows_are_no_calibration(make_run):
    none = {f"pacs/critic/bin_{k}/rows_count": constant(0) for k in range(10)}
    assert "calibration" not in [panel.name for panel in figures.panels_of(groups_of(make_run(more=none)))]


def test_a_panel_of_which_one_curve_has_data_is_drawn(make_run):
    axes = axes_of("critic", groups_of(make_run(pacs=False, more={"pacs/residual_mean": constant(0.5)})))
    assert len(lines_of(axes)) == 1
    assert legend_of(axes) == ["residual |σ(ψ) − R|"]


def test_nothing_to_draw_is_an_error(make_run):
    panel = Panel(
        name="n", quantity="q", unit="u", curves=(Curve("no/such/metric"),), finding=lambda groups: "", reading="r"
    )
    with pytest.raises(RunError, match="nothing to draw"):
        figures.panels_of(groups_of(make_run()), [panel])


def test_the_docs_tell_how_to_read_every_figure():
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(NAMED)


def test_every_axis_is_labelled_and_every_title_is_the_finding(make_run):
    groups = groups_of(make_run())
    panels = figures.panels_of(groups)
    for figure in [overview(groups), *(figures.figure_of(panel, groups) for panel in panels)]:
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    titles = [unwrapped(axes) for axes in overview(groups).axes]
    assert titles == [figures.title_of(panel, groups) for panel in panels if panel.in_overview]
    for panel in panels:
        (axes,) = figures.figure_of(panel, groups).axes
        assert unwrapped(axes) == figures.title_of(panel, groups)


def unwrapped(axes):
    return axes.get_title(loc="left").replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")


def test_resets_are_marked_over_every_axis_of_steps(make_run):
    groups = groups_of(make_run(resets=[2, 4]))
    figure = overview(groups)
    marked = [axes for axes in figure.axes if axes.get_xlabel() == "training step"]
    assert len(marked) == len(figure.axes) - 1  # the reliability diagram has another
    for axes in marked:
        assert resets_of(axes) == {"#666666": [(2, 1), (4, 1)]}
    assert "after this step the reference was reset to the policy" in note_of(figure)


def test_a_run_without_resets_has_no_mark_and_no_note_of_them(make_run):
    figure = overview(groups_of(make_run(more={"pacs/reference/reset_count": constant(0.0)})))
    assert [points for axes in figure.axes for points in resets_of(axes).values() if points] == []
    assert note_of(figure) == ["band of scores: the middle 80%"]


def test_resets_too_many_for_lines_become_ticks(make_run):
    few = axes_of("entropy", groups_of(make_run("few", steps=40, resets=range(1, 41))))
    many = axes_of("entropy", groups_of(make_run("many", steps=41, resets=range(1, 42))))
    assert {top for points in resets_of(few).values() for _, top in points} == {1.0}
    (marks,) = resets_of(many).values()
    assert len(marks) == 41
    assert max(top for _, top in marks) < 0.05


def test_of_several_runs_each_has_its_colour_and_each_curve_its_dash(make_run):
    groups = groups_of(make_run("one", resets=[3]), make_run("two", resets=[5]), make_run("grpo", pacs=False))
    axes = axes_of("pass_rate", groups)
    assert [to_hex(line.get_color()).upper() for line in lines_of(axes)] == list(COLOURS[:3])
    assert resets_of(axes) == {COLOURS[0]: [(3, 1)], COLOURS[1]: [(5, 1)]}
    curves = lines_of(axes_of("update", groups))[:6]
    assert [(to_hex(line.get_color()).upper(), line.get_linestyle()) for line in curves] == [
        (colour, dash) for colour in COLOURS[:2] for dash in ("-", "--", ":")
    ]
    assert note_of(overview(groups))[:3] == ["one", "two", "grpo"]


def test_a_ninth_run_is_not_drawn_like_the_second(make_run):
    groups = groups_of(*(make_run(f"r{index}", pacs=False, steps=50) for index in range(9)))
    lines = lines_of(axes_of("pass_rate", groups))
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 9


def test_curves_of_one_run_differ_in_more_than_colour(make_run):
    for steps in (6, 100):
        lines = lines_of(axes_of("critic", groups_of(make_run(f"of-{steps}", steps=steps))))
        assert len({line.get_marker() for line in lines}) == 3


def test_all_axes_of_steps_have_the_same_ones(make_run):
    figure = overview(groups_of(make_run("short", steps=3), make_run("long", steps=30)))
    limits = {axes.get_xlim() for axes in figure.axes if axes.get_xlabel() == "training step"}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low < 0
    assert 30 < high < 32


def seeds(make_run, name, values, **options):
    """Runs of one experiment, of a constant pass rate."""
    config = "name: {}\ndata: {{seed: {}}}\n"
    return [
        make_run(f"{name}-seed{i}", more={"critic/score/mean": constant(v)}, config=config.format(name, i), **options)
        for i, v in enumerate(values)
    ]


def test_seeds_are_drawn_as_mean_and_range(make_run):
    groups = groups_of(*seeds(make_run, "a", (0.2, 0.3, 0.7), steps=2), each=False)
    axes = axes_of("pass_rate", groups)
    (line,) = lines_of(axes)
    assert list(line.get_ydata()) == pytest.approx([0.4, 0.4])
    (band,) = bands_of(axes)
    assert band == {1: pytest.approx((0.2, 0.7)), 2: pytest.approx((0.2, 0.7))}
    assert "line: mean, band: lowest to highest of 3 runs" in note_of(overview(groups))


def test_groups_of_seeds_are_laid_over_each_other(make_run):
    folders = [*seeds(make_run, "a", (0.2, 0.4)), *seeds(make_run, "b", (0.6,))]
    groups = groups_of(*folders, each=False)
    axes = axes_of("pass_rate", groups)
    assert [line.get_ydata()[0] for line in lines_of(axes)] == pytest.approx([0.3, 0.6])
    assert len(bands_of(axes)) == 1  # a single run has no range
    assert note_of(overview(groups))[:2] == ["name=a (2 runs)", "name=b"]
    assert len(lines_of(axes_of("pass_rate", groups_of(*folders)))) == 3


def test_scores_have_a_band_from_the_10th_to_the_90th_percentile(make_run):
    groups = groups_of(make_run(steps=2))
    right, wrong = bands_of(axes_of("scores", groups))
    assert right == {1: pytest.approx((0.2, 1.0)), 2: pytest.approx((0.3, 1.1))}
    assert wrong == {1: pytest.approx((-0.1, 0.7)), 2: pytest.approx((-0.3, 0.5))}
    assert "band of scores: the middle 80%" in note_of(overview(groups))


def test_scores_of_several_runs_are_beside_each_other_on_one_scale(make_run):
    more = {f"pacs/score/correct_q{q}": constant(50.0) for q in (10, 50, 90)}
    groups = groups_of(make_run("a"), make_run("b", more=more), make_run("grpo", pacs=False))
    first, second = all_axes("scores", groups)
    assert [unwrapped(axes) for axes in (first, second)] == ["a", "b"]
    assert first.get_ylim() == second.get_ylim()
    assert len(bands_of(first)) == 2
    (shared,) = [axes for axes in overview(groups).axes if axes.get_ylabel().endswith("ψ, β × nats")]
    assert len(lines_of(shared)) == 4
    assert bands_of(shared) == []


def test_the_time_of_one_run_is_stacked_up_to_the_step(make_run):
    axes = axes_of("time", groups_of(make_run(steps=3)))
    assert legend_of(axes) == ["rollouts", "update", "other"]
    edges = [(0.0, 1.0), (1.0, 2.5), (2.5, 4.0)]
    assert [set(band.values()) for band in bands_of(axes)] == [{edge} for edge in edges]


def test_a_small_part_of_a_step_goes_into_the_rest(make_run):
    axes = axes_of("time", groups_of(make_run(more={"timing_s/update_weights": constant(0.01)})))
    assert legend_of(axes) == ["rollouts", "update", "other"]


def test_a_phase_has_the_same_colour_whichever_others_there_are(make_run):
    with_ref = make_run("with", more={"timing_s/ref": constant(0.5)})
    colours = []
    for folder in (with_ref, make_run("without")):
        axes = axes_of("time", groups_of(folder))
        areas = [area for area in axes.collections if not isinstance(area, LineCollection)]
        colours.append(dict(zip(legend_of(axes), [to_hex(a.get_facecolor()[0]) for a in areas], strict=True)))
    assert "ref log π" in colours[0]
    assert colours[1].items() <= colours[0].items()
    assert len(set(colours[0].values())) == len(colours[0])


def test_the_time_of_several_runs_is_the_total_at_a_glance_and_stacked_in_its_figure(make_run):
    groups = groups_of(make_run("a"), make_run("b"))
    (glance,) = [axes for axes in overview(groups).axes if axes.get_ylabel() == "seconds"]
    assert bands_of(glance) == []
    assert [set(line.get_ydata()) for line in lines_of(glance)] == [{4.0}, {4.0}]
    assert [legend_of(axes) for axes in all_axes("time", groups)] == [["rollouts", "update", "other"]] * 2


def test_one_phase_is_stacked_too(make_run):
    run = make_run(more={"timing_s/update_actor": constant(float("nan"))})
    assert legend_of(axes_of("time", groups_of(run))) == ["rollouts", "other"]


def test_without_phases_the_time_is_the_total(make_run):
    nothing = dict.fromkeys(["timing_s/gen", "timing_s/update_actor"], constant(float("nan")))
    axes = axes_of("time", groups_of(make_run(more=nothing)))
    assert [set(line.get_ydata()) for line in lines_of(axes)] == [{4.0}]


def test_without_a_total_there_is_no_time(make_run):
    run = make_run(more={"timing_s/step": constant(float("nan"))})
    assert "time" not in [panel.name for panel in figures.panels_of(groups_of(run))]


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_a_slow_first_step_is_cut_off_and_named(make_run, names):
    more = {"timing_s/step": lambda step: 90.0 if step == 1 else 4.0}
    figure = overview(groups_of(*(make_run(name, steps=100, more=more) for name in names)))
    (axes,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("seconds")]
    assert 4.0 < axes.get_ylim()[1] < 10.0
    assert axes.get_ylabel() == "seconds (cut off: up to 90)"


def test_verdicts_are_stacked_up_to_1_without_those_that_never_occur(make_run):
    axes = axes_of("verifier", groups_of(make_run(steps=1)))
    assert legend_of(axes) == ["correct", "wrong", "no answer"]
    edges = [band[0.5] for band in bands_of(axes)]
    assert edges == [pytest.approx(edge) for edge in ((0.0, 0.35), (0.35, 0.9), (0.9, 1.0))]
    assert axes.get_ylim() == (0, 1)


def test_the_area_of_a_single_step_can_be_seen(make_run):
    (correct, *_) = bands_of(axes_of("verifier", groups_of(make_run(steps=1))))
    assert list(correct) == [0.5, 1.5]


def test_where_only_one_of_several_runs_has_the_data_it_is_named(make_run):
    groups = groups_of(make_run("grpo", pacs=False), make_run("pacs"))
    (panel,) = (panel for panel in figures.panels_of(groups) if panel.name == "verifier")
    figure = figures.figure_of(panel, groups)
    assert [unwrapped(axes) for axes in figure.axes] == ["pacs"]
    assert figure.get_suptitle() == figures.title_of(panel, groups)


@pytest.mark.parametrize(("factor", "scale"), [(1.5, "linear"), (3.0, "log")])
def test_the_gradient_norm_is_logarithmic_only_where_it_spans_decades(make_run, factor, scale):
    run = make_run(more={"actor/grad_norm": lambda step: factor**step})
    assert axes_of("gradient_norm", groups_of(run)).get_yscale() == scale


def test_a_gradient_norm_of_zero_keeps_the_axis_linear(make_run):
    run = make_run(more={"actor/grad_norm": lambda step: 1000.0 * (step - 1)})
    assert axes_of("gradient_norm", groups_of(run)).get_yscale() == "linear"


def test_shares_stay_on_the_axis_from_0_to_1(make_run):
    run = make_run(more={"critic/score/mean": lambda step: float(step > 3)})
    low, high = axes_of("pass_rate", groups_of(run)).get_ylim()
    assert -0.05 < low <= 0
    assert 1 <= high < 1.05


def layouts(make_run):
    sources = [f"pacs/validation/{name}/pass@{k}" for name in ("aime24", "math500", "org/gsm8k") for k in (1, 2, 64)]
    timings = ("old_log_prob", "ref", "update_weights", "values", "update_critic")
    more = {f"timing_s/{name}": constant(0.2) for name in timings}
    yield groups_of(make_run("all", validation=sources, more=more, resets=[3]))
    names = ("a" * 60, "second", "grpo")
    yield groups_of(*(make_run(name, validation=sources, pacs=name != "grpo", resets=[2]) for name in names))
    yield groups_of(*seeds(make_run, "x", (0.1, 0.9)), *seeds(make_run, "y" * 30, (0.1, 0.9)), each=False)


@pytest.mark.slow
def test_no_title_or_legend_reaches_into_another_axes_or_out_of_the_figure(make_run):
    for groups in layouts(make_run):
        panels = figures.panels_of(groups)
        for figure in [figures.overview(groups, panels), *(figures.figure_of(panel, groups) for panel in panels)]:
            assert_nothing_overlaps(figure)


def assert_nothing_overlaps(figure):
    figure.set_dpi(50)  # quicker
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # lays it out
    boxes = []
    for axes in figure.axes:
        parts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, axes.patch]
        parts += [axes.get_legend()] if axes.get_legend() else []
        boxes.append([part.get_window_extent(canvas.get_renderer()) for part in parts])
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
    assert unwrapped(pair.axes[0]) == f"Right answers in training at step 6: 0.90 for {name}, 0.60 for other"


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
