import io
from itertools import chain, combinations

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from PIL import Image

from pacs.report import RunError, plots, read_run, read_runs
from pacs.report.plots import Curve, Panel


def axes_of(figure, title):
    found = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    assert len(found) == 1, plots.panel_titles(figure)
    return found[0]


def lines_of(axes):
    """The data's lines, without marks of ours."""
    return [line for line in axes.get_lines() if line.get_gid() is None]


def resets_of(axes):
    return [line for line in axes.get_lines() if line.get_gid() == "reset"]


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


TITLES = [panel.title for panel in plots.PANELS]
PACS_TITLES = [
    "Score ψ by verdict",
    "Implicit critic: ψ against R",
    "Distance from the reference",
    "What the update has to work with",
    "Gap between vLLM and trainer",
]


def test_a_pacs_run_has_every_panel_with_its_data(make_run):
    figure = plots.overview([read_run(make_run(steps=3))])
    assert plots.panel_titles(figure) == TITLES
    right, wrong = lines_of(axes_of(figure, "Score ψ by verdict"))
    assert list(right.get_xdata()) == [1, 2, 3]
    assert list(right.get_ydata()) == pytest.approx([0.1, 0.2, 0.3])
    assert list(wrong.get_ydata()) == pytest.approx([-0.2, -0.4, -0.6])
    assert legend_of(axes_of(figure, "Score ψ by verdict")) == ["right", "wrong"]
    (validation,) = lines_of(axes_of(figure, "Right answers on held-out problems"))
    assert list(validation.get_xdata()) == [0, 3]


def test_a_panel_without_data_is_left_out(make_run):
    figure = plots.overview([read_run(make_run(pacs=False, validation=()))])
    absent = [*PACS_TITLES, "Right answers on held-out problems"]
    assert plots.panel_titles(figure) == [title for title in TITLES if title not in absent]


def test_a_panel_of_which_one_curve_has_data_is_drawn(make_run):
    figure = plots.overview([read_run(make_run(pacs=False, more={"pacs/residual_mean": lambda step: 0.5}))])
    axes = axes_of(figure, "Implicit critic: ψ against R")
    assert len(lines_of(axes)) == 1
    assert legend_of(axes) == ["residual |σ(ψ) − R|"]


def test_nothing_to_draw_is_an_error(make_run):
    run = read_run(make_run())
    with pytest.raises(RunError, match="nothing to draw"):
        plots.overview([run], [Panel("t", "u", (Curve("no/such/metric", "x"),))])


def test_every_axis_is_labelled(make_run):
    for axes in plots.overview([read_run(make_run())]).axes:
        assert axes.get_xlabel() == "training step"
        assert axes.get_ylabel()


def test_resets_are_marked_in_every_panel_at_their_steps(make_run):
    figure = plots.overview([read_run(make_run(resets=[2, 4]))])
    for axes in figure.axes:
        assert [line.get_xdata()[0] for line in resets_of(axes)] == [2, 4]
    assert "reset" in figure.legends[0].get_texts()[-1].get_text()


def test_a_run_without_resets_has_no_mark_and_no_legend_of_them(make_run):
    figure = plots.overview([read_run(make_run(more={"pacs/reference/reset_count": lambda step: 0.0}))])
    assert [resets_of(axes) for axes in figure.axes] == [[]] * len(figure.axes)
    assert figure.legends == []


def test_resets_too_many_for_lines_become_ticks(make_run):
    few = plots.overview([read_run(make_run("few", steps=40, resets=range(1, 41)))])
    many = plots.overview([read_run(make_run("many", steps=41, resets=range(1, 42)))])
    assert {line.get_ydata()[1] for line in resets_of(few.axes[0])} == {1.0}
    assert len(resets_of(many.axes[0])) == 41
    assert max(line.get_ydata()[1] for line in resets_of(many.axes[0])) < 0.05


def test_of_several_runs_each_has_its_colour_and_each_curve_its_dash(make_run):
    runs = read_runs([make_run("one", resets=[3]), make_run("two", resets=[5]), make_run("grpo", pacs=False)])
    figure = plots.overview(runs)
    assert [to_hex(line.get_color()).upper() for line in lines_of(figure.axes[0])] == list(plots.COLOURS[:3])
    scores = lines_of(axes_of(figure, "Score ψ by verdict"))
    assert [(to_hex(line.get_color()).upper(), line.get_linestyle()) for line in scores] == [
        (plots.COLOURS[0], "-"),
        (plots.COLOURS[0], "--"),
        (plots.COLOURS[1], "-"),
        (plots.COLOURS[1], "--"),
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()][:3] == ["one", "two", "grpo"]
    marks = [(line.get_xdata()[0], to_hex(line.get_color()).upper()) for line in resets_of(figure.axes[0])]
    assert marks == [(3, plots.COLOURS[0]), (5, plots.COLOURS[1])]


