import pytest

from pacs.report import read_runs
from pacs.report.figures import figure_of, panels_of
from pacs.report.run_groups import group_runs
from pacs.report.validation import PASS_AT_K, glance, outcome, shared, sources_of
from pacs.verl_keys.metrics import VALIDATION_MEANS


def sources(make_run, keys, pattern=PASS_AT_K):
    return sources_of(group_runs(read_runs([make_run(validation=keys)])), pattern)


def test_keys_are_sorted_by_source_and_k(make_run):
    keys = [f"pacs/validation/{source}/pass@{k}" for source in ("math500", "openai/gsm8k") for k in (1, 16, 2)]
    found = sources(make_run, keys)
    assert found == {
        source: {f"pass@{k}": f"pacs/validation/{source}/pass@{k}" for k in (1, 2, 16)}
        for source in ("math500", "openai/gsm8k")
    }
    assert list(found["math500"]) == ["pass@1", "pass@2", "pass@16"]


def test_verls_keys_are_named_by_their_statistic(make_run):
    keys = ["val-core/org/a/reward/mean@8", "val-core/b/acc/mean@1", "val-core/b/acc/best@8/mean"]
    assert sources(make_run, keys, VALIDATION_MEANS) == {
        "b": {"mean@1": "val-core/b/acc/mean@1"},
        "org/a": {"mean@8": "val-core/org/a/reward/mean@8"},
    }


def test_one_statistic_of_two_variables_is_named_after_both(make_run):
    keys = ["val-core/b/acc/mean@1", "val-core/b/reward/mean@1"]
    assert list(sources(make_run, keys, VALIDATION_MEANS)["b"]) == ["acc mean@1", "reward mean@1"]


ONE = {"a": {"pass@1": "a1", "pass@2": "a2", "pass@4": "a4"}}
TWO = {**ONE, "b": {"pass@1": "b1", "pass@2": "b2"}}


@pytest.mark.parametrize(
    ("found", "several", "shown"),
    [
        (ONE, False, {"a pass@1": ("a1",), "a pass@4": ("a4",)}),
        (ONE, True, {"a pass@1": ("a1",), "a pass@4": ("a4",)}),
        ({"a": {"pass@1": "a1"}}, False, {"a pass@1": ("a1",)}),
        (TWO, False, {"a pass@1": ("a1",), "b pass@1": ("b1",)}),
        (TWO, True, {"mean of 2 sources": ("a1", "b1")}),
    ],
)
def test_what_the_overview_shows(found, several, shown):
    assert glance(found, several_groups=several) == shown


def test_only_sources_that_all_runs_have_are_compared(make_run):
    both = [f"pacs/validation/{source}/pass@1" for source in ("a", "b")]
    folders = [make_run("x", validation=both), make_run("y", validation=both[:1]), make_run("z", validation=())]
    groups = group_runs(read_runs(folders), each=True)
    assert outcome(PASS_AT_K)(groups) == "Pass@1 on a, last third up to step 6: no clear difference (0.50)"
    found = sources_of(groups, PASS_AT_K)
    assert list(shared(found, groups)) == ["a"]
    assert shared({"b": found["b"]}, groups[1:]) == {"b": found["b"]}


@pytest.mark.parametrize("of_others", [["y"], ["y", "z"]])
def test_a_largest_k_of_other_runs_is_not_told_of_this_one(of_others, make_run):
    """As verl's means are, whose k is the number of responses that a run validates with."""
    means = [f"val-core/a/reward/mean@{k}" for k in (1, 4)]
    folders = [make_run("x", validation=means[:1]), *(make_run(name, validation=means[1:]) for name in of_others)]
    groups = group_runs(read_runs(folders), each=True)
    assert outcome(VALIDATION_MEANS)(groups) == "Mean@1 on a: 0.25 → 0.50"
    assert outcome(VALIDATION_MEANS)(groups[1:2]) == "Mean@4 on a: 0.25 → 0.50"


def validation_axes(folders):
    groups = group_runs(read_runs(folders), each=True)
    (panel,) = (panel for panel in panels_of(groups) if panel.name == "validation")
    return figure_of(panel, groups).axes


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_each_source_has_its_axes_with_every_k(make_run):
    keys = [f"pacs/validation/{source}/pass@{k}" for source in ("a", "org/b") for k in (1, 2, 4)]
    first, second = validation_axes([make_run(validation=[*keys, "pacs/validation/org/b/pass@8"])])
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["a", "org/b"]
    assert legend_of(first) == ["pass@1", "pass@2", "pass@4"]
    assert legend_of(second) == ["pass@1", "pass@2", "pass@4", "pass@8"]


def test_of_several_runs_the_first_and_the_last_k_are_drawn(make_run):
    keys = [f"pacs/validation/a/pass@{k}" for k in (1, 2, 4)]
    (axes,) = validation_axes([make_run(name, validation=keys) for name in ("x", "y")])
    assert legend_of(axes) == ["pass@1", "pass@4"]


def test_a_source_of_one_k_says_which(make_run):
    keys = ["pacs/validation/a/pass@1", "pacs/validation/b/pass@1"]
    assert [axes.get_title(loc="left") for axes in validation_axes([make_run(validation=keys)])] == [
        "a pass@1",
        "b pass@1",
    ]
