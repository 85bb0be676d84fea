"""The recipes' READMEs and the paper's map in docs/sweeps.md: generated text is current, commands can be given."""

import json
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir, initialize_config_module
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from pacs import cli
from pacs.base.paths import config_dir
from pacs.commands import sweep
from pacs.commands.data_prepare import make_request
from pacs.evaluation.reported import FILE, reported
from pacs.evaluation.tasks import parse_tasks
from pacs.integration.plain_sft import DEFAULTS
from pacs.sweeps.definition import read_sweep
from pacs.sweeps.grid import plan_runs
from pacs.sweeps.train import evaluation_folder
from recipes.expected import BEGIN, END, FOLDER, blocks, replaced

ROOT = FOLDER.parent
RECIPES = (
    "qwen3_4b", "qwen3_8b", "baselines", "ablation_beta", "ablation_score", "ablation_weight", "ablation_reference",
    "out_of_domain", "diversity", "genac_qwen3_8b",
)  # fmt: skip
MAP = (ROOT / "docs" / "sweeps.md").read_text().partition("\n## Reproducing the paper\n")[2]
#: Recipes that the paper has no numbers of.
WITHOUT_PAPER = {
    "genac_arithmetic",
    "arithmetic_mixed",
    "chain_sums",
    "code_repair",
    "countdown",
    "family",
    "laboratory",
    "math_smoke",
    "methods",
    "objectives",
    "smoke",
    "spelled_sums",
    "theory",
}


@cache
def current() -> dict[str, str]:
    return blocks()


def readme(recipe: str) -> str:
    return (FOLDER / recipe / "README.md").read_text()


@pytest.mark.parametrize("recipe", ["arithmetic", "gsm8k", *RECIPES])
def test_the_block_is_what_the_data_and_the_plan_say(recipe: str) -> None:
    assert replaced(readme(recipe), current()[recipe]) == readme(recipe), "run `python -m recipes.expected`"


def test_a_stale_block_is_seen() -> None:
    stale = readme("qwen3_8b").replace("63.32", "63.33")
    assert replaced(stale, current()["qwen3_8b"]) == readme("qwen3_8b") != stale
    with pytest.raises(ValueError, match="once each"):
        replaced(f"{BEGIN}{END}{BEGIN}", "")


def test_every_recipe_is_listed() -> None:
    folders = {file.parent.name for file in FOLDER.glob("*/README.md")}
    listed = re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", (FOLDER / "README.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(folders)
    assert current().keys() == {"arithmetic", "gsm8k", *RECIPES} == folders - WITHOUT_PAPER


def test_the_means_are_the_paper_s_own() -> None:
    """Table 1 prints them; to two digits, of numbers with two digits."""
    rows = json.loads(FILE.read_text())["table_1_pass_at_1"]["rows"]
    for recipe, size in (("qwen3_4b", "4B"), ("qwen3_8b", "8B")):
        means = re.findall(r"(\d+\.\d+) / \d+\.\d+ \|\n", current()[recipe])
        assert [float(mean) for mean in means] == pytest.approx(
            [rows[f"Qwen3-{size}"][-1], rows[f"PACS-{size}"][-1]], abs=0.0101
        )


