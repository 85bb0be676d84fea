import re
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from pacs.base.errors import UserError
from pacs.report import figures
from pacs.report.panels import Curve, Panel
from pacs.report.style import COLOURS
from tests.report.drawn import (
    NAMED,
    NOT_ALWAYS,
    OF_SOME,
    all_axes,
    axes_of,
    bands_of,
    constant,
    groups_of,
    legend_of,
    lines_of,
    note_of,
    overview,
    resets_of,
    seeds,
    unwrapped,
)


def test_a_run_of_today_has_every_panel_with_its_data(make_run):
    groups = groups_of(make_run(steps=3, more=OF_SOME))
    assert [panel.name for panel in figures.panels_of(groups)] == list(NAMED)
    axes = axes_of("scores", groups)
    right, wrong = lines_of(axes)
    assert list(right.get_xdata()) == [1, 2, 3]
    assert list(right.get_ydata()) == pytest.approx([0.6, 0.7, 0.8])
    assert list(wrong.get_ydata()) == pytest.approx([0.3, 0.1, -0.1])
    assert legend_of(axes) == ["right", "wrong"]
    pass_1, pass_8 = lines_of(axes_of("validation", groups))
    assert list(pass_1.get_xdata()) == list(pass_8.get_xdata()) == [0, 3]


def test_the_age_of_responses_is_drawn_beside_the_versions_that_wrote_them(make_run):
    axes = axes_of("staleness", groups_of(make_run(steps=3, more=OF_SOME)))
    assert legend_of(axes) == ["mean age", "largest age", "versions, mean"]
    assert [list(line.get_ydata()) for line in lines_of(axes)] == [[0.5] * 3, [1.0] * 3, [1.25] * 3]
    assert axes.get_ylabel() == "steps, or versions"


def test_a_panel_without_data_is_left_out(make_run):
    groups = groups_of(make_run(pacs=False, validation=()))
    drawn = [panel.name for panel in figures.panels_of(groups)]
    assert drawn == ["pass_rate", "entropy", "response_length", "gradient_norm", "time"]


def test_a_panel_of_which_one_curve_has_data_is_drawn(make_run):
    axes = axes_of("critic", groups_of(make_run(pacs=False, more={"pacs/critic/residual_mean": constant(0.5)})))
    assert len(lines_of(axes)) == 1
    assert legend_of(axes) == ["residual |σ(ψ) − R|"]


def test_nothing_to_draw_is_an_error(make_run):
    panel = Panel(
        name="n", quantity="q", unit="u", curves=(Curve("no/such/metric"),), finding=lambda groups: "", reading="r"
    )
    with pytest.raises(UserError, match="nothing to draw"):
        figures.panels_of(groups_of(make_run()), [panel])


def test_the_docs_name_every_figure():
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^Figures: (.+?)\n\n", page, re.MULTILINE | re.DOTALL)
    assert re.findall(r"`(\w+)`", listed) == list(NAMED)


def test_every_axis_is_labelled_and_every_title_is_the_finding(make_run):
    groups = groups_of(make_run())
    panels = figures.panels_of(groups)
    for figure in [overview(groups), *(figures.figure_of(panel, groups) for panel in panels)]:
        assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    titles = [unwrapped(axes) for axes in overview(groups).axes]
    assert titles == [figures.title_of(panel, groups) for panel in panels]
    for panel in panels:
        (axes,) = figures.figure_of(panel, groups).axes
        assert unwrapped(axes) == figures.title_of(panel, groups)


def test_resets_are_marked_over_every_axis_of_steps(make_run):
    groups = groups_of(make_run(resets=[2, 4]))
    figure = overview(groups)
    marked = [axes for axes in figure.axes if axes.get_xlabel() == "training step"]
    assert len(marked) == len(figure.axes)
    for axes in marked:
        assert resets_of(axes) == {"#666666": [(2, 1), (4, 1)]}
    assert "after this step the reference was reset to the policy" in note_of(figure)


def test_a_run_without_resets_has_no_mark_and_no_note_of_them(make_run):
    figure = overview(groups_of(make_run(more={"pacs/reference/reset_count": constant(0.0)})))
    assert [points for axes in figure.axes for points in resets_of(axes).values() if points] == []
    assert note_of(figure) == ["band of scores: the middle 80%"]


