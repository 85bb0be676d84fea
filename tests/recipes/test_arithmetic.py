"""The arithmetic recipe: its tokenizer, problems, model, measurement, and what it makes."""

import json
import math
import random
import string
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM

from pacs.base.errors import UserError
from pacs.rewards.configured import write_reward
from pacs.rewards.math import compute_score
from pacs.rewards.registry import PATH
from recipes.arithmetic import make as make_module
from recipes.arithmetic import warm_start
from recipes.arithmetic.families import FAMILIES, build_of_family, tokenizer_of_family
from recipes.arithmetic.make import MADE, START_GREEDY, START_PASS_AT_1, make
from recipes.arithmetic.measure import (
    MAX_RESPONSE_TOKENS,
    Prompts,
    generate,
    grade,
    measure,
    measure_model,
    response_logits,
)
from recipes.arithmetic.model import build_model
from recipes.arithmetic.problems import Problem, Split, split_problems, write_parquet
from recipes.arithmetic.speedrun import speedrun
from recipes.arithmetic.tokenizer import CHARACTERS, build_tokenizer
from recipes.arithmetic.warm_start import careless_solution, right_solution

TOKENIZER = build_tokenizer(4096)


@cache
def made() -> Split:
    """The problems of the recipe; made when they are first asked for, and not while tests are collected."""
    return split_problems(seed=0)


# Tokenizer


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet=CHARACTERS))
def test_text_round_trips(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert len(ids) == len(text)
    assert TOKENIZER.decode(ids) == text


def test_vocabulary_is_the_tokenizers_length() -> None:
    assert len(TOKENIZER) == TOKENIZER.vocab_size == len(set(TOKENIZER.get_vocab().values()))
    assert build_model(TOKENIZER, seed=0).config.vocab_size == len(TOKENIZER)
    assert set(string.digits + "+-= \\{}boxed") <= set(TOKENIZER.get_vocab())


def test_other_characters_are_one_unknown_token_each() -> None:
    assert TOKENIZER.encode("aπé") == [TOKENIZER.encode("a")[0], *[TOKENIZER.unk_token_id] * 2]


def test_chat_template() -> None:
    messages = [{"role": "user", "content": "27+45"}]
    prompt = TOKENIZER.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert prompt == "<|user|>27+45<|im_end|><|assistant|>"
    assert len(TOKENIZER.encode(prompt)) == len("27+45") + 3
    whole = [*messages, {"role": "assistant", "content": "\\boxed{72}"}]
    rendered = TOKENIZER.apply_chat_template(whole, tokenize=False)
    assert rendered == prompt + "\\boxed{72}" + TOKENIZER.eos_token
    with pytest.raises(Exception, match="not system"):
        TOKENIZER.apply_chat_template([{"role": "system", "content": "x"}], tokenize=False)


# Problems


def test_no_operand_pair_is_in_two_sets() -> None:
    sets = [{p.pair for p in problems} for problems in (made().train, made().probe, made().test)]
    assert len(sets[0]) + len(sets[1]) + len(sets[2]) == len(sets[0] | sets[1] | sets[2]) == 90 * 91 // 2
    assert len(made().test) == len(sets[2]) == 256


def test_the_seed_decides_the_split() -> None:
    assert split_problems(seed=0) == made()
    assert {p.pair for p in split_problems(seed=1).test} != {p.pair for p in made().test}


def test_both_operators_and_both_orders_are_held_out() -> None:
    assert sum(p.operator == "+" for p in made().test) == 128
    sums = [p for p in made().test if p.operator == "+"]
    assert any(p.left > p.right for p in sums)
    assert any(p.left < p.right for p in sums)
    assert all(p.answer >= 0 for p in made().train + made().test)


def test_worked_solutions_are_right_and_accepted() -> None:
    assert right_solution(Problem(27, "+", 45)) == "7+5=12 \\boxed{72}"
    assert right_solution(Problem(72, "-", 45)) == "12-5=7 \\boxed{27}"
    assert right_solution(Problem(75, "-", 42)) == "5-2=3 \\boxed{33}"
    for problem in made().train + made().test:
        left, right = map(int, problem.text.split(problem.operator))
        assert problem.answer == (left + right if problem.operator == "+" else left - right)
        step, result = problem.ones_step
        left, right = map(int, step.split(problem.operator))
        assert result == (left + right if problem.operator == "+" else left - right)
        assert result % 10 == problem.answer % 10
        solution = right_solution(problem)
        assert len(TOKENIZER.encode(solution)) + 1 <= MAX_RESPONSE_TOKENS
        assert compute_score("arithmetic", solution, str(problem.answer))["status"] == "correct"


def test_the_careless_teacher_is_right_about_a_third_of_the_time() -> None:
    rng = random.Random(0)
    statuses = [
        compute_score("arithmetic", careless_solution(problem, rng), str(problem.answer))["status"]
        for problem in made().train
    ]
    assert set(statuses) == {"correct", "wrong", "no_answer"}
    low, high = START_PASS_AT_1
    assert low < statuses.count("correct") / len(statuses) < high


def test_parquet_has_verls_schema(tmp_path: Path) -> None:
    write_parquet(made().test, tmp_path / "test.parquet", "test")
    rows = pq.read_table(tmp_path / "test.parquet").to_pylist()
    assert rows[3] == {
        "data_source": "arithmetic",
        "prompt": [{"role": "user", "content": made().test[3].text}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(made().test[3].answer)},
        "extra_info": {"index": 3, "split": "test"},
    }
    assert len(rows) == len(made().test)


def test_verl_reads_the_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from omegaconf import OmegaConf
    from verl.utils.dataset.rl_dataset import RLHFDataset

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    write_parquet(made().test[:8], tmp_path / "test.parquet", "test")
    config = OmegaConf.create({"max_prompt_length": 8, "filter_overlong_prompts_workers": None})
    read = RLHFDataset(str(tmp_path / "test.parquet"), TOKENIZER, config)
    assert len(read) == 8
    assert read[5]["raw_prompt"] == [{"role": "user", "content": made().test[5].text}]
    assert read[5]["reward_model"]["ground_truth"] == str(made().test[5].answer)
    assert read[5]["index"] == 5


# Model and measurement


def test_model_fits_verl_and_vllm() -> None:
    model = build_model(TOKENIZER, seed=0)
    assert 300_000 < model.num_parameters() < 1_000_000
    assert model.dtype == torch.float32
    assert model.config.head_dim >= 32
    assert not model.config.tie_word_embeddings
    for config in (model.config, model.generation_config):
        assert (config.eos_token_id, config.pad_token_id) == (TOKENIZER.eos_token_id, TOKENIZER.pad_token_id)
    same = build_model(TOKENIZER, seed=0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), same.parameters(), strict=True))