@pytest.mark.parametrize(
    ("recipe", "algorithm"), [("qwen3_8b", "pacs_paper"), ("qwen3_8b", "ppo"), ("qwen3_4b", "grpo")]
)
def test_the_cost_is_what_pacs_plan_prints(recipe: str, algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plan", "--config-name", algorithm, f"recipe={recipe}"]) == 0
    said = re.search(r"(\d+) steps: about ([\d,]+) hours, ([\d,]+) GPU hours", capsys.readouterr().out)
    assert said is not None
    steps, hours, gpu_hours = said.groups()
    row = re.search(
        rf"\| {algorithm}, {recipe}, {steps} steps +\| +3 \| +([\d.,]+) \| +([\d,]+) \| +([\d,]+) \|",
        current()["baselines"],
    )
    assert row is not None
    assert (row.group(1), row.group(2)) == (hours, gpu_hours)
    assert int(row.group(3).replace(",", "")) == pytest.approx(3 * int(gpu_hours.replace(",", "")), abs=2)


# The map of the paper.


def named(cell: str) -> list[str]:
    """The tables and figures of a cell: `Tables 6, 7`, `Tables 9-13`, `Figure 5 (b), Table 3`."""
    names, kind = [], ""
    for word, first, last in re.findall(r"(Table|Figure)?s? ?(\d+(?: \([ab]\))?)(?:-(\d+))?", cell):
        kind = word or kind
        names += [f"{kind} {number}" for number in (range(int(first), int(last) + 1) if last else [first])]
    return names


def test_the_map_has_every_table_and_figure_once() -> None:
    cells = re.findall(r"^\| ((?:Table|Figure)[^|]+) \|", MAP, flags=re.MULTILINE)
    figures = ["Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5 (a)", "Figure 5 (b)", "Figure 6"]
    tables = [f"Table {number}" for number in range(1, 14)]
    assert sorted(name for cell in cells for name in named(cell)) == sorted([*figures, *tables])


# The commands.


def commands(text: str) -> list[str]:
    """The lines of bash blocks, and the commands in a table's cells."""
    blocks = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    cells = [cell for line in text.splitlines() if line.startswith("|") for cell in re.findall(r"`([^`]+)`", line)]
    spans = [cell for cell in cells if re.match(r"(pacs|bash|python) \w+[ /]\S", cell)]
    return [line for block in blocks for line in block.splitlines() if line] + spans


PAGES = {recipe: readme(recipe) for recipe in ("gsm8k", *RECIPES)} | {"map": MAP}
COMMANDS = {command: page for page, text in PAGES.items() for command in commands(text)}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_can_be_given(command: str) -> None:
    match shlex.split(command):
        case ["bash", script, *rest]:
            text = (ROOT / script).read_text()
            launched = re.search(r"^exec pacs train --config-name (\w+) (recipe=\w+) ", text, flags=re.MULTILINE)
            assert launched is not None
            compose_first(launched.group(1), launched.group(2), *(word for word in rest if word != "--dry-run"))
        case ["python", "-m", module, *_]:
            assert (ROOT / (module.replace(".", "/") + ".py")).is_file()
        case ["pacs", "train", "--config-name", name, "--cfg", "job", "--resolve", *rest]:
            compose_first(name, *rest)
        case ["pacs", "train", "--config-name", name, *rest]:
            compose_first(name, *rest)
        case ["torchrun", "--standalone", "--nproc-per-node", "8", "-m", "pacs.integration.plain_sft", *overrides]:
            with initialize_config_module("verl.trainer.config", version_base=None):
                compose("sft_trainer_engine", overrides=[*DEFAULTS, *overrides])
        case ["pacs", "train", *rest]:
            compose_first("pacs", *(word for word in rest if word != "--dry-run"))
        case ["pacs", *rest]:
            parses(rest)
        case _:
            pytest.fail(f"{COMMANDS[command]} gives a command that this test does not know")


def test_the_pages_have_commands() -> None:
    assert all(commands(text) for text in PAGES.values())
    assert len(COMMANDS) > 40


def parses(words: list[str]) -> None:
    """With the command's own parser, and what it would ask for with the command's own check of it."""
    name, rest = cli.find(words)
    args = cli.parse(name, rest)
    if name == "evaluate":
        parse_tasks(args.tasks, args.data, args.samples, args.k)
    elif name == "evaluate compare":
        assert all(reported(column).pass_at for column in args.reported)
    elif name == "data prepare":
        make_request(args)
    elif name == "sweep":
        swept = read_sweep(args.name)
        compose_first(swept.algorithms[-1], f"recipe={swept.recipe}", *swept.overrides, *args.overrides)


@cache
def compose_first(algorithm: str, *overrides: str) -> None:
    """Compose a run; of a swept key with its first value."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    first = [
        f"{one.get_key_element()}={next(one.sweep_string_iterator())}" if one.is_sweep_override() else word
        for one, word in zip(parsed, overrides, strict=True)
    ]
    with initialize_config_dir(str(config_dir()), version_base=None):
        OmegaConf.resolve(compose(algorithm, overrides=first))


@pytest.mark.parametrize(
    ("recipe", "folder", "values"),
    [
        ("ablation_score", "ablation_score-qwen3_4b", "method.estimator=rloo,grpo"),
        ("ablation_weight", "ablation_weight-qwen3_8b", "method.objective=log_odds,pass_rate"),
    ],
)
def test_evaluations_of_a_sweep_lie_where_they_are_compared(recipe: str, folder: str, values: str) -> None:
    runs = plan_runs(read_sweep(recipe), [values, "data.seed=0"], Path(sweep.OUT) / folder)
    compared = re.findall(r"(outputs/sweeps/\S+/evaluation/\S+)", readme(recipe))
    assert compared == [str(evaluation_folder(run)) for run in runs]
