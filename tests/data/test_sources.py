"""Every known source through the code that loads the real one: from a copy of its repository, and from a hub."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from pacs.data.output import SCHEMA
from pacs.data.sources import INSTRUCTIONS, SOURCES, find_source
from tests.data.conftest import Run, manifest, problems
from tests.data.hub import COMMIT
from tests.data.repositories import CODE_GOLD, REPOSITORIES, Repository, livecodebench

#: The first of each, if there are several.
BY_REPO = {source.repo: source for source in reversed(SOURCES)}


def check(folder: Path, repo: str, repository: Repository, revision: str) -> None:
    """What was prepared is what the copy has."""
    source = BY_REPO[repo]
    split = "train" if source.training else "test"
    rows = problems(folder / f"{split}.parquet")
    assert {row["data_source"] for row in rows} == {source.name}
    assert [row["extra_info"]["id"] for row in rows] == repository.ids
    assert [row["extra_info"]["index"] for row in rows] == list(range(len(rows)))
    assert rows[0]["extra_info"]["difficulty"] == repository.difficulty
    if repository.golds:
        assert [row["reward_model"]["ground_truth"] for row in rows] == repository.golds
    if repository.questions:
        asked = [row["prompt"][-1]["content"] for row in rows]
        assert asked == [f"{question}\n{INSTRUCTIONS[source.verifier]}" for question in repository.questions]
    assert manifest(folder)["dropped"] == repository.dropped
    for row in rows:
        info = row["extra_info"]
        assert (info["split"], info["source"], info["revision"]) == (split, repo, revision)
        assert info["verifier"] == source.verifier
    assert manifest(folder)["revision"] == revision


def test_every_source_has_its_copy() -> None:
    assert BY_REPO.keys() == REPOSITORIES.keys()


@pytest.mark.parametrize("repo", REPOSITORIES)
def test_from_a_copy_of_the_repository(repo: str, tmp_path: Path, run: Run) -> None:
    REPOSITORIES[repo].write(tmp_path / "copy")
    status, out, err = run("prepare", repo, "--from", tmp_path / "copy", "--out", tmp_path / "out")
    assert status == 0, err
    check(tmp_path / "out", repo, REPOSITORIES[repo], manifest(tmp_path / "out")["settings"]["revision"])
    assert f"{len(REPOSITORIES[repo].ids)} kept" in out


def test_a_name_is_its_first_repository(tmp_path: Path, run: Run) -> None:
    REPOSITORIES["math-ai/aime25"].write(tmp_path / "copy")
    assert run("prepare", "aime25", "--from", tmp_path / "copy" / "test.jsonl", "--out", tmp_path / "out")[0] == 0
    assert manifest(tmp_path / "out")["repo"] == "math-ai/aime25"


def test_orz_is_read_from_its_file_too(tmp_path: Path, run: Run) -> None:
    REPOSITORIES["Open-Reasoner-Zero/orz_math_57k_collection"].write(tmp_path)
    file = (tmp_path / "orz_math_57k_collection.json").rename(tmp_path / "orz_math_57k_collected.json")
    assert run("prepare", "orz", "--from", file, "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["\\frac{3}{4}", "B"]


@pytest.mark.parametrize("words", [["gsm8k_test"], ["gsm8k", "--split", "test"], ["openai/gsm8k", "--split", "test"]])
def test_gsm8k_is_for_both(words: list[str], tmp_path: Path, run: Run) -> None:
    REPOSITORIES["openai/gsm8k"].write(tmp_path / "copy")
    assert run("prepare", *words, "--from", tmp_path / "copy", "--out", tmp_path / "out")[0] == 0
    (row,) = problems(tmp_path / "out" / "test.parquet")
    assert (row["data_source"], row["reward_model"]["ground_truth"]) == ("gsm8k_test", "-70000.50")
    assert row["prompt"][0]["content"].startswith("How much, in test?\n")


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--release", "release_v3"], ["from_test2", "from_test3"]),
        (["--release", "release_v6"], ["from_test2", "from_test3", "from_test4", "from_test6"]),
        (["--window", "2024-06-30", "2024-07-01"], ["from_test", "from_test2"]),
        (["--window", "2025-01-02", "2025-01-02"], ["from_test5"]),
    ],
)
def test_releases_and_days_of_livecodebench(words: list[str], ids: list[str], tmp_path: Path, run: Run) -> None:
    livecodebench(tmp_path / "copy")
    status, _, err = run("prepare", "livecodebench", "--from", tmp_path / "copy", "--out", tmp_path / "out", *words)
    assert status == 0, err
    rows = problems(tmp_path / "out" / "test.parquet")
    assert [row["extra_info"]["id"] for row in rows] == ids
    assert {row["reward_model"]["ground_truth"] for row in rows} == {CODE_GOLD}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("mth500", "math500"),
        ("deepscalr", "deepscaler"),
        ("Aime2024", "aime24"),
        ("huggingfaceh4/math-500", "HuggingFaceH4/MATH-500"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"{name} is neither a known source nor a file. Did you mean .*{nearest}"):
        find_source(name)


# Commands, a list each, in one process: `datasets` takes its time to be imported.
GIVE = """
import json, sys
from pacs import cli
for words in json.load(sys.stdin):
    print("status", cli.main(["data", "prepare", *words]), flush=True)
    print("status", file=sys.stderr, flush=True)
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a hub on this machine has the copies; GPQA's is gated, AMC's answers slowly."""
    folder = tmp_path_factory.mktemp("hub")
    for repo, repository in REPOSITORIES.items():
        repository.write(folder / repo)
    (folder / "Idavidrein/gpqa/.gated").touch()
    (folder / "zwhe99/amc23/.slow").touch()
    command = [sys.executable, "-m", "tests.data.hub", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
            "HF_ENDPOINT": address,
            "HF_HOME": str(tmp_path_factory.mktemp("home")),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        server.communicate("")


def give(env: dict[str, str], *commands: list[str]) -> tuple[list[str], list[str]]:
    """What each command said on stdout, its status last, and on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", GIVE], env=env, input=json.dumps(commands), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    # Whatever else is said there (the hub's clients warn) is not ours.
    errors = [
        "\n".join(line for line in said.splitlines() if line.startswith(("pacs", "WARNING: no evaluation")))
        for said in done.stderr.split("status\n")
    ]
    outputs = done.stdout.split("status ")
    statuses = [part.split("\n", 1)[0] for part in outputs[1:]]
    said = [outputs[0], *(part.split("\n", 1)[1] for part in outputs[1:-1])]
    return [f"{text}{status}" for text, status in zip(said, statuses, strict=True)], errors


