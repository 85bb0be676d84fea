"""Measure a model on held-out problems: greedy accuracy, pass@1 and pass@8 at T=1, entropy, response length.

Run as `python -m recipes.arithmetic.measure --model DIR --data FILE.parquet`.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pacs.base.errors import UserError
from pacs.base.files import check_folder, write_atomically
from pacs.base.statistics import pass_at_k
from pacs.base.terminal import print
from pacs.checkpoints.model_folder import model_problems
from pacs.data.schema import schema_problems
from pacs.rewards.configured import read_reward
from pacs.rewards.math import compute_score

SAMPLES = 8
MAX_RESPONSE_TOKENS = 24  # the longest right response has 19
BATCH_PROMPTS = 512


@dataclass(frozen=True)
class Prompts:
    """Held-out problems: chat messages and right answers."""

    messages: list[list[dict[str, str]]]
    answers: list[str]


@dataclass(frozen=True)
class Responses:
    """Sampled responses of P tokens of prompt and T of response.

    `ids` (B, P+T), left-padded prompts and right-padded responses; `attention_mask` (B, P+T), of what the model may
    see; `response_mask` (B, T), true through the end-of-turn token; `texts` (B), without special tokens.
    """

    ids: torch.Tensor
    attention_mask: torch.Tensor
    response_mask: torch.Tensor
    texts: list[str]


def read_prompts(path: Path) -> Prompts:
    """Read a parquet file of verl's schema."""
    rows = pq.read_table(path, columns=["prompt", "reward_model"]).to_pylist()
    return Prompts(
        messages=[row["prompt"] for row in rows],
        answers=[row["reward_model"]["ground_truth"] for row in rows],
    )