@pytest.mark.parametrize(("family", "kind"), [("llama", LlamaForCausalLM), ("qwen2", Qwen2ForCausalLM)])
def test_other_families_have_the_same_sizes(family: str, kind: type) -> None:
    model, qwen3 = build_of_family(family, TOKENIZER, seed=0), build_of_family("qwen3", TOKENIZER, seed=0)
    assert isinstance(model, kind)
    assert isinstance(qwen3, Qwen3ForCausalLM)
    shapes = {name: value.shape for name, value in qwen3.state_dict().items() if "_norm" not in name}
    others = {name: value.shape for name, value in model.state_dict().items() if name in shapes}
    assert shapes == others
    more = model.state_dict().keys() - shapes.keys()
    assert [name for name in more if not name.endswith(("norm.weight", "bias"))] == []
    assert model.generation_config.eos_token_id == TOKENIZER.eos_token_id
    same = build_of_family(family, TOKENIZER, seed=0)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), same.parameters(), strict=True))
    logits = [each(torch.tensor([[5, 6, 7]])).logits for each in (model, qwen3)]
    assert logits[0].shape == logits[1].shape


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reads_the_same_tokens_when_it_is_loaded(family: str, tmp_path: Path) -> None:
    build_of_family(family, TOKENIZER, seed=0).config.save_pretrained(tmp_path)
    tokenizer_of_family(family).save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    messages = [{"role": "user", "content": "27 + 45\n"}, {"role": "assistant", "content": f"7+5=12 {CHARACTERS}"}]
    tokens = [each.apply_chat_template(messages, return_dict=False) for each in (loaded, TOKENIZER)]
    assert tokens[0] == tokens[1]
    texts = [each.decode(tokens[0], skip_special_tokens=skip) for skip in (True, False) for each in (loaded, TOKENIZER)]
    assert (texts[0], texts[2]) == (texts[1], texts[3])
    assert (len(loaded), loaded.eos_token_id, loaded.pad_token_id) == (
        len(TOKENIZER),
        TOKENIZER.eos_token_id,
        TOKENIZER.pad_token_id,
    )


