"""Every command that the docs give can be given: its parser takes it, its overrides compose, its files are there."""

import argparse
import ast
import re
import shlex
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from pacs import cli
from pacs.commands import train
from tests.docs.configs import composed
from tests.docs.pages import PAGES, ROOT, Page

OURS = ("pacs", "bash", "python", "pytest", "sbatch", "srun")
#: What other programs take is theirs to say.
OTHERS = ("docker", "enroot", "export", "hf", "source", "tensorboard", "torchrun", "vllm")
SLURM_OPTIONS = {
    *(
        "--cpu-bind",
        "--exclusive",
        "--gpus-per-node",
        "--mem",
        "--no-kill",
        "--output",
        "--requeue",
        "--signal",
        "--time",
    ),
}

Parsers = dict[tuple[str, ...], argparse.ArgumentParser]


def check(words: list[str]) -> None:
    """Fail if a command of ours cannot be given."""
    match words:
        case ["pacs", "train", *rest]:
            # That of a folder of the reader's is composed in test_method_example.py.
            named = "--config-name" in rest and "--config-dir" not in rest
            composed(*overrides(rest), algorithm=rest[rest.index("--config-name") + 1] if named else "pacs")
        case ["pacs", *rest]:
            given = cli.parse(*cli.find(rest))
            if hasattr(given, "overrides"):
                composed(*map(one, given.overrides), algorithm=getattr(given, "config_name", None) or "pacs")
        case ["docker", "run", *rest]:
            check(rest[rest.index("pacs") + 1 :])  # the image's name, then what runs in it
        case ["srun", *rest] if "pacs" in rest:
            check(rest[rest.index("pacs") :])
        case ["bash" | "sbatch" | "srun", *rest]:
            script = next(word for word in rest if word.startswith("scripts/"))
            source, given_on = (ROOT / script).read_text(), rest[rest.index(script) + 1 :]
            started = re.search(r'^exec (.*) "\$@"$', source, flags=re.MULTILINE)
            if script.startswith("scripts/slurm/"):
                check(["pacs", "train", *given_on])
            elif started and script != "scripts/test.sh":
                check([*shlex.split(started.group(1)), *given_on])
        case ["python", "-m", module, *rest] if module.startswith(("pacs.", "recipes.")):
            check_options(origin(module), rest)
        case ["python", script, *rest] if script != "-m":
            check_options(ROOT / script, rest)
        case ["pytest", *rest]:
            assert [word for word in rest if "/" in word and not (ROOT / word).exists()] == []


def check_options(file: Path, words: list[str]) -> None:
    """Fail unless the file's parser knows all options; what follows `--` is for `pacs train`."""
    own = words[: words.index("--")] if "--" in words else words
    assert {word for word in own if word.startswith("-")} <= {"--help", *options_of(file)}
    composed(*overrides(words[len(own) :]))


def overrides(words: list[str]) -> list[str]:
    return [word for word in words if "=" in word and not word.startswith("-")]


def one(override: str) -> str:
    """An override with the first of its values, if it is swept."""
    parsed = OverridesParser.create().parse_override(override)
    if not parsed.is_sweep_override():
        return override
    return f"{parsed.get_key_element()}={next(parsed.sweep_string_iterator())}"


def origin(module: str) -> Path:
    """What `python -m` runs."""
    spec = find_spec(module)
    assert spec, f"there is no {module}"
    return Path(find_spec(f"{module}.__main__").origin if spec.submodule_search_locations else spec.origin)


