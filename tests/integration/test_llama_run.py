"""A real run of the second family, from its training to its evaluation: a tiny Llama with what Llama 3.2 has.

Its template with headers, which writes today's date; three tokens that end a response; no token for padding; an
embedding that is the head; RoPE of the kind `llama3`.
"""

import json
import signal
from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq
import pytest
import torch
from tokenizers import Tokenizer, decoders, models
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from pacs.evaluation.results import read_results
from recipes.arithmetic.tokenizer import CHARACTERS
from tests.evaluation.real_evaluation import lines
from tests.evaluation.real_evaluation import run as evaluate
from tests.export.exporting import logits_of, run_command
from tests.integration.real_run import RealRun, make_task

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

TOKENS = 48
BEGIN, UNKNOWN, HEADER, HEADER_END = "<|begin_of_text|>", "<|unk|>", "<|start_header_id|>", "<|end_header_id|>"
ENDS = ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>")
#: As docs/models.md says to put it before Llama 3.2's template.
DATE = '{%- set date_string = "26 Jul 2024" %}\n'
TEMPLATE = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""


def llama_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {token: i for i, token in enumerate((BEGIN, UNKNOWN, HEADER, HEADER_END, *ENDS, *CHARACTERS))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=UNKNOWN))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        unk_token=UNKNOWN,
        eos_token=ENDS[-1],
        additional_special_tokens=[HEADER, HEADER_END, *ENDS[:-1]],
        chat_template=DATE + TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task of every real run, with this model in the place of its own."""
    folder = make_task(tmp_path_factory.mktemp("llama"))
    tokenizer = llama_tokenizer()
    ends = [tokenizer.convert_tokens_to_ids(token) for token in ENDS]
    rope = {
        "rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }  # fmt: skip
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=1024, tie_word_embeddings=True, rope_parameters=rope,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=ends, dtype="float32",
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    model.generation_config.update(do_sample=True, temperature=0.6, top_p=0.9)
    for file in (folder / "model").iterdir():
        file.unlink()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder


@pytest.fixture(scope="module")
def run(task: Path, process_group: None, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """Stopped after two steps or more, and gone on with for two."""
    run = RealRun(
        task, tmp_path_factory.mktemp("run") / "run", "data.max_prompt_length=160",
        f"data.max_response_length={TOKENS}", "trainer.val_before_train=false", "trainer.max_actor_ckpt_to_keep=null",
    )  # fmt: skip
    start = run.start("trainer.total_training_steps=200")
    start.wait_for(lambda: start.has_trained(2))
    start.process.send_signal(signal.SIGTERM)
    assert start.process.wait(240) == 75, start.printed[-6000:]
    run.train(f"trainer.total_training_steps={last_step(run) + 2}")
    return run


def last_step(run: RealRun) -> int:
    return int(run.training_steps()[-1]["step"])


def test_each_step_is_trained_once_across_the_stop(run: RealRun) -> None:
    assert run.starts[-1].state.resumed_from == last_step(run) - 2 >= 2
    steps = run.training_steps()
    assert [line["step"] for line in steps] == list(range(1, len(steps) + 1))
    assert all(line["actor/grad_norm"] > 0 for line in steps)


def test_vllm_samples_from_the_policy(run: RealRun) -> None:
    assert max(line["pacs/rollout_gap/worst_max"] for line in run.training_steps()) < 1e-4


def test_each_of_the_three_tokens_ends_a_response(run: RealRun) -> None:
    """The model says all tokens about equally often: of so many tokens 74 in 100 responses meet one of three, 36 in 100
    a single one."""
    assert fmean(line["pacs/truncated_fraction"] for line in run.training_steps()) == pytest.approx(0.26, abs=0.15)


def test_prompts_have_the_day_of_the_template(run: RealRun) -> None:
    for sample in run.samples(last_step(run)):
        assert "Today Date: 26 Jul 2024" in json.dumps(sample)


def test_it_is_exported_and_evaluated(run: RealRun, task: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_command(run.folder, "--out", out) == 0
    policy = AutoModelForCausalLM.from_pretrained(task / "model")
    weights = run.policy(last_step(run))
    assert not torch.equal(weights["model.embed_tokens.weight"], policy.get_input_embeddings().weight)
    policy.load_state_dict(weights, strict=False)
    tokens = torch.arange(5, 45).reshape(2, 20)
    with torch.no_grad():
        torch.testing.assert_close(logits_of(out, tokens), policy(tokens).logits, rtol=0, atol=1e-5)
    assert json.loads((out / "generation_config.json").read_text())["eos_token_id"] == [4, 5, 6]
    assert AutoTokenizer.from_pretrained(out).chat_template.startswith(DATE.strip())
    pq.write_table(pq.read_table(task / "data.parquet").slice(0, 20), tmp_path / "sums.parquet")
    status, printed = evaluate(
        out, "--tasks", f"sums={tmp_path / 'sums.parquet'}", "--samples", 16, "--k", "1,16", "--max-tokens", TOKENS,
        "--temperature", 1, "--top-p", 1, "--out", tmp_path / "evaluation",
    )  # fmt: skip
    assert status == 0, printed[-6000:]
    _, (result,) = read_results(tmp_path / "evaluation")
    assert len(result.problems) == 20
    cut = [json.loads(line)["truncated"] for line in lines(tmp_path / "evaluation", "sums")]
    assert len(cut) == 20 * 16
    assert fmean(cut) == pytest.approx(0.26, abs=0.15)
