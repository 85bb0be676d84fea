"""A folder of inputs, good and bad, that the cases of cases.toml name as they would be named from within it."""

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load_file

from pacs.checkpoints.folder import seal
from pacs.evaluation.results import report
from pacs.integration.worker.not_finite import write_evidence
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.diversity.folders import Response, write_folder
from tests.evaluation.conftest import write_data, write_model
from tests.export.conftest import STEP, run_config
from tests.integration.worker.poison_case import ROWS, batch_of, loss_of, returned
from tests.runs.states import state_in

#: `$inputs` in cases.toml: a model and problems for a run.
INPUTS = (
    "recipe=arithmetic actor_rollout_ref.model.path=model data.train_files=good.parquet data.val_files=good.parquet "
    "data.max_prompt_length=40"
)
#: `$good` in cases.toml: a run that could start, and would train into the folder `new`.
GOOD = f"{INPUTS} run.dir=new"


def prepare(folder: Path) -> None:
    """Write all of them."""
    write_models(folder)
    write_problems(folder)
    write_sources(folder)
    write_evaluations(folder)
    write_runs(folder)


def write_models(folder: Path) -> None:
    """A model, and copies of it that lack something or are damaged."""
    model = write_model(folder / "model", seed=1)

    def copy(name: str, without: str = "") -> Path:
        return Path(shutil.copytree(model, folder / name, ignore=shutil.ignore_patterns(without)))

    copy("no_tokenizer", "tokenizer*")
    copy("no_template", "chat_template*")
    template = copy("vibes") / "chat_template.jinja"
    template.write_text(template.read_text() + "{% if add_generation_prompt %}<my_vibes>{% endif %}")
    copy("no_weights", "*.safetensors")
    os.truncate(copy("truncated") / "model.safetensors", 1000)
    os.truncate(copy("no_bytes") / "model.safetensors", 0)
    config = (model / "config.json").read_text()
    (copy("broken_config") / "config.json").write_text(config[:100])
    (copy("bom_config") / "config.json").write_text("\ufeff" + config)
    (copy("empty_config") / "config.json").write_text("")
    (copy("list_config") / "config.json").write_text("[]")
    (copy("unknown_type") / "config.json").write_text(config.replace('"qwen3"', '"qwen99"'))
    (copy("broken_tokenizer") / "tokenizer.json").write_text('{"version": ')
    (copy("other_tokenizer") / "tokenizer.json").write_text("{}")
    named = copy("rebuilt_tokenizer") / "tokenizer_config.json"
    named.write_text(json.dumps(json.loads(named.read_text()) | {"tokenizer_class": "Qwen2Tokenizer"}))
    (copy("strict") / "chat_template.jinja").write_text("{{ raise_exception('no such role') }}")
    (copy("broken_template") / "chat_template.jinja").write_text("{% for %}")