def test_responses_are_aligned_with_their_logits() -> None:
    """With prompts of two lengths, what greedy decoding chose is what the logits like best, up to the end."""
    torch.manual_seed(0)
    model = build_model(TOKENIZER, seed=0).eval()
    messages = [[{"role": "user", "content": text}] for text in ("27+45", "a long question")]
    responses = generate(model, TOKENIZER, messages, samples=2, greedy=True)
    best = response_logits(model, responses).argmax(-1)
    chosen = responses.ids[:, -best.shape[1] :]
    assert torch.equal(best[responses.response_mask], chosen[responses.response_mask])
    assert responses.texts[0] == responses.texts[1]
    alone = generate(model, TOKENIZER, messages[:1], samples=1, greedy=True)
    assert alone.texts == responses.texts[:1]


def test_the_response_mask_ends_with_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    end, pad = TOKENIZER.eos_token_id, TOKENIZER.pad_token_id
    prompt = TOKENIZER.encode("<|user|>1<|im_end|><|assistant|>")
    model = build_model(TOKENIZER, seed=0)
    monkeypatch.setattr(
        model,
        "generate",
        lambda **kwargs: torch.tensor([[*prompt, 9, end, pad, pad], [*prompt, 9, 9, 9, 9]]),
    )
    responses = generate(model, TOKENIZER, [[{"role": "user", "content": "1"}]], samples=2)
    assert responses.response_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert responses.attention_mask[0].tolist() == [1] * (len(prompt) + 2) + [0, 0]


def test_grading_keeps_samples_with_their_prompt() -> None:
    responses = generate(build_model(TOKENIZER, seed=0), TOKENIZER, [[{"role": "user", "content": "1"}]] * 2, samples=2)
    object.__setattr__(responses, "texts", ["\\boxed{1}", "\\boxed{2}", "\\boxed{1}", "2"])
    assert grade(responses, ["1", "2"]).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    object.__setattr__(responses, "texts", ["\\boxed{1}", "The answer is 1.", "\\boxed{2}", "The answer is 2."])
    assert grade(responses, ["1", "2"]).tolist() == [[1.0, 0.0]] * 2
    assert grade(responses, ["1", "2"], {"unboxed": True}).tolist() == [[1.0, 1.0]] * 2


def test_a_uniform_policy_has_the_entropy_of_the_vocabulary() -> None:
    model = build_model(TOKENIZER, seed=0)
    torch.nn.init.zeros_(model.lm_head.weight)
    prompts = Prompts([[{"role": "user", "content": "27+45"}]] * 4, ["72"] * 4)
    numbers = measure_model(model, TOKENIZER, prompts, seed=0)
    assert numbers["entropy"] == pytest.approx(math.log(len(TOKENIZER)), rel=1e-5)
    assert numbers["greedy"] == numbers["pass@1"] == numbers["pass@8"] == 0.0
    assert 1 <= numbers["response_length_tokens"] <= MAX_RESPONSE_TOKENS
    assert measure_model(model, TOKENIZER, prompts, seed=0) == numbers


