import pytest
from matplotlib.collections import PathCollection

from pacs.report import read_runs
from pacs.report.calibration import calibration_error, pooled, thirds
from pacs.report.figures import figure_of
from pacs.report.groups import group_runs
from pacs.report.panels import PANELS

(PANEL,) = (panel for panel in PANELS if panel.name == "calibration")


def groups_of(*folders, each=True):
    return group_runs(read_runs(folders), each=each)


def test_bins_are_pooled_over_steps_and_runs_by_their_rows(make_run):
    """10 rows at step 1, all right, and 30 at step 2, a third right; in the other run 60, none right."""
    one = {
        "pacs/critic/bin_5/rows_count": lambda step: 10.0 if step == 1 else 30.0,
        "pacs/critic/bin_5/probability_mean": lambda step: 0.5 if step == 1 else 0.58,
        "pacs/critic/bin_5/correct_fraction": lambda step: 1.0 if step == 1 else 1 / 3,
        "pacs/critic/bin_9/rows_count": lambda step: 0.0,
    }
    two = one | {
        "pacs/critic/bin_5/rows_count": lambda step: 60.0 if step == 1 else 0.0,
        "pacs/critic/bin_5/correct_fraction": lambda step: 0.0,
    }
    runs = read_runs([make_run("one", steps=2, more=one), make_run("two", steps=2, more=two)])
    (alone,) = pooled(runs[:1], 1, 2)
    assert alone == (pytest.approx(0.56), pytest.approx(0.5), 40)
    (both,) = pooled(runs, 1, 2)
    assert both == (pytest.approx((10 * 0.5 + 30 * 0.58 + 60 * 0.5) / 100), pytest.approx(0.2), 100)
    assert pooled(runs, 3, 4) == []


def test_the_error_weighs_bins_by_their_rows(make_run):
    """80 rows that are 0.05 off, and 20."""
    bins = pooled(read_runs([make_run()]), 1, 6)
    assert bins == [
        (pytest.approx(0.55), pytest.approx(0.5), 480),
        (pytest.approx(0.95), pytest.approx(1.0), 120),
    ]
    assert calibration_error(bins) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("steps", "spans"), [(1, [(1, 1)]), (2, [(1, 1), (2, 2)]), (6, [(1, 2), (5, 6)]), (7, [(1, 3), (5, 7)])]
)
def test_the_first_and_the_last_third(make_run, steps, spans):
    (group,) = groups_of(make_run(steps=steps))
    assert thirds(group) == spans


def test_a_run_without_bins_has_no_thirds(make_run):
    (group,) = groups_of(make_run(pacs=False))
    assert thirds(group) == []


def points_of(axes):
    return [
        [tuple(point) for point in points.get_offsets()]
        for points in axes.collections
        if isinstance(points, PathCollection)
    ]


def test_one_run_is_drawn_in_its_first_and_its_last_third(make_run):
    more = {"pacs/critic/bin_5/correct_fraction": lambda step: 0.25 if step <= 2 else 0.75}
    (axes,) = figure_of(PANEL, groups_of(make_run(more=more))).axes
    assert points_of(axes) == [
        [pytest.approx((0.55, 0.25)), pytest.approx((0.95, 1.0))],
        [pytest.approx((0.55, 0.75)), pytest.approx((0.95, 1.0))],
    ]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["calibrated", "steps 1 to 2", "steps 5 to 6"]
    small, large = sorted(axes.collections[0].get_sizes())
    assert large == 4 * small  # areas are as the rows: 80 to 20


def test_several_runs_are_drawn_in_their_last_third(make_run):
    more = {"pacs/critic/bin_5/correct_fraction": lambda step: 0.25 if step <= 2 else 0.75}
    groups = groups_of(make_run("a", more=more), make_run("b"), make_run("grpo", pacs=False))
    (axes,) = figure_of(PANEL, groups).axes
    assert [points[0][1] for points in points_of(axes)] == pytest.approx([0.75, 0.5])
