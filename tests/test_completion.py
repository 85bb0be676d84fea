"""What a shell is offered: by argcomplete's own protocol, and by a real bash in a terminal."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.cli import parser_of
from pacs.completion import LINE
from pacs.completion.choices import OFFERED
from pacs.data.sources import SOURCES
from pacs.evaluation.tasks import NAMES
from pacs.sweeps.definition import read_sweep, sweep_files
from tests.evaluation.folders import TASK, write_evaluation

OPTIONS = {"-h", "--help"}
REPOSITORY = Path(__file__).parents[1]
SLOW = {"torch", "transformers", "vllm", "ray", "matplotlib", "datasets", "sympy", "verl"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder: two runs, one with a checkpoint, an evaluation, a prepared set, a model, and files."""
    here = tmp_path_factory.mktemp("place")
    for name in ("outputs/pacs/one", "outputs/pacs/two"):
        (here / name / "checkpoints" / "global_step_4").mkdir(parents=True)
        (here / name / "run.json").write_text("{}")
    (here / "outputs/pacs/one/checkpoints/global_step_4/complete.json").write_text("{}")
    (here / "outputs/pacs/not yet a run").mkdir()
    (here / "outputs/pacs/notes.txt").write_text("")
    (here / "outputs/results.json").write_text("{}")
    (here / "cut").mkdir()
    (here / "cut/budgets.json").write_text("{}")
    write_evaluation(here / "outputs/evaluated")
    for name in ("data/mine/test.parquet", "data/mine/notes.txt", "model/config.json"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("")
    return here


def ask(line: str, place: Path) -> set[str]:
    """The words that are offered; nothing that is slow was imported for them (torch alone takes seconds)."""
    answer = place / "answer"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        LINE: line, "COMP_POINT": str(len(line.encode())), "PYTHONPATH": str(REPOSITORY),
    }  # fmt: skip
    python = [sys.executable, "-X", "importtime", "-m", "pacs"]
    done = subprocess.run(python, env=os.environ | asked, capture_output=True, check=True, cwd=place)
    assert done.stdout == b""
    imported = set(re.findall(r"\| +([\w.]+)$", done.stderr.decode(), re.MULTILINE))
    assert "argcomplete" in imported
    assert not imported & SLOW
    words = answer.read_text()
    answer.unlink()
    return {word.strip() for word in words.split("\n")} - {""}