def test_measuring_what_is_not_there_names_the_argument(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--model .*recipes\.arithmetic\.make"):
        measure(tmp_path / "model", tmp_path, seed=0)


# Making


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No warm start and few held-out problems: makes in a second. Lists the seeds that were made."""
    asked: list[int] = []

    def few(seed: int) -> Split:
        asked.append(seed)
        return Split(train=made().train[:32], probe=made().probe[:8], test=made().test[:8])

    monkeypatch.setattr(make_module, "split_problems", few)
    monkeypatch.setattr(make_module, "warm_start", lambda *arguments: None)
    monkeypatch.setattr(make_module, "START_PASS_AT_1", (0.0, 1.0))
    return asked


def test_make_is_whole_and_idempotent(tmp_path: Path, quick: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "arithmetic"
    before = make(out, seed=3)
    assert sorted(p.name for p in out.iterdir()) == sorted(MADE)
    assert json.loads((out / "before.json").read_text()) == before
    assert set(before) == {"greedy", "pass@1", "pass@8", "entropy", "response_length_tokens"}
    assert len(AutoTokenizer.from_pretrained(out / "model")) == len(TOKENIZER)
    assert AutoModelForCausalLM.from_pretrained(out / "model").dtype == torch.float32
    assert measure(out / "model", out / "test.parquet", seed=3) == before
    # As an export of a run that graded by such settings: math.workers may not be below 0.
    write_reward({"path": PATH, "name": "compute_score", "reward_kwargs": {"math": {"workers": -1}}}, out / "model")
    with pytest.raises(ValueError, match="workers"):
        measure(out / "model", out / "test.parquet", seed=3)
    (out / "model" / "reward.yaml").unlink()

    assert make(out, seed=3) == before
    assert "reusing" in capsys.readouterr().out
    assert quick == [3]
    make(out, seed=4)
    assert "replacing" in capsys.readouterr().out
    assert quick == [3, 4]
    assert [p.name for p in out.parent.iterdir()] == ["arithmetic"]


def test_make_leaves_other_peoples_files_alone(tmp_path: Path, quick: list[int]) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"--out .*thesis\.tex"):
        make(tmp_path, seed=0)
    assert quick == []


def test_a_missed_window_leaves_nothing(tmp_path: Path, quick: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_module, "START_PASS_AT_1", START_PASS_AT_1)
    with pytest.raises(UserError, match="another --seed"):
        make(tmp_path / "out", seed=0)
    assert list(tmp_path.iterdir()) == []


def test_help_teaches(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["make", "--help"])
    with pytest.raises(SystemExit, match="0"):
        make_module.main()
    text: Any = capsys.readouterr().out
    assert all(word in text for word in ("--out", "--seed", "train.parquet", "before.json"))


def test_the_warm_start_learns_in_rounds_until_it_is_able(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four problems by heart: one round of 120 steps is enough, and of 2 steps none is."""
    problems = made().train[:4]
    for name, value in {"BATCH_PROBLEMS": 4, "SLIP_STEPS": (5, 5), "TARGET_PASS_AT_1": 0.5, "TOLERANCE": 0.5}.items():
        monkeypatch.setattr(warm_start, name, value)
    monkeypatch.setattr(warm_start, "LEARN_STEPS", 120)
    warm_start.warm_start(build_model(TOKENIZER, seed=0), TOKENIZER, problems, problems, seed=0)
    said = capsys.readouterr().out
    assert "round 1" in said
    assert "round 2" not in said
    monkeypatch.setattr(warm_start, "LEARN_STEPS", 2)
    with pytest.raises(UserError, match=r"learned right solutions to 0\.\d\d and not to 0\.95: take another --seed"):
        warm_start.warm_start(build_model(TOKENIZER, seed=0), TOKENIZER, problems, problems, seed=0)
    assert capsys.readouterr().out.count("learn, round") == warm_start.LEARN_ROUNDS


@pytest.mark.slow
@pytest.mark.long
def test_the_warm_start_lands_in_its_window(tmp_path: Path) -> None:
    """A seed that nothing was tuned on; `make` itself raises outside the window."""
    before = make(tmp_path / "out", seed=1234)
    assert START_PASS_AT_1[0] <= before["pass@1"] <= START_PASS_AT_1[1]
    assert before["greedy"] <= START_GREEDY
    assert before["pass@8"] > before["greedy"]  # what there is to learn from


# Speedrun


def test_speedrun_adds_up_to_the_first_validation_that_reached_the_target(tmp_path: Path) -> None:
    """Tokens and seconds of the steps up to there, and none of a validation."""
    for name, reached in (("early", {2: 0.89, 3: 0.9, 4: 0.8}), ("never", {4: 0.8})):
        lines = [
            {"step": step, "timing_s/step": 2.0, "timing_s/testing": 5.0, "pacs/response_tokens/generated_sum": 1000.0}
            | ({"pacs/validation/arithmetic/pass@1": reached[step]} if step in reached else {})
            for step in range(1, 5)
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, _, early, never = speedrun([tmp_path / "early", tmp_path / "never"], 0.9).splitlines()
    assert early.replace(" ", "") == "|early|3|3,000|6|"
    assert never.replace(" ", "") == "|never|notin4|–|–|"
