"""The page of support along runs: its counts against sets of problems, its records by what `pacs support` wrote."""

import json
import random
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from recipes.countdown import support


def test_kinds_and_metrics_are_those_of_sets_of_problems() -> None:
    rng = random.Random(0)
    base, right = ([rng.choice([0, 0, 1, 2, 5]) for _ in range(40)] for _ in range(2))
    for least in support.RIGHT:
        before, after = ({i for i, n in enumerate(each) if n >= least} for each in (base, right))
        found = support.measured(base, right, 5, least)
        assert found == pytest.approx(
            {
                "pass@1": sum(right) / 200,
                "kept": len(before & after),
                "gained": len(after - before),
                "lost": len(before - after),
                "neither": 40 - len(before | after),
                "SRR": len(before & after) / len(before),
                "NDR": len(after - before) / len(after),
                "NSCR": (len(after) - len(before)) / len(before | after),
            }
        )


def written(folder: Path, problems: dict[str, list[int]], steps: list[int]) -> Path:
    folder.mkdir(parents=True)
    tasks = {"countdown": {"right_of_k": {"k": 8, "problems": problems}}}
    settings = {"policies": [{"step": step} for step in steps]}
    (folder / "support.json").write_text(json.dumps({"settings": settings, "tasks": tasks}))
    return folder


def test_a_run_that_is_added_again_replaces_its_record(tmp_path: Path) -> None:
    records = tmp_path / "support.jsonl"
    records.write_text("")
    support.add([written(tmp_path / "a/pacs_paper-3", {"x": [0, 4], "y": [8, 2]}, [0, 10])], records)
    support.add([written(tmp_path / "b/grpo-0", {"x": [0, 1], "y": [8, 1]}, [0, 10])], records)
    support.add([written(tmp_path / "c/pacs_paper-3", {"x": [0, 5], "y": [8, 3]}, [0, 10])], records)
    assert support.read(records) == [
        {"method": "grpo", "seed": 0, "samples": 8, "right": {"0": [0, 8], "10": [1, 1]}},
        {"method": "pacs_paper", "seed": 3, "samples": 8, "right": {"0": [0, 8], "10": [5, 3]}},
    ]


def test_two_evaluations_are_two_draws_of_the_start(tmp_path: Path) -> None:
    folder = written(tmp_path / "start-1", {"x": [0, 4], "y": [8, 2]}, [])
    found = json.loads((folder / "support.json").read_text())
    found["settings"]["policies"] = [{"name": "a"}, {"name": "b"}]
    (folder / "support.json").write_text(json.dumps(found))
    assert support.record(folder)["right"] == {"0": [0, 8], "drawn again": [4, 2]}


def test_a_folder_that_names_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="call it METHOD-SEED"):
        support.record(written(tmp_path / "pacs", {"x": [0, 4]}, [0, 10]))
    (tmp_path / "pacs-0").mkdir()
    with pytest.raises(UserError, match="has no countdown: run `pacs support RUN"):
        support.record(tmp_path / "pacs-0")


def test_runs_with_other_samples_share_no_page() -> None:
    first, *others = support.read()
    with pytest.raises(UserError, match="has 16 samples of 128 problems, and others 64 of 128"):
        support.page([first, *others, first | {"seed": 9, "samples": 16}])


def test_the_page_is_that_of_the_records() -> None:
    assert support.PAGE.read_text(encoding="utf-8") == support.page(support.read()), (
        "run `python -m recipes.countdown.support`"
    )
