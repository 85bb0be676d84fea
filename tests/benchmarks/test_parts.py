"""The benchmarks' commands explain themselves, and their pure parts do what they say."""

import statistics
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from torch._C._autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent

from benchmarks import rewards, start
from benchmarks.step import beside_plan, profiled
from benchmarks.step.report import Bar, memory_bars, seconds, step_ratios, timing_table
from benchmarks.step.rollouts import Rollouts, pad_responses, random_prompts, random_rollouts, response_lengths
from benchmarks.step.settings import LONGEST, SHAPES, Settings
from benchmarks.step.variants import VARIANTS, counts_table, failures, seconds_table
from benchmarks.table import format_table
from pacs.composing import compose_run

ROOT = Path(__file__).parents[2]
# benchmarks.step is the folder beside it.
step = SourceFileLoader("step_script", str(ROOT / "benchmarks" / "step.py")).load_module()
beside = SourceFileLoader("beside_script", str(ROOT / "benchmarks" / "step_against_plan.py")).load_module()
SETTINGS = Settings(
    shape="smoke",
    device="cpu",
    prompts=4,
    responses=8,
    prompt_tokens=4,
    median_tokens=4,
    steps=1,
    head="model",
    attention="sdpa",
    seed=0,
)


def run(script: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, f"benchmarks/{script}", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("script", ["evaluate.py", "loss.py", "step.py", "step_against_plan.py"])
def test_help_shows_the_command(script: str) -> None:
    assert f"python benchmarks/{script}" in run(script, "--help")


def test_on_a_machine_with_one_core_all_processes_of_an_evaluation_share_it() -> None:
    """A process whose command line, since it reads its program, names no engine."""
    hold = "import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1]); before = os.sched_getaffinity(0)"
    hold += "; from benchmarks.evaluate import hold_engine; hold_engine(('VLLM::',))"
    hold += "; assert os.sched_getaffinity(0) == before; print(len(before))"
    done = subprocess.run([sys.executable], input=hold, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "1\n"


def test_the_loss_benchmark_prints_both_tables() -> None:
    printed = run("loss.py", "--rows", "64", "--tokens", "16", "--repeats", "2")
    for name in ("score_responses, rloo", "batch_constants", "sequence_log_ratios"):
        assert name in printed


@pytest.mark.parametrize("median", [16, 500])
@pytest.mark.parametrize("count", [64, 65, 256])
def test_the_longest_response_has_eight_medians(count: int, median: int) -> None:
    lengths = response_lengths(count, median, seed=1)
    assert len(lengths) == count
    assert max(lengths) == LONGEST * median == 8 * median
    assert statistics.median(lengths) == pytest.approx(median, rel=0.1)
    assert statistics.mean(lengths) > median
    assert min(lengths) >= 1


def test_lengths_are_those_of_the_seed() -> None:
    assert response_lengths(64, 16, seed=1) == response_lengths(64, 16, seed=1) != response_lengths(64, 16, seed=2)


def test_random_rollouts_are_groups_of_one_prompt() -> None:
    rollouts = random_rollouts(SETTINGS, vocabulary=50)
    assert rollouts.prompts == random_prompts(SETTINGS, vocabulary=50)
    groups = [rollouts.prompts[i : i + 8] for i in range(0, 32, 8)]
    assert all(prompt == group[0] for group in groups for prompt in group)
    assert len({tuple(group[0]) for group in groups}) == 4
    assert [len(response) for response in rollouts.responses] == response_lengths(32, 4, seed=0)
    assert set(rollouts.labels) == {0.0, 1.0}


def test_padding_fills_up_to_the_longest_allowed_with_tokens_that_do_not_count() -> None:
    rollouts = Rollouts(
        prompts=[[5], [5]],
        responses=[[1, 2, 3], [4]],
        mask=[[1, 1, 1], [1]],
        log_probs=[[-1.0, -2.0, -3.0], [-4.0]],
        labels=[1.0, 0.0],
    )
    padded = pad_responses(rollouts, 4)
    assert padded.responses == [[1, 2, 3, 0], [4, 0, 0, 0]]
    assert padded.mask == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert padded.log_probs == [[-1.0, -2.0, -3.0, 0.0], [-4.0, 0.0, 0.0, 0.0]]
    assert (padded.prompts, padded.labels) == (rollouts.prompts, rollouts.labels)


def test_a_budget_holds_a_group_of_longest_responses() -> None:
    assert SETTINGS.longest_sequence == 4 + 8 * 4
    assert SETTINGS.token_budget(8) == 8 * 36
    assert SETTINGS.group_sizes() == [8, 16, 32]


def test_published_shapes() -> None:
    millions = {name: round(shape.model.parameters / 1e6) for name, shape in SHAPES.items()}
    assert [millions[name] for name in ("0.6b", "1.7b", "4b", "8b")] == [596, 1721, 4022, 8191]


def test_a_table_has_even_columns() -> None:
    table = format_table(["name", "ms"], [["a", "1.0"], ["longer", "12.25"]])
    assert table.splitlines() == [
        "name       ms",
        "-------------",
        "a         1.0",
        "longer  12.25",
    ]


def test_ratios_are_taken_round_by_round() -> None:
    ours = [{"log-prob pass": 1.0, "actor update": 3.0}, {"log-prob pass": 2.0, "actor update": 6.0}]
    other = [{"actor update": 2.0}, {"actor update": 8.0}]
    assert seconds(ours[0]) == 4.0
    assert step_ratios(ours, other) == [2.0, 1.0]
    assert step_ratios(ours, other, ("actor update",)) == [1.5, 0.75]
    table = timing_table({"GRPO": other, "PACS grouped": ours})
    assert table.splitlines()[-1].split() == ["PACS", "grouped", "1.500", "4.500", "6.000", "1.500"]


def test_a_bar_is_about_the_median() -> None:
    assert Bar("", [0.9, 1.0, 9.0], limit=1.05).holds
    assert not Bar("", [0.9, 1.1, 1.2], limit=1.05).holds
    assert Bar("", [1.0, 1.8, 2.0], limit=1.8, at_least=True).holds
    assert not Bar("", [1.0, 1.7, 2.0], limit=1.8, at_least=True).holds


def test_memory_bars_compare_cached_with_its_smallest_group() -> None:
    over = {"PACS cached, groups of 8": 100, "PACS cached, groups of 16": 120, "PACS grouped, groups of 16": 300}
    memory = {name: {"before": 1, "over": size, "micro_batch_tokens": 1} for name, size in over.items()}
    [bar] = memory_bars(memory)
    assert (bar.value, bar.holds) == (1.2, False)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--attn", "flash"], "--attn sdpa"),
        (["--head", "triton"], "--head torch"),
        (["--shape", "8b"], "invalid choice"),
        (["--device", "cuda", "--attn", "flash"], "--attn sdpa"),
    ],
)
def test_what_this_machine_cannot_run_is_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        step.parse(arguments)
    assert complaint in capsys.readouterr().err


