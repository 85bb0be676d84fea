"""Prompts drawn from a pool, through verl's own dataset and batches, and what the pool learns; without Ray."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from verl.utils import tensordict_utils as tu

from pacs.algorithm.pool import Pool
from pacs.algorithm.preference import Preference
from pacs.base.files import file_sha256
from pacs.checkpoints.torch_file import read_torch_file
from pacs.data.rates import Rate, Rates, problem_key, rates_file, write_rates
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.method_trainer import MethodTrainer
from pacs.integration.trainer.pool import PoolLoader
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.evaluation.conftest import write_data
from tests.integration.trainer.test_update_step import make_trainer

SUMS = [(a, b) for a in range(8) for b in range(6)]
SQRT = ("run.rollouts.pool.weights=sqrt", "run.rollouts.pool.half_life=5")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """48 sums with their rates, in another order: a+b was solved a+b times of 16."""
    file = write_data(tmp_path_factory.mktemp("data") / "train.parquet", SUMS)
    rates = [
        Rate(problem_key([{"role": "user", "content": said(a, b)}], str(a + b)), f"{a}+{b}", a + b, 16)
        for a, b in reversed(SUMS)
    ]
    write_rates(rates_file(file), Rates(file_sha256(file), "tiny", "ab" * 32, {}, {}, {}, rates))
    return file


def said(a: int, b: int) -> str:
    return f"What is {a}+{b}? Think well."


def started(folder: Path, data: Path, *overrides: str) -> MethodTrainer:
    """A trainer whose data verl has read."""
    files = [*(f"data.{part}_files={data}" for part in ("train", "val")), "data.max_prompt_length=40"]
    made = make_trainer(
        folder, *files, "data.train_batch_size=8", "+data.cache_dir=" + str(folder / "cache"), *overrides
    )
    made.tokenizer, made.processor = build_tokenizer(4096), None
    made._init_dataloader()
    return made


def drawn(made: MethodTrainer, step: int, prompts: int | None = None) -> tuple[list[str], list[str]]:
    """The uids and the texts of a step's prompts."""
    made.global_steps = step
    batch = made._next_train_batch(prompts)
    texts = [messages[0]["content"] for messages in tu.get(batch, "raw_prompt")]
    return list(tu.get(batch, "uid")), texts


def graded(scores: dict[str, list[float]], first: int = 8) -> tuple[Any, Grades]:
    """Keys and grades of a batch: of each prompt its scores, some of a first stage; and a row of padding."""
    rows = [(f"{uid}_{i}_0", score, i < first) for uid, some in scores.items() for i, score in enumerate(some)]
    keys, values, firsts = (
        [*column, pad] for column, pad in zip(zip(*rows, strict=True), ("pad_0_0", 1.0, False), strict=True)
    )
    sampled = torch.tensor([True] * len(rows) + [False])
    numbers = torch.zeros(len(keys))
    grades = Grades(torch.tensor(values), torch.tensor(values), numbers.long(), sampled, torch.tensor(firsts), numbers,
                    numbers.bool(), numbers.long(), [])  # fmt: skip
    return SimpleNamespace(keys=keys), grades


def one_step(made: MethodTrainer, step: int) -> tuple[list[str], dict[str, float]]:
    """Draw, and have each prompt solved by the luck of a generator that knows only the step and the prompt."""
    uids, texts = drawn(made, step)
    scores = {uid: [float(random.Random(f"{step} {text} {i}").random() < 0.3) for i in range(8)]
              for uid, text in zip(uids, texts, strict=True)}  # fmt: skip
    return texts, made.prompts.learn_rates(*graded(scores))