#: A line, and what is offered at its end.
FOLLOWS = [
    ("pacs da", {"data"}),
    ("pacs data ", {"prepare", "stats", "show", "list", "rate", "baseline", *OPTIONS}),
    ("pacs evaluate sh", {"show"}),
    ("pacs evaluate show --pro", {"--problem"}),
    ("pacs train --config-name d", {"dapo", "disco", "distillation", "dppo_kl", "dppo_tv", "dr_grpo"}),
    ("pacs train --cfg job --res", {"--resolve"}),
    ("pacs inspect ~nobody-has-this-name/", set()),
    ("pacs plan --config-name=di", {"--config-name=disco", "--config-name=distillation"}),
    ("pacs doctor --config-name dr", {"dr_grpo"}),
    ("pacs train recipe=s", {"recipe=smoke", "recipe=spelled_sums"}),
    ("pacs train recipe=smoke,s", set()),
    ("pacs train -v trainer.total_tr", {"trainer.total_training_steps="}),
    ("pacs plan +hardware=h100", {"+hardware=h100x8"}),
    ("pacs plan har", {"hardware="}),
    ("pacs train actor_rollout_ref.actor.optim.lr_s", {"actor_rollout_ref.actor.optim.lr_scheduler_type="}),
    ("pacs train --config-name grpo method.estim", set()),
    ("pacs train --config-name nothing algo", set()),
    ("pacs plan --gpu h", {"h200", "h100"}),
    ("pacs sweep q", {"qwen3_4b", "qwen3_8b"}),
    ("pacs sweep family --algorithms pacs,pac", {"pacs,pacs_paper", "pacs,pacs_authors"}),
    ("pacs sweep baselines --tasks math500,a", {f"math500,{name}" for name in ("amc23", "aime24", "aime25", "aime26")}),
    ("pacs sweep baselines --samples ai", {"aime24=", "aime25="}),
    ("pacs sweep baselines method.estim", {"method.estimator="}),
    ("pacs sweep methods recipe=arithmetic,s", {"recipe=arithmetic,smoke", "recipe=arithmetic,spelled_sums"}),
    ("pacs data prepare d", {"dapo", "deepscaler", "deepmath", "data/"}),
    ("pacs data prepare zwhe99/", {"zwhe99/amc23", "zwhe99/DeepMath-103K"}),
    ("pacs data prepare x --verifier m", {"math", "multiple_choice"}),
    ("pacs data prepare x --evaluation data/", {"data/mine"}),
    ("pacs evaluate m", {"model"}),
    ("pacs evaluate model --tasks=ol", {"--tasks=olympiadbench"}),
    ("pacs evaluate model --tasks aime24,mine=data/mine/", {"aime24,mine=data/mine/test.parquet"}),
    ("pacs evaluate model --tasks aime24,mine=data/mine/test.parquet --k ", {"aime24=", "mine="}),
    ("pacs evaluate model --reward-kwargs math.un", {"math.unboxed=true", "math.unboxed=false"}),
    ("pacs evaluate show outputs/", {"outputs/evaluated", "outputs/pacs/"}),
    ("pacs evaluate show outputs/evaluated --task ", {TASK}),
    ("pacs support outputs/evaluated outputs/evaluated --task ", {TASK}),
    ("pacs support outputs/", {"outputs/evaluated", "outputs/pacs/"}),
    ("pacs support outputs/pacs/one --steps ", {"4"}),
    ("pacs support outputs/pacs/one --initial m", {"model"}),
    ("pacs support outputs/pacs/one --tasks=ol", {"--tasks=olympiadbench"}),
    ("pacs diversity nowhere --task ", set()),
    ("pacs evaluate compare --reported PACS", {"PACS-4B", "PACS-8B"}),
    ("pacs report outputs/", {"outputs/evaluated/", "outputs/pacs/", "outputs/results.json"}),
    ("pacs report outputs/pacs/", {"outputs/pacs/one", "outputs/pacs/two", "outputs/pacs/not\\ yet\\ a\\ run/"}),
    ("pacs report outputs/pacs/one --budgets cu", {"cut"}),
    ("pacs export outputs/pacs/one/checkpoints/", {"outputs/pacs/one/checkpoints/global_step_4"}),
    ("pacs export outputs/pacs/two/checkpoints/", {"outputs/pacs/two/checkpoints/global_step_4/"}),
    ("pacs export nowhere/", set()),
    ("pacs inspect outputs/pacs/", {"outputs/pacs/one", "outputs/pacs/two", "outputs/pacs/not\\ yet\\ a\\ run/"}),
    ("pacs genac ", {"value-bench", "sft-data", *OPTIONS}),
    ("pacs genac value-bench m", {"model"}),
    ("pacs genac value-bench model --template as_", {"as_printed", "as_printed_unconditioned"}),
    ("pacs genac value-bench model --tasks=ol", {"--tasks=olympiadbench"}),
    ("pacs genac sft-data outputs/", {"outputs/evaluated", "outputs/pacs/"}),
    ("pacs genac sft-data outputs/evaluated --tasks ", {TASK}),
    ("pacs runs o", {"outputs/"}),
    ("pacs evaluate grade outputs/ev", {"outputs/evaluated"}),
    ("pacs evaluate budgets outputs/", {"outputs/evaluated", "outputs/pacs/"}),
    ("pacs support outputs/pacs/one --evaluations outputs/", {"outputs/evaluated/", "outputs/pacs/"}),
    ("pacs data stats --n", {"--no-thinking"}),
    ("pacs data stats data/", {"data/mine"}),
    ("pacs data show data/mine/", {"data/mine/test.parquet"}),
    ("pacs data prepare x --model m", {"model"}),
    ("pacs genac value-bench model --value-head m", {"model"}),
    ("pacs data show --n", {"--no-thinking"}),
]  # fmt: skip
#: One line in so many is tried without `--all`; a real bash completes fifteen more.
EACH = 3


