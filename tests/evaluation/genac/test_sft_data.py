"""`pacs genac sft-data` as a user gives it, beside a server on this machine."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pacs import cli
from pacs.algorithm.genac import CriticTemplate
from pacs.data.chat_template import load_tokenizer
from pacs.evaluation.folder import Store, read_task, write_problems
from pacs.evaluation.genac import teacher
from pacs.evaluation.genac.critic import Critic, StateSet, critic_prompts, found_critic
from pacs.evaluation.genac.states import Cuts, choose_states
from pacs.evaluation.genac.templates import Asking
from pacs.evaluation.grade import grade
from tests.evaluation.folders import MODEL, TASK, problems, sample_of, settings_of
from tests.evaluation.genac.servers import Script, says, serving

KEY = "a secret of mine"
#: Three problems: the empty response of each, and two places in each of its four responses.
STATES = 3 * (1 + 4 * 2)

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    """An evaluation whose responses begin differently."""
    out, settings = tmp_path / "evaluation", settings_of(samples=4)
    write_problems(out, TASK, problems())
    settings.write(out)
    store = Store(out, TASK, MODEL.prefix)
    for problem in problems():
        for index in range(4):
            sample = sample_of(problem, index)
            sample = replace(sample, response=f"{index}. {sample.response}")
            store.add(sample)
            store.add_grade(grade(problem, sample, settings.verifiers))
    store.close()
    return out


def words(evaluation: Path, model: Path, out: Path, url: str, *more: object) -> list[str]:
    given = (
        "genac", "sft-data", evaluation, "--server", url, "--teacher", "gpt-5", "--model-size", "8B", "--states", 2,
        "--least-tokens", 1, "--most-tokens", 2, "--tokenizer", model, "--out", out, *more,
    )  # fmt: skip
    return list(map(str, given))


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, evaluation: Path, model: Path, tmp_path: Path
) -> Command:
    monkeypatch.setattr(teacher, "FIRST_PAUSE", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(url: str, *more: object) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(words(evaluation, model, tmp_path / "traces", url, *more))
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def rows(out: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(out / "train.parquet").to_pylist())


def test_traces_that_can_be_read_are_written(command: Command, tmp_path: Path) -> None:
    scores = ["\\boxed{3}", "I do not know", "so \\boxed{10}", "\\boxed{7"]
    turns, kinds = itertools.count(), dict[str, int]()

    def script(body: dict[str, Any], before: int) -> Any:
        number = kinds[body["messages"][0]["content"]] = next(turns) % 4
        return says(f"It is {scores[number]}", "length" if number == 3 else "stop")

    with serving(script) as asked:
        status, said = command(asked.url, "--request", '{"reasoning_effort": "low"}', "--success-rate", 0.29)
    assert status == 0, said
    assert (asked.paths, asked.keys) == ({"/v1/chat/completions"}, {f"Bearer {KEY}"})
    assert {body["model"] for body in asked.bodies} == {"gpt-5"}
    assert {body["reasoning_effort"] for body in asked.bodies} == {"low"}
    assert len(asked.questions) == len(set(asked.questions)) == STATES
    readable = [question for question, number in kinds.items() if number in (0, 2)]
    made = rows(tmp_path / "traces")
    assert f"14 of {STATES} traces end in a score" in said
    assert "7 without a score" in said
    assert "6 cut off" in said
    assert KEY not in said
    template = CriticTemplate()
    of_problem = {problem.id: problem.prompt[0]["content"] for problem in problems()}
    for row in made:
        assert "messages" not in row
        user, assistant = row["prompt"], row["response"]
        head = template.head(of_problem[row["extra_info"]["problem"]], 0.29, "8B")
        partial = user.removeprefix(head).removesuffix(template.tail)
        assert head + partial + template.tail == user
        segment = row["extra_info"]["segment"]
        assert partial == "" if segment == 0 else re.match(r"[0-3](\.|$)", partial)
        assert (row["extra_info"]["outcome"] is None) == (segment == 0)
        assert assistant.startswith("It is ")
        assert row["extra_info"]["score"] == (3 if kinds[user] == 0 else 10)
    assert sorted(row["prompt"] for row in made) == sorted(readable)


@pytest.mark.parametrize("chat", [False, True])
def test_the_critic_is_asked_as_it_was_taught(command: Command, model: Path, tmp_path: Path, chat: bool) -> None:
    """The tokens that a trainer makes of a row are those that value-bench asks, plain (as in training) or with --chat;
    and no row has the other form, which a trainer would take without a word."""
    more = ["--chat"] if chat else []
    with serving(lambda body, before: says("so \\boxed{3}")) as asked:
        status, said = command(asked.url, "--success-rate", 0.29, *more)
    assert status == 0, said
    evaluation, tokenizer = tmp_path / "evaluation", load_tokenizer(str(model))
    task = read_task(evaluation, TASK)
    states = choose_states(task, tokenizer, Cuts(least_tokens=1, most_tokens=2), 2, 0)
    sets = {TASK: StateSet(states, {problem.id: problem.prompt for problem in task.problems}, 0.29)}
    critic = Critic(str(model), Asking(CriticTemplate(), "8B"), str(model), chat=chat)
    asked_of = critic_prompts(critic, found_critic(str(model), 64, chat=chat), sets)
    made = rows(tmp_path / "traces")
    assert len(made) == len(asked_of) == STATES
    for row in made:
        key = row["extra_info"]["id"]
        if chat:
            assert not row.keys() & {"prompt", "response"}
            taught = tokenizer.apply_chat_template(row["messages"][:1], add_generation_prompt=True, tokenize=False)
        else:
            assert "messages" not in row
            taught = row["prompt"]
        assert tokenizer.decode(asked_of[TASK, key.removeprefix(f"{TASK}/")]) == taught


def test_what_fails_is_tried_again(command: Command, tmp_path: Path) -> None:
    """A busy server, one that breaks off, one that fails; each question comes through at its fourth try."""

    def script(body: dict[str, Any], before: int) -> Any:
        ways = [(429, {"error": "busy"}, {"Retry-After": "0"}), None, (503, "down", {"Retry-After": "no date"})]
        return ways[before] if before < 3 else says("\\boxed{5}")

    with serving(script) as asked:
        status, said = command(asked.url)
    assert status == 0, said
    assert len(asked.bodies) == 4 * STATES
    assert len(rows(tmp_path / "traces")) == STATES


def test_a_server_that_asks_for_a_pause_gets_it(command: Command) -> None:
    times: list[float] = []

    def script(body: dict[str, Any], before: int) -> Any:
        times.append(time.monotonic())
        return (429, "busy", {"Retry-After": "0.5"}) if len(times) == 1 else says("\\boxed{5}")

    with serving(script) as asked:
        assert command(asked.url)[0] == 0
    assert times[1] - times[0] >= 0.5


def test_it_goes_on_where_the_server_failed(command: Command, tmp_path: Path) -> None:
    served, answered = threading.Semaphore(10), set()

    def fails(body: dict[str, Any], before: int) -> Any:
        if not served.acquire(blocking=False):
            return 500, f"no {KEY} today", {}
        answered.add(body["messages"][0]["content"])
        return says("\\boxed{1}")

    with serving(fails) as asked:
        status, said = command(asked.url, "--tries", 2, "--parallel", 4)
    assert status == 1
    assert "status 500: no (not shown) today" in said
    assert "the same command goes on from there" in said
    assert not (tmp_path / "traces" / "train.parquet").exists()
    with serving(lambda body, before: says("\\boxed{2}")) as later:
        status, said = command(later.url)
    assert status == 0, said
    assert len(later.questions) == STATES - 10
    assert answered.isdisjoint(later.questions)
    assert {row["extra_info"]["score"] for row in rows(tmp_path / "traces")} == {1, 2}
    with serving(lambda body, before: says("\\boxed{3}")) as again:
        assert command(again.url)[0] == 0
    assert again.questions == []


@pytest.mark.parametrize("kept", [0, 9])
def test_a_line_that_was_cut_off_is_made_up_for(command: Command, tmp_path: Path, kept: int) -> None:
    """As by a full disk: of an answer, or of the first line, which says of what they are."""
    file = tmp_path / "traces" / "traces.jsonl"
    with serving(lambda body, before: says("\\boxed{2}")) as asked:
        assert command(asked.url)[0] == 0
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + STATES
    file.write_bytes(b"".join(lines[:kept]) + lines[kept][:-9])
    with serving(lambda body, before: says("\\boxed{7}")) as later:
        status, said = command(later.url)
    assert status == 0, said
    assert len(later.questions) == 1 + STATES - max(kept, 1)
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 1 + STATES
    assert len(rows(tmp_path / "traces")) == STATES


def test_what_is_under_way_at_a_signal_is_kept(evaluation: Path, model: Path, tmp_path: Path) -> None:
    started = threading.Event()

    def slow(body: dict[str, Any], before: int) -> Any:
        if len(asked.bodies) > 3:
            started.set()
            time.sleep(2)
        return says("\\boxed{4}")

    with serving(slow) as asked:
        line = words(evaluation, model, tmp_path / "traces", asked.url, "--parallel", 3)
        process = subprocess.Popen(
            [sys.executable, "-m", "pacs", *line], env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        assert started.wait(120), process.communicate()[0]
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 75, output
    assert "stopped by SIGTERM" in output
    kept = [json.loads(one) for one in (tmp_path / "traces" / "traces.jsonl").read_text().splitlines()[1:]]
    assert len(kept) == len(asked.questions) == len(set(asked.questions)) < STATES
    with serving(lambda body, before: says("\\boxed{2}")) as later:
        assert cli.main(words(evaluation, model, tmp_path / "traces", later.url)) == 0
    assert set(later.questions).isdisjoint(asked.questions)
    assert len(later.questions) + len(kept) == STATES


def test_no_more_are_asked_at_a_time_than_may_be(command: Command) -> None:
    def script(body: dict[str, Any], before: int) -> Any:
        time.sleep(0.12)
        return says("\\boxed{4}")

    with serving(script) as asked:
        assert command(asked.url, "--parallel", 3)[0] == 0
    assert 1 < asked.most_at_a_time <= 3


def test_no_more_are_asked_in_a_minute_than_may_be(command: Command) -> None:
    """The server answers at once: without the limit they would be done in a fraction of the time."""
    times: list[float] = []

    def script(body: dict[str, Any], before: int) -> Any:
        times.append(time.monotonic())
        return says("\\boxed{4}")

    with serving(script) as asked:
        assert command(asked.url, "--parallel", STATES, "--per-minute", 300)[0] == 0
    assert max(times) - min(times) >= 0.9 * (STATES - 1) * 0.2


def refusing(status: int, said: Any = "no") -> Script:
    return lambda body, before: (status, said, {})


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (refusing(401, f"wrong key {KEY}"), "status 401: wrong key (not shown): check --server, --teacher and the key"),
        (refusing(404), "status 404"),
        (refusing(400, "no such field"), "the server refuses the first question with status 400: no such field"),
        (refusing(200, "<html>"), "does not answer as a server of chat completions does"),
        (lambda body, before: says("nothing"), "none of its 27 answers ends in a score"),
    ],
)
def test_a_server_that_answers_nothing_of_use(command: Command, script: Script, said: str) -> None:
    with serving(script) as asked:
        status, answer = command(asked.url)
    assert status == 2
    assert said in answer
    assert KEY not in answer
    assert len(asked.bodies) in (1, STATES)


def test_a_question_that_is_refused_later_is_counted(command: Command, tmp_path: Path) -> None:
    with serving(lambda body, before: says("\\boxed{2}") if len(asked.bodies) != 5 else (400, "too long", {})) as asked:
        status, said = command(asked.url, "--parallel", 1)
    assert status == 0, said
    assert f"{STATES - 1} of {STATES} traces end in a score (1 refused by the server)" in said
    assert len(rows(tmp_path / "traces")) == STATES - 1


def test_without_a_key_none_is_sent(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_KEY", "another")
    with serving(lambda body, before: says("\\boxed{2}")) as asked:
        assert command(asked.url, "--key-variable", "MY_KEY")[0] == 0
    assert asked.keys == {"Bearer another"}
    monkeypatch.delenv("MY_KEY")
    with serving(lambda body, before: says("\\boxed{2}")) as asked:
        assert command(asked.url, "--key-variable", "MY_KEY", "--seed", 1)[0] == 2  # other states
        assert asked.bodies == []
        assert command(asked.url, "--key-variable", "MY_KEY", "--out", tmp_path / "other")[0] == 0
    assert asked.keys == {None}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--request", "[]"], "--request []: give a JSON object"),
        (["--request", '{"model": "x"}'], "without model, messages, stream and n"),
        (["--tasks", "math500"], "--tasks math500: "),
        (["--template", "none"], "--template none: no such file"),
        (["--server", "localhost:8000"], "give a URL as http://localhost:8000/v1"),
        (["--tokenizer", "no/such/folder"], "name a folder that has it by --tokenizer"),
        (["--server", "http://127.0.0.1:9/v1", "--tries", 1], "ConnectError"),
    ],
)
def test_what_is_wrong_is_refused(command: Command, more: list[object], said: str) -> None:
    status, answer = command("http://127.0.0.1:9/v1", *more)
    assert status == (1 if said == "ConnectError" else 2)
    assert said in answer


def test_other_questions_are_refused_in_a_folder_that_has_answers(command: Command) -> None:
    with serving(lambda body, before: says("\\boxed{2}")) as asked:
        assert command(asked.url)[0] == 0
        status, said = command(asked.url, "--template", "as_printed")
    assert status == 2
    assert "has traces with another template, questions: give the same, or another --out" in said
