import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from pacs.report import figures
from tests.report.drawn import all_axes, axes_of, bands_of, constant, groups_of, legend_of, lines_of, overview


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
    assert axes.get_ylabel().replace("\n", " ") == "seconds (cut off: up to 90)"
