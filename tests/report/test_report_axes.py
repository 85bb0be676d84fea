"""What is drawn over generated tokens and over seconds, and what is compared there."""

from itertools import accumulate

import pytest

from pacs.base.errors import UserError
from pacs.report import read_runs
from pacs.report.figures import title_of
from pacs.report.findings import amount
from pacs.report.run_groups import AXES, group_runs
from tests.report.drawn import NAMED, OF_SOME, axes_of, bands_of, constant, lines_of, resets_of
from tests.report.test_report_command import FEW, run_command

TOKENS = "pacs/response_tokens/generated_sum"
#: Of the steps 1, 2, 3, ...
GENERATED = {TOKENS: lambda step: 100.0 * step}


def groups_over(axis, *folders, each=True):
    return group_runs(read_runs(folders), each=each, axis=AXES[axis])


@pytest.mark.parametrize(
    ("axis", "label", "places"),
    [
        ("steps", "training step", [1, 2, 3, 4, 5, 6]),
        ("tokens", "generated tokens", list(accumulate(100 * step for step in range(1, 7)))),
        ("seconds", "seconds of training", [4, 8, 12, 16, 20, 24]),
    ],
)
def test_a_curve_is_drawn_at_what_its_steps_add_up_to(make_run, axis, label, places):
    groups = groups_over(axis, make_run(more=GENERATED, resets=(2, 5)))
    axes = axes_of("pass_rate", groups)
    assert axes.get_xlabel() == label
    (line,) = lines_of(axes)
    assert list(line.get_xdata()) == places
    assert list(line.get_ydata()) == pytest.approx([0.3 + 0.05 * step for step in range(1, 7)])
    assert [reset for reset, _ in next(iter(resets_of(axes).values()))] == [places[1], places[4]]
    low, high = axes.get_xlim()
    assert low <= 0 <= places[-1] < high


def test_the_validation_before_the_first_step_is_at_0(make_run):
    axes = axes_of("validation", groups_over("tokens", make_run(steps=3, more=GENERATED)))
    assert [list(line.get_xdata()) for line in lines_of(axes)] == [[0, 600]] * 2


def test_seeds_are_drawn_at_their_mean(make_run):
    config = "data: {{seed: {}}}\n"
    runs = [make_run(f"s-seed{i}", more={TOKENS: constant(n)}, config=config.format(i)) for i, n in enumerate((1, 3))]
    (line,) = lines_of(axes_of("pass_rate", groups_over("tokens", *runs, each=False)))
    assert list(line.get_xdata()) == [2, 4, 6, 8, 10, 12]


def test_what_one_seed_alone_has_is_drawn_at_its_own_places(make_run):
    """The other seed ended early, and generated three times as much a step."""
    ranks = {key: OF_SOME[key] for key in OF_SOME if "effective_rank" in key}
    every = "data: {{seed: {}}}\nmethod: {{metrics: {{effective_rank_every: {}}}}}\n"
    long = make_run("s-seed0", config=every.format(0, 1), more={TOKENS: constant(100), **ranks})
    short = make_run("s-seed1", config=every.format(1, "null"), more={TOKENS: constant(300)}, steps=3)
    (group,) = groups_over("tokens", long, short, each=False)
    (line, _) = lines_of(axes_of("effective_rank", [group]))
    assert list(line.get_xdata()) == [100, 200, 300, 400, 500, 600]
    (both,) = lines_of(axes_of("pass_rate", [group]))
    assert list(both.get_xdata()) == [200, 400, 600]


def test_an_area_is_as_wide_as_its_step_adds(make_run):
    axes = axes_of("verifier", groups_over("tokens", make_run(steps=3, more=GENERATED)))
    assert [sorted(band) for band in bands_of(axes)] == [[0, 100, 300, 600]] * 3


def test_groups_are_compared_where_all_have_come_to(make_run):
    """The one at its third step, since the other generates half as much a step, each with its last value until then."""
    more = make_run("more", more={TOKENS: constant(1000)}, **FEW)
    less = make_run("less", more={TOKENS: constant(520)}, **FEW)
    titles = {axis: title_of(NAMED["pass_rate"], groups_over(axis, more, less)) for axis in ("steps", "tokens")}
    assert "last third up to step 6: no clear difference (0.58)" in titles["steps"]
    assert "last third up to 3.12k generated tokens: 0.58 for less, 0.45 for more" in titles["tokens"]


def test_what_is_no_number_is_not_added_up(make_run):
    """The curve would end before that step, though its title would not."""
    run = make_run(more={TOKENS: lambda step: None if step == 3 else 100.0}, **FEW)
    with pytest.raises(UserError, match=rf"step 3 has no {TOKENS} \(it is no number\): draw this run over steps"):
        groups_over("tokens", run)[0].band("critic/score/mean")


def test_a_run_that_did_not_log_it_is_drawn_over_steps(make_run, tmp_path, capsys):
    run = make_run(more={TOKENS: constant(5)}, **FEW)
    lines = (run / "metrics.jsonl").read_text().replace(f', "{TOKENS}": 5', "", 1)
    (run / "metrics.jsonl").write_text(lines)
    with pytest.raises(UserError, match=f"step 1 has no {TOKENS}.*draw this run over steps"):
        groups_over("tokens", run)[0].band("critic/score/mean")
    assert run_command(run, "--over", "tokens", "--out", tmp_path / "out") == 2
    assert f"step 1 has no {TOKENS}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert run_command(run, "--over", "seconds", "--out", tmp_path / "out") == 0
    assert "Small multiples over the seconds of training" in (tmp_path / "out/index.html").read_text()


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (950, "950"), (1250, "1.25k"), (3_400_000, "3.4M"), (2e9, "2G"), (0.5, "0.5")]
)
def test_an_amount_in_three_digits(value, text):
    assert amount(value) == text
