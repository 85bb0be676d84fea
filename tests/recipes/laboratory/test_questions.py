"""Questions: those that are kept can be run, and what is wrong with one is said with its mend."""

import re
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from recipes.laboratory import questions
from recipes.laboratory.digests import digest
from recipes.laboratory.plan import Run, fresh_run, jobs, tuning_run
from tests.recipes.laboratory.made import QUESTION, ask


@pytest.mark.parametrize("name", questions.names())
def test_a_question_that_is_kept_can_be_run(name: str) -> None:
    """Every run of it has settings that are accepted, on at least four learning rates where one is chosen."""
    question = questions.read(name)
    assert question.about.endswith(("?", "."))
    for task in question.tasks:
        assert all(job.run.asked() for job in jobs(question, task, lambda run: None))
    assert all(len(arm.tuning.lr) in (1, *range(4, 9)) for arm in question.arms.values())
    assert len(question.seeds) >= 8
    arms = question.arms.values()
    keys = [(digest(fresh_run(question, "countdown", arm, 1e-4, 0).asked()), arm.tuning.lr) for arm in arms]
    assert len(set(keys)) == len(keys), "two arms are the same run"


def test_the_issue_s_questions_are_there() -> None:
    assert {"methods", "resets", "objectives", "settings", "staleness", "quickstart"} <= set(questions.names())
    assert {arm.settings.staleness for arm in questions.read("staleness").arms.values()} == {0, 1, 2, 4, 8}
    assert len(questions.read("quickstart").seeds) == 10
    assert 11 in questions.read("quickstart").seeds


def test_stale_arms_are_compared_with_fresh_ones_of_their_kind() -> None:
    """And the fresh ones with GRPO's."""
    question = questions.read("staleness")
    kinds = ("pacs", "pacs_k1", "grpo", "unclipped", "reinforce")
    against = question.against()
    for kind in kinds:
        stale = {f"{kind}_{age}" for age in (1, 2, 4, 8)}
        fresh = {f"{other}_0" for other in kinds if other != "grpo"} if kind == "grpo" else set()
        sampler = {f"pacs_sampler_{age}" for age in (1, 2, 4, 8)} if kind == "pacs_k1" else set()
        assert set(against[f"{kind}_0"]) == stale | fresh | sampler
    assert {arm.settings.options.get("ratio") for name, arm in question.arms.items() if "reinforce" in name} == {"none"}


@pytest.mark.parametrize(
    ("question", "ours", "theirs"),
    [
        ("objectives", "log_odds_k1", "pacs_authors"),
        ("objectives", "log_odds_never", "pacs_never"),
        ("objectives", "log_pass_rate_never", "pacs_log_pass_rate"),
        ("resets", "k1_kept", "pacs_authors"),
        ("resets", "k20", "pacs_paper"),
        ("resets", "never", "pacs_never"),
        ("settings", "as_it_is", "pacs_never"),
        ("token_weights", "pacs", "pacs_authors"),
        ("token_weights", "grpo", "grpo"),
    ],
)
def test_what_methods_has_run_is_not_run_again(question: str, ours: str, theirs: str) -> None:
    """An arm's name is no part of a run, its method's is: of two that do the same, the name that is there counts."""
    asks = [(questions.read(question), ours), (questions.read("methods"), theirs)]
    for make, seed in ((tuning_run, 100), (fresh_run, 0)):
        one, other = [make(each, "arithmetic_mixed", each.arms[name], 3e-5, seed) for each, name in asks]
        assert digest(one.asked()) == digest(other.asked())


def test_a_token_weight_is_compared_with_its_method_without_one() -> None:
    question = questions.read("token_weights")
    kinds = (
        "entropy_top",
        "steer",
        "probability",
        "surprisal_band",
        "clip_cov",
        "kl_cov",
        "pooled_entropy",
        "era",
        "delta",
    )
    assert question.against() == {
        "pacs": [*(f"pacs_{kind}" for kind in kinds), "grpo"],
        "grpo": [f"grpo_{kind}" for kind in kinds],
    }