def test_without_vllm_the_rollouts_are_random_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(step, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        step.parse([])
    assert "--no-generation" in capsys.readouterr().err
    assert step.parse(["--no-generation"]).no_generation


@pytest.mark.parametrize("compared", [False, True])
def test_a_step_on_a_gpu_can_be_composed(compared: bool) -> None:
    sizes = {"prompts": 8, "responses": 8, "prompt_tokens": 256, "response_tokens": 2048}
    about = {"device": "cuda", "head": "triton", "attention": "sdpa", "as_on_a_gpu": compared}
    config, hardware = compose_run("pacs_paper", beside_plan.overrides(about | sizes, Path("model")))
    assert hardware == "h200x8"
    assert config.actor_rollout_ref.actor.fsdp_config.model_dtype == "bf16"


def test_out_of_memory_is_a_result_beside_the_plan() -> None:
    planned = {phase: {"bytes": 3 * 2**30, "seconds": 2.0} for phase in beside_plan.PHASES}
    found = {phase: {"seconds": [1.0, 3.0, 2.5], "peak_bytes": 6 * 2**30} for phase in beside_plan.PHASES}
    noise = {"per_token": 0.03, "per_response_mean": 0.5, "per_response_max": 1.25, "tokens": 2048.0}
    about = {"settings": {"shape": "8b", "head": "torch"}, "planned": planned}
    results = [about | {"measured": {"phases": found, "packing_noise": noise}}, about | {"error": "out of memory"}]
    lines = beside_plan.table(results).splitlines()
    assert lines[2].split() == ["8b,", "torch,", "reference", "pass", "2.500", "2.000", "1.25", "6.00", "3.00", "2.00"]
    assert "out of memory" in lines[5]
    assert beside_plan.noise_table(results).splitlines()[2:] == [
        "8b, torch                                   0.03         0.5      1.2              2,048"
    ]


def test_a_variant_without_memory_or_time_leaves_the_others_their_lines() -> None:
    timed = {"seconds": {"update": [1.0, 3.0, 2.0]}, "counted": {"16": {"update": {"launches": 5, "bytes": 0}}}}
    timed["counted"]["32"] = {"update": {"launches": 8, "bytes": 16 * 1024}}
    broken = {"error": "ValueError: no such kernel"}
    found = {
        "before": {"error": "out of memory"},
        "default": timed,
        "compiled": broken,
        "liger": {"left_out": "no GPU"},
    }
    lines = seconds_table(found).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["before", "out", "of", "memory"],
        ["default", "2.000"],
        ["compiled", "ValueError:", "no", "such", "kernel"],
        ["liger", "left", "out:", "no", "GPU"],
    ]
    assert failures([*found, "no entropy"], found) == ["compiled", "no entropy"]
    of_rows = timed | {"rows": 1}
    few = {"broken": broken, "before": of_rows, "cut off": of_rows, "compiled": of_rows}
    [line] = counts_table(few, {"broken": of_rows, "before": of_rows, "compiled": broken}, layers=1).splitlines()[2:]
    assert line.startswith("before, update ")


