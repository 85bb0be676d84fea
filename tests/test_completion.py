"""What a shell is offered, by argcomplete's own protocol."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.completion import LINE


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pacs da", {"data"}),
        ("pacs data ", {"prepare", "stats", "show", "list", "-h", "--help"}),
        ("pacs evaluate sh", {"show"}),
        ("pacs evaluate show --pro", {"--problem"}),
        ("pacs train --config-name d", {"dapo", "disco", "dppo_kl", "dppo_tv", "dr_grpo"}),
        ("pacs train recipe=s", {"recipe=smoke"}),
        ("pacs train -v trainer.total_tr", {"trainer.total_training_steps="}),
        ("pacs plan +hardware=h100", {"+hardware=h100x8"}),
        ("pacs plan har", {"hardware="}),
        ("pacs train actor_rollout_ref.actor.opti", {"actor_rollout_ref.actor.optim."}),
        ("pacs train --config-name grpo pacs.estim", set()),
        ("pacs train --config-name nothing algo", set()),
    ],
)
def test_what_may_follow(line: str, words: set[str], tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        LINE: line, "COMP_POINT": str(len(line)),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pacs"], env=os.environ | asked, capture_output=True, check=True)
    assert done.stdout == b""
    assert {word.strip() for word in answer.read_text().split("\n")} - {""} == words