@torch.no_grad()
def generate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    messages: list[list[dict[str, str]]],
    *,
    samples: int,
    greedy: bool = False,
) -> Responses:
    """Generate at T=1, without truncation of the distribution, or greedily.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer, padding on the left.
        messages: one conversation a prompt.
        samples: responses a prompt; those of one prompt are consecutive.
        greedy: take the likeliest token instead of sampling.
    """
    prompts = tokenizer.apply_chat_template(
        messages,
        add_generation_prompt=True,
        tokenize=True,
        padding=True,
        return_tensors="pt",
        return_dict=True,
    )
    how = {"do_sample": False} if greedy else {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    ids = model.generate(
        input_ids=prompts["input_ids"].repeat_interleave(samples, 0),
        attention_mask=prompts["attention_mask"].repeat_interleave(samples, 0),
        max_new_tokens=MAX_RESPONSE_TOKENS,
        **how,
    )
    width = prompts["input_ids"].shape[1]
    response = ids[:, width:]
    ended = (response == tokenizer.eos_token_id).int()
    response_mask = ended.cumsum(1) - ended == 0  # nothing has ended before this token
    prompt_mask = prompts["attention_mask"].repeat_interleave(samples, 0)
    return Responses(
        ids=ids,
        attention_mask=torch.cat([prompt_mask, response_mask.to(prompt_mask.dtype)], dim=1),
        response_mask=response_mask,
        texts=tokenizer.batch_decode(response, skip_special_tokens=True),
    )


def response_logits(model: PreTrainedModel, responses: Responses) -> torch.Tensor:
    """(B, T, vocabulary): the logits that each response token was drawn from."""
    positions = (responses.attention_mask.cumsum(1) - 1).clamp(min=0)
    logits: torch.Tensor = model(
        input_ids=responses.ids, attention_mask=responses.attention_mask, position_ids=positions
    ).logits
    width = responses.response_mask.shape[1]
    return logits[:, -width - 1 : -1]


def grade(responses: Responses, answers: list[str], verifier: Mapping[str, Any] | None = None) -> torch.Tensor:
    """(prompts, samples): 1.0 where the verifier accepts the response, else 0.0.

    Args:
        responses: to be graded.
        answers: the right ones, of the prompts.
        verifier: settings of the verifier `math`; None: its defaults.
    """
    samples = len(responses.texts) // len(answers)
    scores = [
        compute_score("arithmetic", text, answers[i // samples], **(verifier or {}))["score"]
        for i, text in enumerate(responses.texts)
    ]
    return torch.tensor(scores).view(len(answers), samples)


@torch.no_grad()
def measure_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Prompts,
    *,
    seed: int,
    verifier: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Measure a model in memory; see `measure`, and `grade` for the verifier's settings."""
    model.eval()
    right_greedily, right, entropy, tokens = 0.0, [], 0.0, 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        step = BATCH_PROMPTS // SAMPLES
        for start in range(0, len(prompts.answers), step):
            messages, answers = prompts.messages[start : start + step], prompts.answers[start : start + step]
            greedy = generate(model, tokenizer, messages, samples=1, greedy=True)
            right_greedily += float(grade(greedy, answers, verifier).sum())
            sampled = generate(model, tokenizer, messages, samples=SAMPLES)
            right += grade(sampled, answers, verifier).sum(1).int().tolist()
            log_probs = response_logits(model, sampled).float().log_softmax(-1)
            token_entropy = -(log_probs.exp() * log_probs).sum(-1)
            entropy += float(token_entropy[sampled.response_mask].sum())
            tokens += int(sampled.response_mask.sum())
    problems = len(prompts.answers)
    return {
        "greedy": right_greedily / problems,
        "pass@1": sum(pass_at_k(SAMPLES, c, 1) for c in right) / problems,
        f"pass@{SAMPLES}": sum(pass_at_k(SAMPLES, c, SAMPLES) for c in right) / problems,
        "entropy": entropy / tokens,
        "response_length_tokens": tokens / (problems * SAMPLES),
    }


def measure(model_dir: Path, data: Path, *, seed: int) -> dict[str, float]:
    """Measure a model folder on a parquet file, graded as the run was that an exported model is of.

    Args:
        model_dir: a Hugging Face folder with a tokenizer.
        data: problems in verl's schema.
        seed: of the samples.

    Returns:
        `greedy`, the accuracy of greedy decoding; `pass@1` and `pass@8`, unbiased, of 8 samples a problem at T=1;
        `entropy`, the policy's mean over the tokens of those samples in nats; `response_length_tokens`, their mean
        length with the end-of-turn token.

    Raises:
        UserError: if either path is missing, or not of that kind.
    """
    if not data.is_file() or not model_dir.is_dir():
        missing = f"--data {data}: no such file" if model_dir.is_dir() else f"--model {model_dir}: no such folder"
        raise UserError(f"{missing}: `python -m recipes.arithmetic.make` makes both")
    for problem in schema_problems(data, prompt="prompt", graded=True):
        raise UserError(f"--data {data} {problem}")
    for problem in model_problems(model_dir):
        raise UserError(f"--model {model_dir} {problem}")
    tokenizer = AutoTokenizer.from_pretrained(model_dir, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32)
    reward = read_reward(model_dir)
    verifier = reward.settings.get("math") if reward and reward.settings else None
    return measure_model(model, tokenizer, read_prompts(data), seed=seed, verifier=verifier)


def main() -> None:
    """Print the numbers as JSON."""
    parser = argparse.ArgumentParser(prog="python -m recipes.arithmetic.measure", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="Hugging Face folder with a tokenizer")
    parser.add_argument("--data", type=Path, required=True, help="parquet file of problems in verl's schema")
    parser.add_argument("--seed", type=int, default=0, help="of the samples (default: 0)")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    arguments = parser.parse_args()
    try:
        if arguments.out and arguments.out.is_dir():
            raise UserError(f"--out {arguments.out} is a folder: name a file")
        if arguments.out:
            check_folder(arguments.out.parent)
        text = json.dumps(measure(arguments.model, arguments.data, seed=arguments.seed), indent=2)
    except UserError as error:
        parser.error(str(error))
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(arguments.out, text + "\n")


if __name__ == "__main__":
    main()
