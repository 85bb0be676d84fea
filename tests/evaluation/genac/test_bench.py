"""`pacs genac value-bench` as a user gives it, with engines of the test's own: an actor of known chances, a critic."""

import json
import math
import random
import re
import sys
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from pacs import cli
from pacs.algorithm.genac import SHIPPED
from pacs.base.statistics import estimate
from pacs.evaluation import engines
from pacs.evaluation.engine import EngineFailure, EngineSettings, Finished, Request
from pacs.evaluation.folder import read_task
from pacs.evaluation.genac.quality import INITIAL, RATE
from pacs.evaluation.genac.states import read_states
from tests.evaluation.conftest import write_data, write_model

K, LINES = 6, 4


class Engines:
    """The actor writes lines, and then an answer that is right the likelier the more lines are good; the critic
    counts them."""

    def __init__(self, actor: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(actor)
        self.actor = actor
        self.settings: list[EngineSettings] = []
        self.asked: list[tuple[str, Request]] = []
        self.dies_after = 10**9

    def start(self, settings: EngineSettings, *_: Any) -> list[Any]:
        self.settings.append(settings)
        return []

    def generate(
        self, ready: Any, queue: deque[Request], deliver: Callable[[Finished], None], tick: Any, stop: Any
    ) -> None:
        model = Path(self.settings[-1].model)
        while queue:
            if len(self.asked) == self.dies_after:
                raise EngineFailure("engine 0: it died")
            request = queue.popleft()
            self.asked.append((model.name, request))
            prompt = self.tokenizer.decode(request.prompt)
            if model == self.actor:
                begun = self.tokenizer.decode(request.prompt[len(request.prompt) - request.begun :])
                text = begun + self.written(begun, random.Random(request.seed))
            else:
                text = self.valued(prompt)
            deliver(Finished(request.id, text, 3, False, None, 0))
            tick()

    @staticmethod
    def written(begun: str, drawn: random.Random) -> str:
        there = begun.count("\n")
        text = "".join(drawn.choice(("good\n", "bad \n")) for _ in range(LINES - there))
        right = drawn.random() < (begun + text).count("good") / LINES
        return text + f"\\boxed{{{7 if right else 8}}}"

    @staticmethod
    def valued(prompt: str) -> str:
        partial = re.search(r"<partial_solution>(.*)</partial_solution>", prompt, re.DOTALL)
        assert partial is not None
        if partial[1].count("\n") == 3:
            return "I cannot tell"
        return f"so \\boxed{{{round(10 * expected(partial[1]))}}}"


def expected(partial: str) -> float:
    """The chance of success from there."""
    if "boxed" in partial:
        return float("{7}" in partial)
    return (partial.count("good") + 0.5 * (LINES - partial.count("\n"))) / LINES


@pytest.fixture
def actor(tmp_path: Path) -> Path:
    return write_model(tmp_path / "actor", seed=1)


@pytest.fixture
def critic(tmp_path: Path) -> Path:
    return write_model(tmp_path / "critic", seed=2)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, actor: Path) -> Engines:
    made = Engines(actor)
    monkeypatch.setattr(engines, "cluster", lambda address: nullcontext())
    monkeypatch.setattr(engines, "start_engines", made.start)
    monkeypatch.setattr(engines, "generate", made.generate)
    return made