@pytest.mark.parametrize(
    ("line", "words"),
    [pytest.param(*each, marks=pytest.mark.long if i % EACH else ()) for i, each in enumerate(FOLLOWS)],
)
def test_what_may_follow(line: str, words: set[str], place: Path) -> None:
    assert ask(line, place) == words


def test_every_name_is_offered(place: Path) -> None:
    offered = ask("pacs sweep ", place)
    assert set(sweep_files()) < offered
    assert all(word in sweep_files() or word.startswith("-") for word in offered)
    assert set(read_sweep("family").algorithms) == ask("pacs sweep family --algorithms ", place)
    assert {source.name for source in SOURCES} < ask("pacs data prepare ", place)
    assert set(NAMES) == ask("pacs evaluate model --tasks ", place)


def test_what_is_alone_is_gone_on_from() -> None:
    """A shell ends a word that is the only one, and the key of a section goes on."""
    found = ask("pacs train actor_rollout_ref.actor.opti", REPOSITORY / "tests")
    assert len(found) > 5
    assert all(word.startswith("actor_rollout_ref.actor.optim.") for word in found)


def test_values_are_of_arguments_that_there_are() -> None:
    for command, offers in OFFERED.items():
        if command != "train":
            assert offers.keys() <= {action.dest for action in parser_of(command)._actions}, command


BASH = """\
PS1=; PATH={bin}:$PATH; export PYTHONPATH={repository}
eval "$(register-python-argcomplete pacs)"
bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; bind 'set show-all-if-ambiguous off'
"""


def test_a_real_bash_completes_the_line(place: Path) -> None:
    """Typed up to here, Tab; then the shell itself says what its words are."""
    lines = {
        "sweep ablation_b": ["sweep", "ablation_beta"],
        "sweep family --algorithms pacs,max": ["sweep", "family", "--algorithms", "pacs,maxrl"],
        "sweep methods recipe=smoke,cou": ["sweep", "methods", "recipe=smoke,countdown"],
        "data prepare liv": ["data", "prepare", "livecodebench"],
        "data prepare x --verifier=cou": ["data", "prepare", "x", "--verifier=countdown"],
        "evaluate mod": ["evaluate", "model"],
        "evaluate model --tasks=math500,be": ["evaluate", "model", "--tasks=math500,beyondaime"],
        "evaluate model --tasks a=data/mine/te": ["evaluate", "model", "--tasks", "a=data/mine/test.parquet"],
        "evaluate model --reward-kwargs math.unboxed=f": [
            "evaluate", "model", "--reward-kwargs", "math.unboxed=false",
        ],
        "evaluate compare x --reported Qwen3-8B\\ PP": ["evaluate", "compare", "x", "--reported", "Qwen3-8B PPO"],
        "evaluate show outputs/eval": ["evaluate", "show", "outputs/evaluated"],
        "report outputs/pacs/tw": ["report", "outputs/pacs/two"],
        "export outputs/pacs/one/checkpoints/g": ["export", "outputs/pacs/one/checkpoints/global_step_4"],
        "train --config-name=dr": ["train", "--config-name=dr_grpo"],
        "train actor_rollout_ref.actor.opti": ["train", "actor_rollout_ref.actor.optim."],
    }  # fmt: skip
    setup = BASH.format(bin=Path(sys.executable).parent, repository=REPOSITORY)
    # Ctrl-A: to the beginning of the line, where what is to be done with its words is put.
    typed = setup + "".join(f"pacs {line}\t\x01{WORDS} \n" for line in lines) + "exit\n"
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(place)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], os.environ | {"TERM": "dumb"})
    os.write(terminal, typed.encode())
    said = b""
    while chunk := _read(terminal):
        said += chunk
    os.waitpid(process, 0)
    found = [json.loads(line) for line in re.findall(r"^said (\[.*\])\r$", said.decode(), re.MULTILINE)]
    assert found == [["pacs", *words] for words in lines.values()]


WORDS = f"{sys.executable} -c 'import json, sys; print(\"said\", json.dumps(sys.argv[1:]))'"


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the shell has ended
        return b""
