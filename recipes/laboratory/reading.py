"""What a model makes of responses that are there: each prompt is read once for all its responses, with the gradient."""

from collections.abc import Callable

import torch
from torch.nn.functional import pad
from transformers import DynamicCache, PreTrainedModel

from pacs.algorithm.effective_rank import prefix_ranks
from recipes.laboratory.sampling import Samples

#: Responses that a pass reads at a time.
PASS_ROWS = 16


def log_probs(model: PreTrainedModel, samples: Samples) -> torch.Tensor:
    """log pi(o_it), the log-probability of each response token given all before it: (B, T) float32, 0 after its end."""

    def of(hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model.get_output_embeddings()(hidden)
        return logits.log_softmax(-1).gather(-1, tokens[..., None]).squeeze(-1)

    return before_each_token(model.base_model, samples, of)


def mean_entropy_slopes(model: PreTrainedModel, samples: Samples) -> torch.Tensor:
    """(B, T) sum_k pi_k^2 (ln pi_k + H) over the vocabulary at each response token; 0 after its end."""

    def of(hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        known = model.get_output_embeddings()(hidden).log_softmax(-1)
        likely = known.exp()
        slopes: torch.Tensor = (likely.square() * (known - (likely * known).sum(-1, keepdim=True))).sum(-1)
        return slopes

    return before_each_token(model.base_model, samples, of)


@torch.no_grad()
def effective_ranks(model: PreTrainedModel, samples: Samples, stride: int) -> torch.Tensor:
    """(B, T) `prefix_ranks` of the last hidden states that each response's tokens were drawn from; 0 after its end."""
    found = torch.zeros(samples.response_mask.shape)
    for row, (states, mask) in enumerate(zip(hidden_states(model, samples), samples.response_mask, strict=True)):
        found[row, mask] = prefix_ranks(states[mask], stride)
    return found


@torch.no_grad()
def hidden_states(model: PreTrainedModel, samples: Samples) -> torch.Tensor:
    """(B, T, H) the last hidden state that each response token was drawn from; anything after the response's end."""
    width, parts = samples.response_mask.shape[1], []
    positions = (samples.attention_mask.cumsum(1) - 1).clamp(min=0)
    for rows in torch.arange(len(samples)).split(PASS_ROWS):
        read = model.base_model(
            input_ids=samples.ids[rows], attention_mask=samples.attention_mask[rows], position_ids=positions[rows]
        )
        parts.append(read.last_hidden_state[:, -width - 1 : -1])
    return torch.cat(parts)


def answer_sensitivity(model: PreTrainedModel, samples: Samples, answer: int) -> torch.Tensor:
    """(B, T) |e . dphi/de| of each response token's embedding e, phi the mean log pi of a response's last tokens.

    Args:
        model: a causal language model; no weight gets a gradient.
        samples: B responses.
        answer: how many tokens; of a shorter response all.
    """
    width, parts = samples.response_mask.shape[1], []
    positions = (samples.attention_mask.cumsum(1) - 1).clamp(min=0)
    last = samples.response_mask & (samples.response_mask.flip(1).cumsum(1).flip(1) <= answer)
    for rows in torch.arange(len(samples)).split(PASS_ROWS):
        embedded = model.get_input_embeddings()(samples.ids[rows]).detach().requires_grad_()
        read = model.base_model(
            inputs_embeds=embedded, attention_mask=samples.attention_mask[rows], position_ids=positions[rows]
        )
        logits = model.get_output_embeddings()(read.last_hidden_state[:, -width - 1 : -1])
        log_pi = logits.log_softmax(-1).gather(-1, samples.ids[rows, -width:, None])[:, :, 0]
        phi = torch.where(last[rows], log_pi, 0).sum(1) / last[rows].sum(1).clamp(min=1)
        (slopes,) = torch.autograd.grad(phi.sum(), embedded)
        parts.append((slopes * embedded.detach()).sum(-1).abs()[:, -width:])
    return torch.where(samples.response_mask, torch.cat(parts), 0)


def before_each_token(
    body: PreTrainedModel, samples: Samples, values: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """(B, T) a value of each response token, from what the body knows before it; 0 after the response's end.

    Responses are read some at a time, those of like length together, so that little padding is. The numbers, and their
    gradients, are those of prompt and response read as one sequence.

    Args:
        body: of a causal language model, without its head; of full attention in every layer.
        samples: B responses.
        values: (B', T') by the last hidden states before the tokens, (B', T', H), and the tokens, (B', T') int64.
    """
    width = samples.response_mask.shape[1]
    columns = samples.ids.shape[1] - width
    prompt_mask = samples.attention_mask[:, :columns]
    # A prompt's rows are found by its tokens, whatever the order of the rows.
    prompts, of_row = torch.where(prompt_mask.bool(), samples.ids[:, :columns], -1).unique(dim=0, return_inverse=True)
    prompt_mask = (prompts >= 0).long()
    read = DynamicCache(config=body.config)
    positions = (prompt_mask.cumsum(1) - 1).clamp(min=0)
    first = body(
        input_ids=prompts.clamp(min=0),
        attention_mask=prompt_mask,
        position_ids=positions,
        past_key_values=read,
        use_cache=True,
    ).last_hidden_state[:, -1:]
    order = samples.response_mask.sum(1).argsort(stable=True)
    parts = []
    for rows in order.split(PASS_ROWS):
        mask, prompt_of_row = samples.response_mask[rows], of_row[rows]
        longest = int(mask.sum(1).max())
        mask, tokens, hidden = mask[:, :longest], samples.ids[rows, columns : columns + longest], first[prompt_of_row]
        if longest > 1:
            cache = DynamicCache(config=body.config)
            for number, layer in enumerate(read.layers):
                cache.update(layer.keys[prompt_of_row], layer.values[prompt_of_row], number)
            after = body(
                input_ids=tokens[:, :-1],
                attention_mask=torch.cat([prompt_mask[prompt_of_row], mask[:, :-1].long()], dim=1),
                position_ids=prompt_mask[prompt_of_row].sum(1, keepdim=True) + torch.arange(longest - 1),
                past_key_values=cache,
                use_cache=True,
            ).last_hidden_state
            hidden = torch.cat([hidden, after], dim=1)
        parts.append(pad(torch.where(mask, values(hidden, tokens), 0), (0, width - longest)))
    return torch.cat(parts)[order.argsort()]