def test_a_ninth_run_is_not_drawn_like_the_second(make_run):
    runs = read_runs([make_run(f"r{index}", pacs=False, steps=50) for index in range(9)])
    lines = lines_of(plots.overview(runs, plots.PANELS[:1]).axes[0])
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 9


def test_all_panels_have_the_same_steps_on_their_axis(make_run):
    figure = plots.overview(read_runs([make_run("short", steps=3), make_run("long", steps=30)]))
    limits = {axes.get_xlim() for axes in figure.axes}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low < 0
    assert 30 < high < 32


def test_the_time_of_one_run_is_stacked_up_to_the_step(make_run):
    run = read_run(make_run(steps=3))
    axes = axes_of(plots.overview([run]), "Time of a training step")
    assert legend_of(axes) == ["rollouts", "update", "other"]
    tops = [max(area.get_paths()[0].vertices[:, 1]) for area in axes.collections]
    assert tops == pytest.approx([1.0, 2.5, 4.0])


def test_a_phase_has_the_same_colour_whichever_others_there_are(make_run):
    with_ref = read_run(make_run("with", more={"timing_s/ref": lambda step: 0.5}))
    without = read_run(make_run("without"))
    colours = []
    for run in (with_ref, without):
        axes = axes_of(plots.overview([run]), "Time of a training step")
        colours.append(
            dict(zip(legend_of(axes), [to_hex(a.get_facecolor()[0]) for a in axes.collections], strict=True))
        )
    assert "ref log π" in colours[0]
    assert colours[1].items() <= colours[0].items()
    assert len(set(colours[0].values())) == len(colours[0])


def test_the_time_of_several_runs_is_the_total(make_run):
    axes = axes_of(plots.overview(read_runs([make_run("a"), make_run("b")])), "Time of a training step")
    assert not axes.collections
    assert [set(line.get_ydata()) for line in lines_of(axes)] == [{4.0}, {4.0}]


def test_one_phase_is_stacked_too(make_run):
    run = read_run(make_run(more={"timing_s/update_actor": lambda step: float("nan")}))
    axes = axes_of(plots.overview([run]), "Time of a training step")
    assert legend_of(axes) == ["rollouts", "other"]


def test_without_phases_the_time_is_the_total(make_run):
    nothing = dict.fromkeys(["timing_s/gen", "timing_s/update_actor"], lambda step: float("nan"))
    axes = axes_of(plots.overview([read_run(make_run(more=nothing))]), "Time of a training step")
    assert [set(line.get_ydata()) for line in lines_of(axes)] == [{4.0}]


def test_without_a_total_there_is_no_time(make_run):
    run = read_run(make_run(more={"timing_s/step": lambda step: float("nan")}))
    assert "Time of a training step" not in plots.panel_titles(plots.overview([run]))


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_a_slow_first_step_is_cut_off_and_named(make_run, names):
    more = {"timing_s/step": lambda step: 90.0 if step == 1 else 4.0}
    runs = read_runs([make_run(name, steps=100, more=more) for name in names])
    axes = axes_of(plots.overview(runs), "Time of a training step")
    assert 4.0 < axes.get_ylim()[1] < 10.0
    assert axes.get_ylabel() == "seconds (cut off: up to 90)"


@pytest.mark.parametrize(("factor", "scale"), [(1.5, "linear"), (3.0, "log")])
def test_the_gradient_norm_is_logarithmic_only_where_it_spans_decades(make_run, factor, scale):
    run = read_run(make_run(more={"actor/grad_norm": lambda step: factor**step}))
    assert axes_of(plots.overview([run]), "Gradient norm before clipping").get_yscale() == scale


def test_a_gradient_norm_of_zero_keeps_the_axis_linear(make_run):
    run = read_run(make_run(more={"actor/grad_norm": lambda step: 1000.0 * (step - 1)}))
    assert axes_of(plots.overview([run]), "Gradient norm before clipping").get_yscale() == "linear"