def test_each_arm_is_compared_with_each_baseline_and_two_baselines_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "  rloo: {method: rloo}\n  old: {method: grpo, staleness: 4, compare_with: rloo}\n"
    more += "  older: {method: grpo, staleness: 8, compare_with: [rloo, grpo]}\n"
    question = ask(tmp_path, monkeypatch, QUESTION.replace("[grpo]", "[grpo, never]") + more)
    assert question.against() == {"grpo": ["never", "rloo", "older"], "never": ["rloo"], "rloo": ["old", "older"]}


def test_lr_from_is_tuned_with_the_settings_of_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = "  old: {method: grpo, staleness: 4, lr_from: better/grpo}\n"
    question = ask(tmp_path, monkeypatch, QUESTION + more)
    old, grpo = question.arms["old"], question.arms["grpo"]
    assert tuning_run(question, "countdown", old, 1e-4, 100) == tuning_run(question, "countdown", grpo, 1e-4, 100)
    assert fresh_run(question, "countdown", old, 1e-4, 0).settings.staleness == 4


def test_a_task_has_settings_of_its_own_for_all_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rates are chosen, and for an arm that takes the rate of this question in another."""
    two = QUESTION.replace("[countdown]", "[countdown, chain_sums]")
    question = ask(tmp_path, monkeypatch, two + "task_settings: {chain_sums: {steps: 6, evaluate_every: 3}}\n")
    other = ask(tmp_path, monkeypatch, two + "  taken: {method: grpo, lr_from: better/grpo}\n", name="other")
    for asked in (question, other):
        for arm in asked.arms.values():
            by_task = {task: fresh_run(asked, task, arm, 1e-4, 0).settings for task in asked.tasks}
            own = (6, 3) if asked is question else (4, 2)
            assert (by_task["chain_sums"].steps, by_task["chain_sums"].evaluate_every) == own
            assert (by_task["countdown"].steps, by_task["countdown"].evaluate_every) == (4, 2)
            steps = 6 if asked is question or arm.name == "taken" else 4
            tuned = {task: tuning_run(asked, task, arm, 1e-4, 100).settings for task in asked.tasks}
            assert (tuned["chain_sums"].steps, tuned["chain_sums"].evaluate_every) == (steps, 0)
            assert tuned["countdown"].steps == 4


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("{chain_sums: {steps: 3}}", "task_settings: chain_sums is not known"),
        ("{countdown: {stepz: 3}}", "task_settings: countdown: stepz is not known.*Did you mean steps"),
        ("{countdown: {responses: 1}}", "questions/better.yaml: arm grpo: task_settings of countdown: .*responses"),
    ],
)
def test_task_settings_of_another_question_are_checked_too(
    stated: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(tmp_path, monkeypatch)
    (tmp_path / "better.yaml").write_text(QUESTION + f"task_settings: {stated}\n")
    with pytest.raises(UserError, match=words):
        ask(tmp_path, monkeypatch, QUESTION + "  taken: {method: grpo, lr_from: better/grpo}\n", name="other")


def test_seeds_share_a_start_unless_each_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def starts(text: str) -> set[int]:
        question = ask(tmp_path, monkeypatch, text)
        runs: list[Run] = [job.run for job in jobs(question, "countdown", lambda run: None)]
        return {run.start_seed for run in runs}

    assert starts(QUESTION) == {0}
    assert starts("own_starts: true\n" + QUESTION) == {0, 1, 2, 100, 101}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds: [0, 1, 2]", "seads: [0, 1, 2]", "seads is not known.*Did you mean seeds"),
        ("baselines: [grpo]", "baselines: [grpo, ppo]", "baseline ppo is none of its arms: never, grpo"),
        ("baselines: [grpo]", "baselines: grpo", "baselines grpo is no list of different arms: write it like .never"),
        ("baselines: [grpo]", "baselines: [grpo, grpo]", "is no list of different arms"),
        ("baselines: [grpo]", "baseline: grpo", "baseline is not known.*Did you mean baselines"),
        ("baselines: [grpo]", "baselines: []", "has no baselines: add it"),
        ("{method: grpo}", "{method: grpo, compare_with: nevr}", "arm grpo: compare_with nevr is none of the other"),
        ("{method: grpo}", "{method: grpo, compare_with: grpo}", "arm grpo: compare_with grpo is none of the other"),
        ("{method: grpo}", "{method: grpo, compare_with: [never, never]}", "is no list of different arms: write it"),
        ("{method: grpo}", "{method: grpo, compare_with: 3}", "compare_with 3 is no list of different arms"),
        ("1.0e-4", "1e-4", "lr 1e-4 is not a number above 0 as YAML has it: write it like 1.0e-4"),
        ("seeds: [0, 1, 2]", "seeds: [0, 100]", "a seed is both of tuning and of seeds"),
        ("title: Better\n", "", "has no title: add it"),
        ("title: Better\n", "title: [Better\n", "better.yaml is no YAML .while parsing a flow sequence"),
        ("  criterion: pass@1\n", "", "tuning has no criterion: add it"),
        ("title: Better\n", "title: Better\nbar: {measure: greedy}\n", "bar has no at_least: add it"),
        ("{method: grpo}", "{method: grppo}", "arm grpo: method=grppo is not known"),
        ("{method: grpo}", "{method: grpo, lr: [1.0e-4], lr_from: x}", "both lr and lr_from"),
        ("{method: grpo}", "{method: grpo, seed: 3}", "arm grpo: seed is not known"),
        ("{method: grpo}", "{method: grpo, lr_from: better/neverr}", "has no arm neverr"),
        ("{method: grpo}", "{method: grpo, lr_from: bettter}", "there is no question bettter.*Did you mean better"),
        ("steps: 4", "stepz: 4", "stepz is not known.*Did you mean steps"),
        ("split: test", "spilt: test", "evaluation: spilt is not known.*Did you mean split"),
        ("split: probe", "split: prob", "tuning.evaluation: split=prob is not known"),
        (
            "  criterion:",
            "  further: [8e-4]\n  criterion:",
            "tuning.further 8e-4 is not a number above 0 as YAML has it",
        ),
        (
            "  criterion:",
            "  further: [4.0e-4]\n  criterion:",
            "further begins with 0.0004, and the highest lr is 0.0004",
        ),
        ("  criterion:", "  best_two: [2]\n  criterion:", "a seed is both of tuning and of seeds"),
        ("  criterion:", "  best_two: [101]\n  criterion:", "a seed is both of tuning.seeds and of tuning.best_two"),
        *(
            (
                "arms:",
                f"task_settings: {value}\narms:",
                "has no settings by task: write it like {countdown: {prompts: 16}}",
            )
            for value in ("", "16", "[countdown]", "countdown", "{countdown: }", "{countdown: prompts}")
        ),
        ("arms:", "task_settings: {countdwn: {steps: 3}}\narms:", "task_settings: countdwn is not known.*Did you mean"),
        ("arms:", "task_settings: {countdown: {method: rloo}}\narms:", "task_settings: countdown: method is not known"),
        (
            "arms:",
            "task_settings: {countdown: {steps: 0}}\narms:",
            "arm never: task_settings of countdown: steps=0 must be a whole",
        ),
        (
            "arms:",
            "task_settings: {countdown: {steps: 3}}\narms:\n  own: {method: grpo, steps: 2}",
            "arm own: steps is also in task_settings of countdown: leave one of them out",
        ),
        ("criterion:", "criterium:", "criterium is not known.*Did you mean criterion"),
        (
            "criterion: pass@1",
            "criterion: pass@2",
            "tuning.criterion pass@2 is not measured .*choose one of pass@1",
        ),
        ("criterion: pass@1", "criterion: pass@64", "tuning.criterion pass@64 is not measured with samples=8: choose"),
        ("criterion: pass@1", "criterion: [1]", r"tuning.criterion \[1\] is not measured"),
        ("arms:", "bar: {measure: foo, at_least: 0.9}\narms:", "bar.measure foo is not measured with samples=16"),
        ("arms:", "bar: {measure: greedy, at_least: x}\narms:", "bar.at_least x must be a number"),
        ("arms:", "pairs: 'no'\narms:", "pairs no must be true or false"),
        ("arms:", "own_starts: 1\narms:", "own_starts 1 must be true or false"),
        ("arms:", "own_starts: true\nown_starts: true\narms:", "is no YAML .the key own_starts is there twice"),
        ("  grpo: {", "  never: {}\n  grpo: {", "the key never is there twice"),
        ("{method: grpo}", "{method: grpo, lr: []}", r"arm grpo: lr \[\] is no list of numbers: write it like"),
        ("{method: grpo}", "{method: grpo, lr: 1.0e-4}", "arm grpo: lr 0.0001 is no list of numbers"),
        ("{method: grpo}", "{method: grpo, lr: }", "arm grpo: lr None is no list of numbers"),
        ("{method: grpo}", "{method: grpo, lr: [.inf]}", "arm grpo: lr inf is not a number above 0"),
        ("{method: grpo}", "{method: grpo, lr: [1.0e-4, 1.0e-4]}", "has a number twice: leave one out"),
        ("  criterion:", "  further: \n  criterion:", "tuning.further None is no list of numbers"),
        ("lr: [1.0e-4, 2.0e-4, 4.0e-4]", "lr: 1.0e-4", "lr 0.0001 is no list of numbers"),
        *(
            ("\nseeds: [0, 1, 2]", f"\nseeds: {value}", f"seeds {re.escape(value)} is no list of different whole num")
            for value in ("3", "[[0]]", "[-1]", "[0.5]", "[True]", "[0, 0, 1]")
        ),
        ("seeds: [100, 101]", "seeds: 100", "tuning.seeds 100 is no list of different whole numbers"),
        ("  criterion:", "  best_two: 5\n  criterion:", "tuning.best_two 5 is no list of different whole numbers"),
        ("tasks: [countdown]", "tasks: countdown", "tasks countdown is no list of different tasks .arithmetic, arithm"),
        ("tasks: [countdown]", "tasks: [countdwn]", "is no list of different tasks"),
        ("tasks: [countdown]", "tasks: [countdown, countdown]", "is no list of different tasks"),
        ("tasks: [countdown]", "tasks: [math_smoke]", "is no list of different tasks"),
        ("  grpo: {method: grpo}", "  grpo: grpo", "arm grpo grpo has no keys"),
        ("title: Better\n", "title: 3\n", "title 3 is no text: put it in quotes"),
        ("baselines: [grpo]", "baselines: [[grpo]]", "baselines ..'grpo'.. is no list of different arms"),
        ("  grpo: {", "  off: {method: rloo}\n  grpo: {", "arm False has no name: put it in quotes"),
        ("{method: grpo}", "{method: 3}", "arm grpo: method 3 is no name"),
        ("{method: grpo}", "{method: grpo, options: foo}", "arm grpo: options foo has no keys"),
        ("{method: grpo}", "{method: grpo, options: }", "arm grpo: options None has no keys"),
        ("{method: grpo}", "{method: grpo, lr_from: better/grpo}", "lr_from better/grpo is this arm itself"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert old in QUESTION
    with pytest.raises(UserError, match=words):
        ask(tmp_path, monkeypatch, QUESTION.replace(old, new))


def test_a_question_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"there is no question method.*Did you mean methods"):
        questions.read("method")
