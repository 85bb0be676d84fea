"""`--lengths`: what is read of an evaluation, of a run, of a file of numbers, and of the data."""

import json
from dataclasses import asdict
from pathlib import Path

import pandas
import pytest
from omegaconf import DictConfig

from pacs import cli
from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.evaluation.folder import Store
from pacs.evaluation.sample import Sample
from pacs.planning.observed_lengths import data_prompts, find_lengths, read_lengths
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.planning.test_architecture import SMALL, qwen3

CHAT = [{"role": "user", "content": "1+2"}]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer alone."""
    folder = tmp_path_factory.mktemp("model")
    build_tokenizer(64).save_pretrained(folder)
    return folder


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    """As `pacs evaluate` writes it."""
    task = tmp_path / "evaluation" / "samples" / "math500"
    task.mkdir(parents=True)
    store = Store(tmp_path / "evaluation", "math500", "abc", shard_lines=2)
    for index, tokens in enumerate((5, 7, 11)):
        store.add(Sample("p", index, 0, "text", tokens, truncated=tokens == 11))
    store.close()
    return tmp_path / "evaluation"


def run_of(tmp_path: Path, steps: int, rows: int = 2) -> Path:
    """Samples as verl writes them: a file a step."""
    folder = tmp_path / "run" / "samples" / "train"
    folder.mkdir(parents=True)
    for step in range(1, steps + 1):
        lines = [json.dumps({"input": "1+1=", "output": "2" * step, "score": 1.0, "step": step})] * rows
        (folder / f"{step}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "run"


def test_an_evaluation_s_samples(evaluation: Path) -> None:
    seen = read_lengths(evaluation, "nobody/nothing")
    assert seen.responses == (5, 7, 11)
    assert seen.prompts == ()
    assert "33% of them cut off" in seen.source
    assert read_lengths(evaluation / "samples" / "math500", "").responses == (5, 7, 11)
    assert read_lengths(evaluation / "samples" / "math500" / "generated-0001.jsonl", "").responses == (11,)
    assert asdict(Sample("p", 0, 0, "", 1, False)).keys() >= {"tokens", "truncated"}


def test_a_run_s_samples_are_counted_by_its_tokenizer(tmp_path: Path, model: Path) -> None:
    run = run_of(tmp_path, 10)
    seen = read_lengths(run, str(model))
    assert seen.responses == tuple(step for step in range(1, 11) for _ in range(2))  # 10 comes after 9
    assert set(seen.prompts) == {4}
    assert read_lengths(run / "samples" / "train" / "3.jsonl", str(model)).responses == (3, 3)
    with pytest.raises(UserError, match="download the model first"):
        read_lengths(run, "nobody/nothing")


def test_of_a_long_run_the_newest_count(tmp_path: Path, model: Path) -> None:
    seen = read_lengths(run_of(tmp_path, 3, rows=600), str(model))
    assert seen.responses == (2,) * 400 + (3,) * 600


def test_a_file_of_numbers(tmp_path: Path) -> None:
    file = tmp_path / "lengths.txt"
    file.write_text("3\n\n40\n")
    assert read_lengths(file, "").responses == (3, 40)


@pytest.mark.parametrize("line", ["x", "{}", '{"tokens": "7"}', "-1", "true", '{"output": "a"}', "[1]", "1.5", "\xff"])
def test_a_line_that_is_no_length_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "lengths.txt"
    file.write_text(f"3\n{line}\n", encoding="latin-1")
    with pytest.raises(UserError, match=r"lengths\.txt"):
        read_lengths(file, "")


def with_data(model: Path, tmp_path: Path, prompts: list[object]) -> DictConfig:
    file = tmp_path / "train.parquet"
    rows = {"prompt": prompts, "data_source": "x", "reward_model": [{"ground_truth": "3"}] * len(prompts)}
    pandas.DataFrame(rows).to_parquet(file)
    overrides = ["recipe=arithmetic", f"actor_rollout_ref.model.path={model}", f"data.train_files={file}"]
    return compose_run("pacs", overrides)[0]


def test_prompts_are_those_of_the_data_as_verl_renders_them(model: Path, tmp_path: Path) -> None:
    """Without those that are too long; the responses are still assumed, or those of an evaluation."""
    tokenizer = build_tokenizer(64)
    long = [{"role": "user", "content": "1+2" * 100}]
    config = with_data(model, tmp_path, [CHAT, long, CHAT])
    wanted = len(tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, return_dict=False))
    assert data_prompts(config) == (wanted, wanted)
    seen = find_lengths(config, None)
    assert seen is not None
    assert (seen.prompts, seen.responses) == ((wanted, wanted), ())
    numbers = tmp_path / "lengths.txt"
    numbers.write_text("3\n")
    both = find_lengths(config, numbers)
    assert both is not None
    assert (both.prompts, both.responses) == ((wanted, wanted), (3,))


def test_without_data_or_tokenizer_nothing_is_known(tmp_path: Path) -> None:
    config = with_data(tmp_path / "nothing", tmp_path, [CHAT])
    assert find_lengths(config, None) is None
    assert find_lengths(compose_run("pacs", ["recipe=qwen3_8b"])[0], None) is None


def test_a_folder_without_a_tokenizer_or_a_template_says_nothing(tmp_path: Path) -> None:
    """Of config.json alone transformers makes a tokenizer to which every text is empty."""
    sizes, plain = tmp_path / "sizes", tmp_path / "plain"
    qwen3(SMALL).save_pretrained(sizes)
    tokenizer = build_tokenizer(64)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(plain)
    for folder in (sizes, plain):
        assert find_lengths(with_data(folder, tmp_path, [CHAT]), None) is None
    with pytest.raises(UserError, match="download the model first"):
        read_lengths(run_of(tmp_path, 1), str(sizes))


def test_the_plan_says_whose_lengths_it_takes(
    evaluation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    overrides = ["recipe=qwen3_8b", "data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=8"]
    assert cli.main(["plan", *overrides, "--lengths", str(evaluation), "--json", str(file)]) == 0
    assert f"3 responses in {evaluation}" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["workload"]["lengths"]["responses"]["p50"] == 7
    assert written["seconds"]["generation"] == max(written["generation"]["engines"])
    assert written["seconds"]["weight sync"] == pytest.approx(sum(written["weight_sync"].values()))
