"""A batch as TransferQueue hands it to verl's workers, and the gradient of PACS on it by plain autograd.

Shared by the tests of the training worker; `reference_gradient` uses neither verl nor `pacs.algorithm`.
"""

import random

import torch
import torch.nn.functional as F
from tensordict import TensorDict
from transformers import Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 40
GROUP = 4


def tiny_model(seed: int) -> Qwen3ForCausalLM:
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=False,
    )
    return Qwen3ForCausalLM(config)


def make_rows(groups: int, seed: int) -> list[dict]:
    """Groups of uneven size (one response of some is missing) with uneven lengths, as dictionaries."""
    rng = random.Random(seed)
    rows = []
    for group in range(groups):
        prompt = [rng.randrange(1, VOCABULARY) for _ in range(rng.randrange(2, 6))]
        size = GROUP - (group % 3 == 1)
        labels = [rng.random() < 0.5 for _ in range(size)]
        if group == 0:
            labels = [True] * size  # a group of one class
        for label in labels:
            response = [rng.randrange(1, VOCABULARY) for _ in range(rng.randrange(1, 12))]
            noise = [rng.gauss(0, 0.3) for _ in response]
            rows.append({"uid": str(group), "prompt": prompt, "response": response, "label": label, "noise": noise})
    return rows


def padding_row() -> dict:
    return {"uid": None, "prompt": [1] * 7, "response": [1], "label": False, "noise": [0.0]}


def response_log_probs(model: torch.nn.Module, row: dict) -> torch.Tensor:
    """log pi of each response token, one unpadded sequence at a time."""
    tokens = torch.tensor([row["prompt"] + row["response"]])
    logits = model(tokens).logits[0, len(row["prompt"]) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(-1, tokens[0, len(row["prompt"]) :, None])[:, 0]


def add_reference(rows: list[dict], model: torch.nn.Module) -> None:
    """Give each row a reference near the policy: its own log-probabilities with noise."""
    with torch.no_grad():
        for row in rows:
            row["reference"] = response_log_probs(model, row) + torch.tensor(row["noise"])


def reference_gradient(model: torch.nn.Module, rows: list[dict], beta: float = 1.0) -> dict[str, torch.Tensor]:
    """The gradient of Eq. 8 (rloo, group weights) over the rows that are no padding, in one autograd pass."""
    model.zero_grad()
    groups: dict[str, list[dict]] = {}
    for row in rows:
        if row["uid"] is not None:
            groups.setdefault(row["uid"], []).append(row)
    total = torch.zeros(())
    for members in groups.values():
        r = torch.stack([beta * (response_log_probs(model, row) - row["reference"]).sum() for row in members])
        size, right = len(members), sum(row["label"] for row in members)
        for i, row in enumerate(members):
            psi = r[i] - (r.sum() - r[i]) / (size - 1)
            same = right if row["label"] else size - right
            weight = size / (2 * same) if 0 < right < size else 1.0
            total = total - weight * (F.logsigmoid(psi) if row["label"] else F.logsigmoid(-psi))
    (total / sum(len(members) for members in groups.values())).backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def as_tensordict(rows: list[dict]) -> TensorDict:
    """The fields verl's engine and PACS's loss read, jagged where verl's are."""

    def jagged(values: list[torch.Tensor]) -> torch.Tensor:
        return torch.nested.as_nested_tensor(values, layout=torch.jagged)

    ids = {uid: i for i, uid in enumerate(dict.fromkeys(row["uid"] for row in rows))}
    real = [row["uid"] is not None for row in rows]
    members = [[other["label"] for other in rows if other["uid"] == row["uid"]] for row in rows]
    weights = [
        len(labels) / (2 * labels.count(row["label"])) if 0 < sum(labels) < len(labels) else 1.0
        for row, labels in zip(rows, members, strict=True)
    ]
    masks = [torch.full((len(row["response"]),), int(row["uid"] is not None)) for row in rows]
    sequences = [torch.tensor(row["prompt"] + row["response"]) for row in rows]
    return TensorDict(
        {
            "input_ids": jagged(sequences),
            "position_ids": jagged([torch.arange(len(sequence)) for sequence in sequences]),
            "prompts": jagged([torch.tensor(row["prompt"]) for row in rows]),
            "responses": jagged([torch.tensor(row["response"]) for row in rows]),
            "response_mask": jagged(masks),
            "loss_mask": jagged(masks),
            "ref_log_prob": jagged([row.get("reference", torch.zeros(len(row["response"]))) for row in rows]),
            "pacs_labels": torch.tensor([float(row["label"]) for row in rows]),
            "pacs_group_ids": torch.tensor([ids[row["uid"]] for row in rows]),
            "pacs_weights": torch.tensor(weights) * torch.tensor(real),
            "pacs_row_mask": torch.tensor(real),
            "pacs_counted": torch.tensor(real),
        },
        batch_size=len(rows),
    )