def write_problems(folder: Path) -> None:
    """Parquet files in verl's schema, and what is taken for one."""
    good = write_data(folder / "good.parquet", [(a, b) for a in range(8) for b in range(8)])
    rows = pq.read_table(good).to_pylist()

    def write(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        pq.write_table(pa.Table.from_pylist([*rows[:40], change(rows[40]), *rows[41:]]), folder / f"{name}.parquet")

    def asked(text: str | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda row: row | {"prompt": [{"role": "user", "content": text}]}

    def gold(text: str | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
        return lambda row: row | {"reward_model": {"style": "rule", "ground_truth": text}}

    write("null_gold", gold(None))
    write("blank_gold", gold(" "))
    write("null_reward", lambda row: row | {"reward_model": None})
    write("null_prompt", asked(None))
    write("empty_prompt", asked(""))
    write("long_prompt", asked("1+1" * 2000))
    write("unknown_verifier", lambda row: row | {"extra_info": row["extra_info"] | {"verifier": "oracle"}})

    def write_all(name: str, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
        pq.write_table(pa.Table.from_pylist(list(map(change, range(64), rows))), folder / f"{name}.parquet")

    write_all("asks_answer", lambda i, row: asked(f"{i}+1? Write 'Answer: X'.")(row))
    write_all("asks_json", lambda i, row: asked(f"{i}+1? Answer in JSON.")(row))
    write_all("unreadable_golds", lambda i, row: gold("2\u200b+" if i else "x+\u00a0")(row))
    write_all("list_golds", lambda i, row: row | {"reward_model": {"style": "rule", "ground_truth": ["2"]}})
    write_all("text_index", lambda i, row: row | {"extra_info": row["extra_info"] | {"index": str(i)}})
    write_all("templated", lambda i, row: asked(f"<|user|>{i}+1<|im_end|>")(row))
    write("hidden_verifier", lambda row: row | {"extra_info": row["extra_info"] | {"verifier": "math\u200b"}})
    texts = [row | {"prompt": row["prompt"][0]["content"]} for row in rows]
    pq.write_table(pa.Table.from_pylist(texts), folder / "text_prompts.parquet")
    pq.write_table(pa.Table.from_pylist(rows[:10]), folder / "ten_rows.parquet")
    pq.write_table(pq.read_table(good).slice(0, 0), folder / "no_rows.parquet")
    pq.write_table(pa.Table.from_pylist([{"x": 1}]), folder / "other_columns.parquet")
    whole = good.read_bytes()
    (folder / "damaged.parquet").write_bytes(whole[:-40] + b"\xff" * 32 + whole[-8:])
    (folder / "truncated.parquet").write_bytes(whole[:-100])
    (folder / "empty.parquet").touch()
    (folder / "text.parquet").write_text("no parquet")
    (folder / "a folder (1)").mkdir()
    (folder / "a folder (1)" / "Prüfung.parquet").write_text("no parquet")


def write_sources(folder: Path) -> None:
    """Local files for `pacs data prepare`, and plain files and folders that are in the way."""
    good = {"problem": "Half of one?", "answer": "0.5"}
    texts = {
        "mine.jsonl": json.dumps(good),
        "no_rows.jsonl": "",
        "placeholders.jsonl": "\n".join(
            json.dumps({"problem": problem, "answer": answer})
            for problem, answer in {
                "Why?": "proof",
                "Who?": "N/A",
                "When?": "notfound",
                "How many?": "5 apples and 7",
            }.items()
        ),
        "no_answer.jsonl": json.dumps(good | {"answer": ""}),
        "mixed.jsonl": '{"problem": "x", "answer": {"a": 1}}\n{"problem": ["y"], "answer": 2}',
        "broken.json": '[{"problem": ',
        "broken.jsonl": '{"problem": "x", "answer": "1"}\n{"problem": \n',
        "broken.parquet": "PAR1",
        "notes.txt": "notes",
        "file": "mine" * 100,
        "foreign/notes.txt": "mine",
        "source/train.jsonl": json.dumps(good),
        "lengths.txt": "3\nlong\n",
        "no_lengths.txt": "",
        "reward.py": "def score(): ...\n",
        "broken_reward.py": "def compute_score(:\n",
        "one.json": "{}",
        "seed_3/result.json": '{"seed": 3}',
        "there.md": "mine",
        "broken_budgets/budgets.json": '{"curves": {}, "problems": ',
        "no_budgets/budgets.json": '{"curves": {}, "problems": {}, "notes": []}',
        "configs/broken.yaml": "defaults: [",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes("problem,answer\nGrö\xdfe?,1\n".encode("latin-1"))
    (folder / "empty").mkdir()


def write_evaluations(folder: Path) -> None:
    """Finished evaluations of one task, and damaged ones."""
    right, wrong = Response("seven it is"), Response("who knows", "wrong", "8")
    three = {f"p{i}": [right, wrong, wrong] for i in range(3)}
    for name in ("base", "tuned", "more"):
        report(write_folder(folder / name, {"sums": three}))
        (folder / name / ".lock").touch()  # of the command that made it
    write_folder(folder / "other_task", {"letters": three})
    shutil.copytree(folder / "base", folder / "no_problems")
    (folder / "no_problems" / "samples" / "sums" / "problems.jsonl").unlink()
    shutil.copytree(folder / "base", folder / "broken_settings")
    (folder / "broken_settings" / "settings.json").write_text("{")
    shutil.copytree(folder / "base", folder / "broken_results")
    (folder / "broken_results" / "results.json").write_text("[]")


def write_runs(folder: Path) -> None:
    """A finished run, one whose checkpoint is damaged, one without metrics; and what a stopped one saw."""
    checkpoint = folder / "run" / "checkpoints" / f"global_step_{STEP}"
    shutil.copytree(folder / "model", checkpoint / "actor" / "huggingface")
    (checkpoint / "config.yaml").write_text(run_config(folder / "model"))
    torch.save(load_file(folder / "model" / "model.safetensors"), checkpoint / "actor" / "model_world_size_1_rank_0.pt")
    seal(checkpoint, step=STEP, ranks=1)
    run = folder / "run"
    lines = [{"step": step, "critic/score/mean": step / 10} for step in range(1, STEP + 1)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.copy(checkpoint / "config.yaml", run / "config.yaml")
    (run / "run.json").write_text('{"started": "2026-01-02T03:04:05+00:00"}')
    (run / "state.json").write_text(json.dumps(state_in(run, "finished").__dict__))
    damaged = Path(shutil.copytree(run, folder / "damaged_run"))
    os.truncate(damaged / "checkpoints" / f"global_step_{STEP}" / "actor" / "model_world_size_1_rank_0.pt", 100)
    unsealed = Path(shutil.copytree(run, folder / "unsealed_run"))
    (unsealed / "checkpoints" / f"global_step_{STEP}" / "complete.json").unlink()
    (unsealed / "metrics.jsonl").unlink()
    batch = batch_of("grouped", {6: -math.inf})
    write_evidence(
        folder, step=12, skipped_in_a_row=3, batch=batch, padding=[row.uid is None for row in ROWS],
        returned=returned(loss_of(batch, {})[2], [2.25, math.nan]), tokenizer=build_tokenizer(64),
    )  # fmt: skip
    (folder / "broken.pt").write_text("{}")
