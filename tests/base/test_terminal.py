"""What others wrote is shown on a terminal and in a page, and obeyed by neither."""

import io
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pacs import cli
from pacs.base.terminal import named, visible
from pacs.base.terminal import print as print_visibly
from pacs.evaluation.folder import TIMING, task_folder
from pacs.evaluation.settings import FILE
from pacs.report.page import build_page
from tests.evaluation.folders import TASK, write_evaluation
from tests.report.test_inspect_command import evidence

#: The title, the clipboard, the same by C1's own characters, a line that overwrites itself, a reversed one, a bell, the
#: cursor, half a surrogate pair (JSON has it, UTF-8 has not).
HOSTILE = (
    "\x1b]0;title\x07", "\x1b]52;c;cm0gLXJm\x07", "\x9d0;title\x9c", "\x9b2J", "fine\rbad", "\u202egnp.exe",
    "\u2066x\u2069", "\x07\x08\x7f\x00\x0b\x0c", "\u2028\u2029", "\ud83d",
)  # fmt: skip
#: Ordinary text: accents, Chinese, Arabic with its marks of direction, a family of emoji (with joiners), mathematics.
ORDINARY = "é 数 \u200fعربي\u200e 👨‍👩‍👧 ∑√ \\frac{1}{2} ~ <b>\ttab\nline"