@pytest.mark.slow
def test_from_the_hub(hub: dict[str, str], tmp_path: Path) -> None:
    repos = [repo for repo in REPOSITORIES if repo != "zwhe99/amc23"]
    commands = [[repo, "--out", str(tmp_path / repo / "out")] for repo in repos]
    said, errors = give({**hub, "HF_TOKEN": "hf_someone"}, *commands)
    assert len(said) == len(repos)
    for repo, text, error in zip(repos, said, errors, strict=False):
        assert text.endswith("\n0"), (repo, error)
        check(tmp_path / repo / "out", repo, REPOSITORIES[repo], BY_REPO[repo].revision or COMMIT)


@pytest.mark.slow
def test_what_the_hub_refuses(hub: dict[str, str], tmp_path: Path) -> None:
    commands = [
        ["gpqa_diamond", "--out", str(tmp_path / "gpqa")],
        ["math500", "--revision", "v7", "--out", str(tmp_path / "math500")],
    ]
    said, errors = give(hub, *commands)
    assert said == ["2", "2"]
    assert errors[0] == (
        "pacs data prepare: Idavidrein/gpqa is gated: accept its terms on "
        f"{hub['HF_ENDPOINT']}/datasets/Idavidrein/gpqa, then set HF_TOKEN to a token of that account"
    )
    assert errors[1] == "pacs data prepare: HuggingFaceH4/MATH-500 has no such --revision"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "words"),
    [
        # Nobody listens on port 9.
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hugging Face Hub cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set: unset it, or"),
    ],
)
def test_no_network_is_said_at_once(env: dict[str, str], words: str, tmp_path: Path) -> None:
    said, errors = give({**os.environ, **env}, ["livecodebench", "--out", str(tmp_path / "out")])
    assert said == ["2"]
    assert errors[0].startswith(f"pacs data prepare: livecodebench/code_generation_lite: {words}")
    assert errors[0].endswith("--local-dir DIR`, then here --from DIR")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing(number: signal.Signals, hub: dict[str, str], tmp_path: Path) -> None:
    words = ["zwhe99/amc23", "--out", str(tmp_path / "out")]
    command = [sys.executable, "-c", GIVE]
    # A shell in the background has its children ignore Ctrl-C.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=hub, text=True, preexec_fn=heed, **pipes) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps([words]))
        process.stdin.close()
        process.stdin = None
        while not list(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(number)
        error = process.communicate(timeout=60)[1]
    assert f"pacs data prepare: interrupted; {tmp_path / 'out'} is as it was" in error
    assert list(tmp_path.iterdir()) == []


def test_all_files_have_one_schema(tmp_path: Path, run: Run) -> None:
    import pyarrow.parquet as pq

    for name in ("math500", "gpqa_diamond", "livecodebench"):
        repo = find_source(name).repo
        REPOSITORIES[repo].write(tmp_path / "copies" / name)
        assert run("prepare", name, "--from", tmp_path / "copies" / name, "--out", tmp_path / name)[0] == 0
        assert pq.read_schema(tmp_path / name / "test.parquet").equals(SCHEMA)