def test_shares_stay_on_the_axis_from_0_to_1(make_run):
    run = read_run(make_run(more={"critic/score/mean": lambda step: float(step > 3)}))
    low, high = axes_of(plots.overview([run]), "Right answers in training").get_ylim()
    assert -0.05 < low <= 0
    assert 1 <= high < 1.05


def test_validation_curves_are_named_after_their_source(make_run):
    keys = ["val-core/math500/acc/mean@1", "val-core/openai/gsm8k/reward/mean@4"]
    axes = axes_of(plots.overview([read_run(make_run(validation=keys))]), "Right answers on held-out problems")
    assert legend_of(axes) == ["math500 mean@1", "openai/gsm8k mean@4"]


def test_validation_curves_of_one_source_are_told_apart_by_their_key(make_run):
    keys = ["val-core/math/acc/mean@1", "val-core/math/reward/mean@1"]
    axes = axes_of(plots.overview([read_run(make_run(validation=keys))]), "Right answers on held-out problems")
    assert legend_of(axes) == keys


def test_a_validation_curve_has_one_name_in_all_runs(make_run):
    keys = ["val-core/math/acc/mean@1", "val-core/math/reward/mean@1"]
    runs = read_runs([make_run("one", validation=keys[1:]), make_run("both", validation=keys)])
    axes = axes_of(plots.overview(runs), "Right answers on held-out problems")
    assert set(legend_of(axes)) == set(keys)
    first, second, third = lines_of(axes)
    assert first.get_color() != second.get_color() == third.get_color()
    assert second.get_linestyle() != third.get_linestyle() == first.get_linestyle()


def layouts(make_run):
    sources = [f"val-core/{name}/acc/mean@{k}" for name, k in [("aime24", 64), ("math500", 1), ("org/gsm8k", 1)]]
    timings = ("old_log_prob", "ref", "update_weights", "values", "update_critic")
    more = {f"timing_s/{name}": lambda step: 0.2 for name in timings}
    yield [read_run(make_run("all", validation=sources, more=more, resets=[3]))]
    yield read_runs([make_run("a" * 60), make_run("second", resets=[2]), make_run("grpo", pacs=False)])


def test_no_title_or_legend_reaches_into_another_panel_or_out_of_the_figure(make_run):
    for runs in layouts(make_run):
        figure = plots.overview(runs)
        figure.canvas.draw()  # lays it out
        boxes = []
        for axes in figure.axes:
            renderer = figure.canvas.get_renderer()
            parts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, axes.patch]
            parts += [axes.get_legend()] if axes.get_legend() else []
            boxes.append([part.get_window_extent(renderer) for part in parts])
        for box in [*chain(*boxes), *(legend.get_window_extent() for legend in figure.legends)]:
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1
        for first, second in combinations(boxes, 2):
            assert not [(a, b) for a in first for b in second if a.overlaps(b) and a.width and b.width]


@pytest.mark.parametrize("name", ["$x_$", r"$\frac{$", "_hidden", "<b>", "%s"])
def test_a_name_is_shown_as_it_is(make_run, name):
    single = plots.overview([read_run(make_run(name))])
    assert single.get_suptitle() == name
    assert not single._suptitle.get_parse_math()
    pair = plots.overview(read_runs([make_run(f"again/{name}"), make_run("other")]))
    plots.render_png(pair)
    assert [text.get_text() for text in pair.legends[0].get_texts()] == [name, "other"]


def test_the_png_is_a_picture_and_the_same_each_time(make_run):
    folder = make_run()
    first, second = (plots.render_png(plots.overview([read_run(folder)])) for _ in range(2))
    assert first == second
    width, height = Image.open(io.BytesIO(first)).size
    assert width > 1500
    assert height > 1000


def test_a_run_of_one_step_can_be_seen(make_run):
    figure = plots.overview([read_run(make_run(steps=1))])
    (line,) = lines_of(figure.axes[0])
    assert line.get_marker() == "o"


def test_the_users_matplotlib_settings_neither_matter_nor_change(make_run):
    run = read_run(make_run())
    plain = plots.render_png(plots.overview([run]))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.linewidth": 9}):
        assert plots.render_png(plots.overview([run])) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_the_figure_needs_no_display(make_run):
    assert isinstance(plots.overview([read_run(make_run())]).canvas, FigureCanvasAgg)