@pytest.fixture
def bench(
    capsys: pytest.CaptureFixture[str], actor: Path, critic: Path, tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    data = write_data(tmp_path / "sums.parquet", [(0, 7), (1, 6), (2, 5), (3, 4)])
    shifted = write_data(tmp_path / "others.parquet", [(7, 0), (6, 1)])

    def run(*words: object) -> tuple[int, str]:
        capsys.readouterr()
        tasks = f"sums={data},others={shifted}"
        given = (
            actor, "--tasks", tasks, "--critic", critic, "--out", tmp_path / "bench", "--model-size", "1M",
            "--states", 2, "--continuations", K, "--candidates", 4, "--least-tokens", 1, "--max-tokens", 64, *words,
        )  # fmt: skip
        status = cli.main(["genac", "value-bench", *map(str, given)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def test_values_are_compared_with_means_of_continuations(bench: Any, fake: Engines, tmp_path: Path) -> None:
    status, said = bench("--responses", 2)
    assert status == 0, said
    out = tmp_path / "bench"
    results = json.loads((out / "value_bench.json").read_text())
    assert (out / "value_bench.md").read_text() in said
    for task, problems in (("sums", 4), ("others", 2)):
        states, candidates = (read_states(out / "states" / f"{task}{kind}.jsonl") for kind in ("", ".candidates"))
        responses = read_task(out / "responses", task)
        check_states(states, responses, problems, fake.tokenizer)
        values = {}
        for name, some in (("", states), (".candidates", candidates)):
            continued = read_task(out / "continuations", f"{task}{name}").samples
            for state in some:
                assert fake.tokenizer.decode(state.tokens) == state.text
                if state.ended:
                    values[state.id] = expected(state.text)
                    continue
                samples = continued[state.id]
                assert len(samples) == K
                assert all(graded.sample.response.startswith(state.text) for graded in samples)
                values[state.id] = np.mean([graded.sample.response.endswith("{7}") for graded in samples])
        assert sum(state.copies for state in candidates) == 4 * problems
        follows = {state.follows for state in candidates}
        assert len(follows) == problems
        assert all(state.text.startswith(next(s.text for s in states if s.id == state.follows)) for state in candidates)
        check_numbers(results[task], states, candidates, values, responses)


def check_states(states: list[Any], responses: Any, problems: int, tokenizer: Any) -> None:
    """The empty one of each problem, and two of each response, at ends of lines; none twice."""
    assert sum(state.segment == 0 for state in states) == problems
    assert problems < sum(state.segment > 0 for state in states) <= 4 * problems
    assert len({(state.problem, state.text) for state in states}) == len(states)
    for state in states:
        if state.segment:
            _, index, segment = state.id.rsplit(":", 2)
            graded = responses.samples[state.problem][int(index)]
            lines = graded.sample.response.splitlines(keepends=True)
            assert state.text == "".join(lines[: int(segment)])
            assert state.outcome == graded.score


def check_numbers(
    result: Any, states: list[Any], candidates: list[Any], values: dict[str, float], responses: Any
) -> None:
    rate = np.mean([graded.score for some in responses.samples.values() for graded in some])
    assert result["rate"] == pytest.approx(rate)

    def value(state: Any) -> float:
        return rate if state.text.count("\n") == 3 else round(10 * expected(state.text)) / 10

    def error(given: Callable[[Any], float], noisy: bool = False) -> list[float]:
        of_problems: dict[str, list[float]] = {}
        for state in states:
            noise = values[state.id] * (1 - values[state.id]) / (K - 1)
            first = values[f"{state.problem}:"]
            off = (given(state) - values[state.id]) ** 2 - noise - noisy * first * (1 - first) / (K - 1)
            of_problems.setdefault(state.problem, []).append(0.0 if noisy and state.segment == 0 else off)
        return [float(np.mean(some)) for some in of_problems.values()]

    qualities = result["qualities"]
    assert set(qualities) == {RATE, INITIAL, "critic"}
    said = [
        (RATE, error(lambda state: rate)),
        (INITIAL, error(lambda state: values[f"{state.problem}:"], noisy=True)),
        ("critic", error(value)),
    ]
    for name, errors in said:
        assert qualities[name]["error"] == pytest.approx(vars(estimate(errors)))
        share = 1 - np.mean(errors) / result["variance"] if result["variance"] > 1e-9 else None
        assert qualities[name]["explained"] == (None if share is None else pytest.approx(share))
    both = [*states, *candidates]
    unread = np.mean([state.text.count("\n") == 3 for state in both])
    assert qualities["critic"]["unparsable"] == pytest.approx(unread)
    assert unread > 0
    assert sum(one["states"] for one in qualities["critic"]["bins"]) == len(states)
    assert set(qualities["critic"]["top"]) == {"2", "4"}


def test_it_goes_on_where_it_stopped_wherever_that_is(bench: Any, fake: Engines, tmp_path: Path) -> None:
    assert bench()[0] == 0
    every, whole = len(fake.asked), (tmp_path / "bench" / "value_bench.json").read_bytes()
    assert bench()[0] == 0
    assert len(fake.asked) == every
    # Asking another critic leaves the rest as it is.
    other = write_model(tmp_path / "other", seed=5)
    assert bench("--critic", tmp_path / "critic", other)[0] == 0
    asked = {name for name, _ in fake.asked[every:]}
    assert asked == {"other"}
    (tmp_path / "bench").rename(tmp_path / "before")
    fake.asked.clear()
    for stop in (3, 40, every - 2, 10**9):
        fake.dies_after = stop
        status, said = bench()
        assert (status, "it died" in said) == ((0, False) if stop == 10**9 else (1, True))
    assert len(fake.asked) == every
    assert (tmp_path / "bench" / "value_bench.json").read_bytes() == whole


def test_a_critic_that_is_told_another_rate_is_asked_again(bench: Any, fake: Engines) -> None:
    assert bench()[0] == 0
    fake.asked.clear()
    assert bench("--success-rate", "0.25")[0] == 0
    assert {name for name, _ in fake.asked} == {"critic"}
    fake.asked.clear()
    assert bench("--success-rate", "0.25")[0] == 0
    assert fake.asked == []


@pytest.mark.parametrize("chat", [False, True])
def test_what_a_critic_reads(bench: Any, fake: Engines, tmp_path: Path, chat: bool) -> None:
    """The template around the actor's own tokens, plain or in the chat template; and as long as it may be."""
    more = ("--chat",) if chat else ()
    assert bench("--success-rate", "0.25", "--template", "as_printed", "--critic-tokens", 50, *more)[0] == 0
    prompts = [fake.tokenizer.decode(request.prompt) for name, request in fake.asked if name == "critic"]
    states = [
        state for kind in ("", ".candidates") for state in read_states(tmp_path / "bench/states" / f"sums{kind}.jsonl")
    ]
    for state in states:
        problem = f"What is {state.problem}? Think well."
        text = SHIPPED["as_printed"].replace("{success_rate}", "0.25").replace("{model_size}", "1M")
        text = text.replace("{problem}", problem).replace("{partial_solution}", state.text)
        message = [{"role": "user", "content": text}]
        rendered = fake.tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        assert (rendered if chat else text) in prompts
    settings = next(one for one in fake.settings if one.model.endswith("critic"))
    longest = max(len(request.prompt) for name, request in fake.asked if name == "critic")
    assert (settings.sampling.max_tokens, settings.context, settings.sampling.temperature) == (50, longest + 50, 1.0)
    begun = [request for name, request in fake.asked if name == "actor" and request.begun]
    assert {request.begun for request in begun} <= {len(state.tokens) for state in states} | {
        len(state.tokens)
        for kind in ("", ".candidates")
        for state in read_states(tmp_path / f"bench/states/others{kind}.jsonl")
    }


def test_values_of_another_kind_of_critic(bench: Any, fake: Engines, tmp_path: Path) -> None:
    assert bench()[0] == 0
    out = tmp_path / "bench"
    lines = [
        {"task": task, "state": state.id, "value": expected(state.text)}
        for task in ("sums", "others")
        for kind in ("", ".candidates")
        for state in read_states(out / "states" / f"{task}{kind}.jsonl")
    ]
    file = tmp_path / "head.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert bench("--values", file)[0] == 0
    qualities = json.loads((out / "value_bench.json").read_text())["sums"]["qualities"]
    assert list(qualities) == [RATE, INITIAL, "critic", "head"]
    assert qualities["head"]["unparsable"] == 0
    file.write_text("\n".join(map(json.dumps, lines)))  # the last line has no line break
    assert bench("--values", file)[0] == 0
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[1:]))
    status, said = bench("--values", file)
    assert (status, "head has no value of the state 0+7: of sums" in said) == (2, True)
    file.write_text(json.dumps(lines[0] | {"value": math.nan}))
    status, said = bench("--values", file)
    assert (status, "line 1 is damaged (the value nan is no finite number): give" in said) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--template", "as_print"], "Did you mean as_printed?"),
        (["--continuations", 3], "--continuations 3: give at least 4"),
        (["--critic", "no/such/model"], "no such folder"),
        (["--values", "none.jsonl"], "no such file"),
        (["--critic-tokens", 10**6], "--critic-tokens 1000000: the context of --critic"),
    ],
)
def test_what_is_wrong_is_refused(bench: Any, fake: Engines, words: list[object], said: str) -> None:
    status, answer = bench(*words)
    assert status == 2
    assert said in answer