def test_the_draw_is_the_pools_and_its_metrics_are_logged(tmp_path: Path, data: Path) -> None:
    """Against a pool that is fed by hand with the same numbers, in the order of the data."""
    made = started(tmp_path, data, *SQRT, "run.rollouts.pool.rates=true", "run.rollouts.pool.low=0.1")
    assert isinstance(made.train_dataloader, PoolLoader)
    by_hand = Pool(48, Preference("sqrt", low=0.1, responses=8), 5.0, seed=1)
    for problem, (a, b) in enumerate(SUMS):
        by_hand.observe(problem, a + b, 16)
    for step in range(1, 6):
        texts, metrics = one_step(made, step)
        by_hand.begin(step)
        problems = by_hand.draw(8)
        assert texts == [said(*SUMS[problem]) for problem in problems]
        statistics = by_hand.statistics()
        assert metrics == {
            "pacs/pool/believed_mean": statistics["believed"],
            "pacs/pool/effective_count": statistics["effective"],
            "pacs/pool/outside_count": statistics["outside"],
        }
        for problem, text in zip(problems, texts, strict=True):
            by_hand.observe(problem, sum(random.Random(f"{step} {text} {i}").random() < 0.3 for i in range(8)), 8)


def test_a_resumed_run_draws_what_the_run_would_have_drawn(tmp_path: Path, data: Path) -> None:
    settings = (*SQRT, "run.rollouts.pool.rates=true")
    straight = started(tmp_path / "straight", data, *settings)
    texts = [one_step(straight, step) for step in range(1, 7)]
    killed = started(tmp_path / "killed", data, *settings)
    for step in range(1, 4):
        one_step(killed, step)
    torch.save(killed.train_dataloader.state_dict(), tmp_path / "data.pt")
    one_step(killed, 4)  # and is killed
    resumed = started(tmp_path / "resumed", data, *settings)
    resumed.train_dataloader.load_state_dict(read_torch_file(tmp_path / "data.pt"))
    assert [one_step(resumed, step) for step in range(4, 7)] == texts[3:]


@pytest.mark.parametrize(
    ("state", "why"), [({"_snapshot": {}}, "has none"), (None, "has a pool of 47 problems, and there are 48")]
)
def test_a_checkpoint_without_this_pool_begins_one(
    state: dict[str, Any] | None, why: str, tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, fresh = (started(tmp_path / name, data, *SQRT) for name in ("made", "fresh"))
    other = {"pacs_pool": Pool(47, Preference("sqrt"), None, seed=1).state()}
    made.train_dataloader.load_state_dict(other if state is None else state)
    assert f"run.rollouts.pool: the checkpoint {why}: the pool begins anew" in capsys.readouterr().out
    assert one_step(made, 3) == one_step(fresh, 3)


def test_a_target_is_logged(tmp_path: Path, data: Path) -> None:
    curriculum = ("target=0.8", "final_target=0.4", "curriculum_steps=4")
    made = started(
        tmp_path, data, "run.rollouts.pool.weights=target", *(f"run.rollouts.pool.{one}" for one in curriculum)
    )
    targets = [one_step(made, step)[1]["pacs/pool/target_mean"] for step in (1, 3, 5, 9)]
    assert targets == pytest.approx([0.8, 0.6, 0.4, 0.4])


def test_first_responses_alone_are_counted_and_scores_within_0_and_1(tmp_path: Path, data: Path) -> None:
    made = started(tmp_path, data, *SQRT)
    uids, texts = drawn(made, 1)
    made.prompts.learn_rates(*graded({uids[2]: [1.0] * 3 + [-5.0] + [1.0] * 9, uids[5]: [0.5] * 8, uids[0]: [0.0] * 2}))
    assert made.prompts.pool is not None
    rates = dict(zip([said(a, b) for a, b in SUMS], made.prompts.pool._pool.rates.tolist(), strict=True))
    assert rates.pop(texts[2]) == pytest.approx(7.5 / 9)
    assert rates.pop(texts[5]) == pytest.approx(4.5 / 9)
    assert rates.pop(texts[0]) == pytest.approx(0.5 / 3)
    assert set(rates.values()) == {0.5}


def test_without_a_pool_the_loader_is_verls(tmp_path: Path, data: Path) -> None:
    made = started(tmp_path, data)
    assert made.prompts.pool is None
    texts, metrics = one_step(made, 1)
    assert (len(texts), metrics) == (8, {})