def drawn_at_a_glance(*folders):
    groups = groups_of(*folders)
    names = {figures.title_of(panel, groups): panel.name for panel in figures.panels_of(groups)}
    return [names[unwrapped(axes)] for axes in overview(groups).axes]


def test_what_is_about_the_reference_is_left_out_where_that_is_the_policy_that_sampled(make_run):
    kept = make_run("kept", resets=[3])
    always = make_run("always", resets=range(1, 7))
    before = drawn_at_a_glance(kept)
    assert set(before) == NAMED.keys() - NOT_ALWAYS
    about_it = {"scores", "critic", "log_ratio"}
    assert drawn_at_a_glance(always) == [name for name in before if name not in about_it]
    # Beside a run that has a reference it is shown; beside one that has none it still says nothing.
    assert about_it < set(drawn_at_a_glance(kept, always))
    assert not about_it & set(drawn_at_a_glance(always, make_run("grpo", pacs=False)))
    drawn = [panel.name for panel in figures.panels_of(groups_of(always))]
    assert drawn == [name for name in NAMED if name not in NOT_ALWAYS]


def test_a_reset_in_every_step_is_no_event(make_run):
    figure = overview(groups_of(make_run(steps=6, resets=range(1, 7))))
    assert [points for axes in figure.axes for points in resets_of(axes).values() if points] == []


def test_resets_too_many_for_lines_become_ticks(make_run):
    few = axes_of("entropy", groups_of(make_run("few", steps=41, resets=range(1, 41))))
    many = axes_of("entropy", groups_of(make_run("many", steps=42, resets=range(1, 42))))
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


def test_seeds_are_drawn_as_mean_and_range(make_run):
    groups = groups_of(*seeds(make_run, "a", (0.2, 0.3, 0.7), steps=2), each=False)
    axes = axes_of("pass_rate", groups)
    (line,) = lines_of(axes)
    assert list(line.get_ydata()) == pytest.approx([0.4, 0.4])
    (band,) = bands_of(axes)
    assert band == {1: pytest.approx((0.2, 0.7)), 2: pytest.approx((0.2, 0.7))}
    note = note_of(overview(groups))
    assert "line: mean, band: lowest to highest of 3 runs" in note
    assert "lines end with the shortest run" not in note


def test_a_seed_that_is_shorter_cuts_the_lines_which_is_said(make_run):
    longer = seeds(make_run, "a", (0.2, 0.3), steps=4)
    shorter = make_run("a-seed2", steps=2, config="name: a\ndata: {seed: 2}\n")
    groups = groups_of(*longer, shorter, each=False)
    assert [len(group.runs) for group in groups] == [3]
    (line,) = lines_of(axes_of("pass_rate", groups))
    assert list(line.get_xdata()) == [1, 2]
    assert "lines end with the shortest run" in note_of(overview(groups))


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
    assert figure.get_suptitle().replace("\N{NO-BREAK SPACE}", " ") == figures.title_of(panel, groups)


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


@pytest.mark.parametrize("key", ["pacs/rows/graded_count", "pacs/validation/gsm8k/graded_count"])
def test_graded_scores_are_not_told_as_right_answers(make_run, key):
    """Scores from -1 to 2, say: they stay on the axis, too."""
    more = {key: lambda step: 3.0, "critic/score/mean": lambda step: step / 3 - 1}
    folder = make_run(validation=["val-core/gsm8k/acc/mean@4"], more=more)
    panels = {panel.name: panel for panel in figures.panels_of(groups_of(folder))}
    assert [panels[name].quantity for name in ("pass_rate", "validation")] == [
        "Mean score in training", "Scores on held-out problems"
    ]  # fmt: skip
    assert figures.title_of(panels["pass_rate"], groups_of(folder)) == "Mean score in training: −0.5 → 0.833"
    assert figures.title_of(panels["validation"], groups_of(folder)) == "Mean@4 on gsm8k: 0.25 → 0.50"
    assert axes_of("pass_rate", groups_of(folder)).get_ylim()[0] < -0.6
    assert "right" not in panels["pass_rate"].reading.replace("no share of right answers", "")
    never = make_run("never", more={key: lambda step: 0.0})
    assert figures.panels_of(groups_of(never))[0].quantity == "Right answers in training"