def test_the_table_has_the_memory_of_a_variant() -> None:
    step = {"launches": 30_445.0, "busy_seconds": 1.5}
    timed = {"seconds": {"update": [1.0]}, "counted": {"2048": {"step": step}}, "peak_bytes": 3 * 2**29}
    header, _, line = seconds_table({"before": timed}).splitlines()
    assert header.endswith("peak, GiB")
    assert line.split() == ["before", "1.000", "1.00", "30,445,", "1.500", "s", "busy", "1.50"]


def test_the_variant_of_the_targets_comes_right_after_those_it_is_compared_with() -> None:
    assert [*VARIANTS][:3] == ["before", "default", "compiled, not checkpointed"]
    assert all(VARIANTS[name].liger for name in [*VARIANTS][-2:])  # which is never switched off again


def test_spans_over_kernels_are_no_kernels() -> None:
    def event(start: float, end: float, **more: Any) -> FunctionEvent:
        return FunctionEvent(0, "", 0, start, end, **more)

    gpu = DeviceType.CUDA
    kernels = [event(0, 30, device_type=gpu), event(40, 60, device_type=gpu)]
    others = [event(0, 60, device_type=gpu, is_user_annotation=True), event(0, 90, device_type=DeviceType.CPU)]
    assert profiled.count([*kernels, *others]) == {"launches": 2, "busy_seconds": pytest.approx(50e-6)}


def test_a_shape_can_have_fewer_layers() -> None:
    arguments = beside.parse(["--shape", "8b", "--layers", "24"])
    assert beside.model_of("8b", arguments.layers).num_hidden_layers == 24
    assert beside.setting(arguments, "8b", "torch")["layers"] == 24
    assert (
        beside.results_name(arguments, "step", "8b", "torch", arguments.layers) == "step_8b_torch_sdpa_24_layers.json"
    )
    assert "layers" not in beside.setting(beside.parse([]), "tiny", "torch")  # results that are there stay valid


def test_a_start_of_another_model_is_one_of_that_model() -> None:
    paths = {
        compose_run("pacs", start.settings_of(Path("made"), overrides))[0].actor_rollout_ref.model.path
        for overrides in ([], ["hardware=h200x1", "model=qwen3_0_6b"])
    }
    assert paths == {"made/model", "Qwen/Qwen3-0.6B"}


def test_verdicts_are_counted_by_pairs_of_an_answer_and_a_gold() -> None:
    rows = [("so \\boxed{1}", "1"), ("and so \\boxed{1}", "1"), ("so \\boxed{2}", "1"), ("so \\boxed{1}", "2")]
    assert [(response[-8:], gold) for response, gold in rewards.different(rows)] == [
        ("boxed{1}", "1"), ("boxed{2}", "1"), ("boxed{1}", "2")
    ]  # fmt: skip