def test_other_states_are_refused_in_a_folder_that_has_some(bench: Any, fake: Engines) -> None:
    assert bench()[0] == 0
    status, said = bench("--states", 1)
    assert status == 2
    assert "was sampled from another data file" in said
    assert bench()[0] == 0


def test_a_candidate_that_has_ended_is_worth_its_outcome(
    bench: Any, fake: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses of a line and an answer: what goes on from the line has ended."""
    monkeypatch.setattr(sys.modules[__name__], "LINES", 1)
    assert bench()[0] == 0
    states, candidates = (
        [state for task in ("sums", "others") for state in read_states(tmp_path / f"bench/states/{task}{kind}.jsonl")]
        for kind in ("", ".candidates")
    )
    ended = [state for state in candidates if state.ended]
    assert 0 < len(ended) < len(candidates)
    assert all(state.outcome == expected(state.text) for state in ended)
    asked = sum(name == "actor" for name, _ in fake.asked)
    assert asked == 6 + K * (len(states) + len(candidates) - len(ended))


def test_a_value_head_is_read_at_the_last_token_of_a_state(
    bench: Any, fake: Engines, actor: Path, tmp_path: Path
) -> None:
    """Its values are those of a pass over a longer text, at that place: nothing later is read."""
    head = write_head(tmp_path / "ppo", actor)
    assert bench("--value-head", tmp_path / "ppo")[0] == 0
    out = tmp_path / "bench"
    qualities = json.loads((out / "value_bench.json").read_text())["sums"]["qualities"]
    assert list(qualities) == [RATE, INITIAL, "critic", "ppo"]
    lines = [json.loads(line) for line in (out / "critics" / "ppo.jsonl").read_text().splitlines()[1:]]
    values = {(line["task"], line["state"]): line["value"] for line in lines}
    assert len({*values.values()}) > len(values) / 2
    later = fake.tokenizer.encode("bad \n", add_special_tokens=False)
    for task in ("sums", "others"):
        problems = {problem.id: problem.prompt for problem in read_task(out / "responses", task).problems}
        for state in [s for kind in ("", ".candidates") for s in read_states(out / f"states/{task}{kind}.jsonl")]:
            prompt = fake.tokenizer.apply_chat_template(
                problems[state.problem], add_generation_prompt=True, return_dict=False
            )
            read = [*prompt, *state.tokens]
            with torch.no_grad():
                expected = head(input_ids=torch.tensor([read + later])).logits[0, len(read) - 1, 0]
            assert values.pop((task, state.id)) == pytest.approx(float(expected), abs=1e-5)
    assert values == {}
    again = bench("--value-head", tmp_path / "ppo")[1]
    assert f"{len(lines):,} states, {len(lines):,} of them are valued" in again


def test_a_folder_without_a_value_head_is_refused(bench: Any, fake: Engines, actor: Path, tmp_path: Path) -> None:
    status, said = bench("--value-head", actor)
    assert (status, "has no value head: give what `pacs export --part critic`" in said) == (2, True)
    write_head(tmp_path / "ppo", actor)
    tokenizer = AutoTokenizer.from_pretrained(actor)
    tokenizer.add_tokens(["<more>"])
    tokenizer.save_pretrained(tmp_path / "ppo")
    status, said = bench("--value-head", tmp_path / "ppo")
    assert (status, "has other tokens than the actor" in said) == (2, True)


def write_head(folder: Path, model: Path) -> Any:
    torch.manual_seed(0)
    head = AutoModelForTokenClassification.from_pretrained(model, num_labels=1, dtype=torch.float32).eval()
    head.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return head