def obeyed(text: str) -> set[str]:
    """What a terminal would obey, by Unicode's categories: an independent word on what `visible` leaves."""
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return {
        character
        for character in text
        if (unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t")
        or unicodedata.bidirectional(character) in directions
    }


def test_the_hostile_ones_would_be_obeyed():
    assert all(obeyed(text) for text in HOSTILE)


def test_what_cannot_be_seen_is_named_in_errors(capsys: pytest.CaptureFixture[str]):
    """By Unicode's categories: an independent word on what `named` names; the fillers are letters and marks there."""
    fillers = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\ufe0f\uffa0\U000e0100"
    for code in (*range(0x80, 0x10000), *range(0xE0000, 0xE0200)):
        character = chr(code)
        unseen = unicodedata.category(character) in ("Cf", "Zs", "Co", "Cn")
        if unseen and visible(character) == character:
            assert named(f"5{character}") == f"5<U+{code:04X}>"
    assert all(named(filler) == f"<U+{ord(filler):04X}>" for filler in fillers)
    assert named("é 数\t\n \\frac{1}{2} ∑ \U0001f600") == "é 数\t\n \\frac{1}{2} ∑ \U0001f600"
    print_visibly("a\u200b", file=sys.stderr)
    print_visibly("a\u200b")
    assert capsys.readouterr() == ("a\u200b\n", "a<U+200B>\n")


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_is_obeyed_and_nothing_is_lost(text: str):
    shown = visible(text)
    assert obeyed(shown) == set()
    assert shown.encode().decode("unicode_escape") == text


def test_every_character_of_unicode():
    every = "".join(map(chr, range(0x30000)))  # all that are assigned, but for variants of shape
    shown = visible(every)
    assert obeyed(shown) == set()
    assert set(every) - set(shown) == obeyed(every)


def test_ordinary_text_stays():
    assert visible(ORDINARY) == ORDINARY


def test_printing_is_python_s_otherwise():
    stream = io.StringIO()
    print_visibly("a\x1b[2Jb", 3, sep="|", end="!\n", file=stream)
    assert stream.getvalue() == "a\\x1b[2Jb|3!\n"


@pytest.fixture
def hostile_evaluation(tmp_path: Path) -> Path:
    """A stranger's: prompt, answer, response and what was found in it are hostile."""
    folder, text = tmp_path / "evaluation", "".join(HOSTILE)
    write_evaluation(folder)
    for file in task_folder(folder, TASK).glob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            line |= {key: line[key] + text for key in ("response", "predicted", "ground_truth") if key in line}
            line |= {"prompt": [{"role": f"user{text}", "content": text}]} if "prompt" in line else {}
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = json.loads((folder / FILE).read_text())
    settings["model"]["name"] += text
    (folder / FILE).write_text(json.dumps(settings))
    (task_folder(folder, TASK) / TIMING).unlink(missing_ok=True)
    return folder


def test_samples_are_shown_and_not_obeyed(hostile_evaluation: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["evaluate", "show", str(hostile_evaluation), "-n", "100"]) == 0
    out = capsys.readouterr().out
    assert obeyed(out) == set()
    assert out.count("\\x1b]52;c;cm0gLXJm\\x07") == 12 * 5  # role, prompt, response, gold, predicted


def test_results_are_written_and_printed_so_that_they_are_not_obeyed(
    hostile_evaluation: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["evaluate", "grade", str(hostile_evaluation)]) == 0
    printed, page = capsys.readouterr().out, (hostile_evaluation / "results.md").read_text()
    assert (obeyed(printed), obeyed(page)) == (set(), set())
    assert "\\x1b]0;title\\x07" in page
    assert cli.main(["evaluate", "compare", str(hostile_evaluation), "--reported", "Qwen3-8B Base"]) != 1
    assert obeyed("".join(capsys.readouterr())) == set()


def test_an_error_that_quotes_a_file_is_not_obeyed(hostile_evaluation: Path, capsys: pytest.CaptureFixture[str]):
    settings = json.loads((hostile_evaluation / FILE).read_text())
    settings["model"] = {"\x1b]0;title\x07": 1}  # TypeError: unexpected keyword argument '...'
    (hostile_evaluation / FILE).write_text(json.dumps(settings))
    assert cli.main(["evaluate", "show", str(hostile_evaluation)]) == 2
    error = capsys.readouterr().err
    assert "\\x1b]0;title\\x07" in error
    assert obeyed(error) == set()


def test_a_row_of_the_evidence_is_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = evidence(tmp_path)
    content = torch.load(file, weights_only=True)
    content["response_texts"][0] = content["prompt_texts"][0] = "".join(HOSTILE[:-1])
    torch.save(content, file)
    for words in (["--row", "0"], []):
        assert cli.main(["inspect", str(file), *words]) == 0
        assert obeyed(capsys.readouterr().out) == set()


def test_prepared_problems_are_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = "".join(HOSTILE[:-1])
    row = {
        "data_source": text,
        "prompt": [{"role": "user", "content": text}],
        "reward_model": {"style": "rule", "ground_truth": text},
        "extra_info": {"id": text, "verifier": "math"},
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "test.parquet")
    for command in ("show", "stats"):
        assert cli.main(["data", command, str(tmp_path / "test.parquet")]) == 0
        out = capsys.readouterr().out
        assert "\\x1b]0;title\\x07" in out
        assert obeyed(out) == set()


def test_a_page_shows_markup_and_directions():
    page = build_page([], pictures=[], tables={}, title="<script>alert('\u202e\ud83d')</script>")
    assert "<h1>&lt;script&gt;alert(&#39;\\u202e\\ud83d&#39;)&lt;/script&gt;</h1>" in page


def test_what_an_encoding_lacks_is_named(tmp_path: Path) -> None:
    """As under a locale of ISO 8859-1, or where the output is a file of such a program."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "pacs", "runs", str(tmp_path)]
    done = subprocess.run(command, env=environ, capture_output=True, encoding="latin-1", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[2].split()[:3] == ["run", "unknown", r"\u2013"]


@pytest.mark.parametrize("words", ["data list", "runs .", "train --help", "plan --help"])
def test_a_closed_output_ends_nothing_and_a_folder_that_is_gone_is_said(words: str, tmp_path: Path) -> None:
    pacs = f"{sys.executable} -m pacs {words}"
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

    def run(script: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )

    closed = run(f"{pacs} >&- <&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    assert run(f"{pacs} >&- 2>&-").returncode == 0
    gone = run(f"mkdir gone; cd gone; rmdir ../gone; {pacs}")
    assert gone.returncode == 2
    assert gone.stderr == "pacs: the folder that this was started in is no longer there: cd to another\n"