@cache
def options_of(file: Path) -> frozenset[str]:
    """The options that a script's source declares, or the source that its `main` is from."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    calls = (node for node in nodes if isinstance(node, ast.Call))
    words = (word.value for call in calls for word in call.args if isinstance(word, ast.Constant))
    own = frozenset(word for word in words if isinstance(word, str) and word.startswith("--"))
    imports = [
        node for node in nodes if isinstance(node, ast.ImportFrom) and [each.name for each in node.names] == ["main"]
    ]
    return own.union(*(options_of(origin(str(node.module))) for node in imports))


@cache
def subcommands() -> Parsers:
    """The parser of every subcommand by its words, `pacs` first; of `pacs` and of `pacs data` one without options."""
    found = {("pacs", *name.split()): cli.parser_of(name) for name in cli.COMMANDS if name != "train"}
    groups = {("pacs", *name.split()[:-1]) for name in cli.COMMANDS} | {("pacs", "train")}
    return {group: argparse.ArgumentParser() for group in groups} | found


def split(command: str) -> list[str]:
    """The words of a command, without settings of the environment, redirections and comments."""
    words = shlex.split(re.split(r" [>|] ", command)[0], comments=True)
    return [word for word in words if not re.match(r"[A-Z_]+=", word)]


def refused(checked: Callable[[list[str]], None], commands: Iterable[tuple[Page, str]]) -> list[str]:
    """A line for each command of a page that a check does not let pass."""
    lines = []
    for page, command in commands:
        try:
            checked(split(command))
        except (SystemExit, Exception) as error:
            lines.append(f"{page.name} gives {command}: {type(error).__name__}: {error}")
    return lines


def check_known(words: list[str]) -> None:
    assert words[0] in OURS + OTHERS, "this test does not know the program"
    check(words)


def check_within_a_line(words: list[str]) -> None:
    """Of a subcommand here often only what is spoken of: its name, or an option."""
    if words[0] == "pacs" and words[1] != "train":
        longest = max((name for name in subcommands() if tuple(words[: len(name)]) == name), key=len)
        options = {word for word in words[len(longest) :] if word.startswith("-")}
        assert options <= subcommands()[longest]._option_string_actions.keys()
    else:
        check(words)


def test_commands_can_be_given() -> None:
    assert refused(check_known, ((page, command) for page in PAGES for command in page.commands)) == []


def test_commands_within_lines_can_be_given() -> None:
    ours = re.compile(rf"({'|'.join(OURS)}) [\w-]")
    spans = ((page, span) for page in PAGES for span in page.spans if ours.match(span))
    assert refused(check_within_a_line, spans) == []


def test_options_exist() -> None:
    known = {option for parser in subcommands().values() for option in parser._option_string_actions}
    known |= {*re.findall(r"--[\w-]+", str(train.__doc__)), *SLURM_OPTIONS}
    known |= {"--all", "--quick", "--num-cpus", "--num-gpus"}  # of scripts/test.sh, and of `ray start`
    scripts = [*ROOT.glob("recipes/*/*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("tests/chaos/*.py")]
    known |= {option for script in scripts for option in options_of(script)}
    named = {(page.name, s.split()[0].split("=")[0]) for page in PAGES for s in page.spans if s.startswith("--")}
    assert {(page, option) for page, option in named if option not in known} == set()


def test_every_subcommand_is_in_the_docs() -> None:
    commands = [command for page in PAGES for command in (*page.commands, *page.spans)]
    assert len(subcommands()) > 10
    unnamed = [words for words in subcommands() if not any(f"{c} ".startswith(f"{' '.join(words)} ") for c in commands)]
    assert unnamed == []


def test_every_argument_says_what_it_is() -> None:
    silent = [
        (*words, action.dest)
        for words, parser in subcommands().items()
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert silent == []


@pytest.mark.parametrize(
    "command",
    [
        "pacs train recipe=arithmetics",
        "pacs train --config-name gprpo recipe=arithmetic",
        "pacs train --config-name grpo recipe=arithmetic method.beta=2",
        "pacs evaluate MODEL --task math500 --output outputs",
        "pacs plan recipe=qwen3_8b method.betta=1",
        "pacs fly",
        "bash scripts/train_qwen3_8b_ppo.sh method.beta=1",
        "sbatch --nodes=8 scripts/slurm/train.sbatch recipe=qwen3_8b trainer.nodes=8",
        "python benchmarks/step.py --shapes 4b",
        "python -m recipes.arithmetic.make --output outputs",
        "python -m recipes.arithmetic.makes",
        "python -m pacs.cluster --node 0 -- recipe=qwen4_8b",
        "pytest tests/nowhere.py -rP",
    ],
)
def test_the_checker_sees_what_cannot_be_given(command: str) -> None:
    with pytest.raises((SystemExit, AssertionError, HydraException)):
        check(split(command))
