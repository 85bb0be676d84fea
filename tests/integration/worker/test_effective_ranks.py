"""Effective ranks and STEER's sums that verl's real workers give, beside transformers' own pass of each response."""

import pytest
import torch

from pacs.integration.worker.effective_ranks import final_norm
from tests.algorithm.test_era import by_singular_values
from tests.integration.preflight.families import has_sdpa
from tests.integration.preflight.families import tiny_model as model_of
from tests.integration.worker.test_merging import ROWS
from tests.integration.worker.test_worker import TRIED_RANKS, run_ranks
from tests.integration.worker.worker_case import STRIDE, Row, deal_out, tiny_model

GROUPS = 7
#: Name -> how rows are laid out, whether equal ones are merged, and whether STEER's sums are given, and no ranks.
LAYOUTS = {
    "packed": ("packed", False, False),
    "padded": ("padded", False, False),
    "merged": ("packed", True, False),
    "packed, slopes": ("packed", False, True),
    "padded, slopes": ("padded", False, True),
    "merged, slopes": ("packed", True, True),
}
TEMPERATURE = 0.7


def naive(row: Row) -> list[float]:
    """At each place of the response, of the states that its tokens were drawn from until there; 0 between."""
    model = tiny_model("qwen3", seed=0)
    tokens = torch.tensor([row.prompt + row.response])
    with torch.no_grad():
        states = model.base_model(tokens).last_hidden_state[0, len(row.prompt) - 1 : -1]
    places = [t for t, own in enumerate(row.mask) if own]
    found = [0.0] * len(row.mask)
    for count, place in enumerate(places, start=1):
        if count > 1 and (count % STRIDE == 0 or count == len(places)):
            found[place] = by_singular_values(states[places[:count]])
    return found


@pytest.fixture(scope="module", params=TRIED_RANKS, ids=["one rank", "two ranks"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Row, dict]]:
    """Of each layout and row what was found of it."""
    folder, ranks = tmp_path_factory.mktemp("ranks"), request.param
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    parts = deal_out(ROWS, groups_per_mini_batch=GROUPS + GROUPS % ranks, ranks=ranks, whole_groups=False)
    about = {"family": "qwen3", "learning_rate": 0.1, "parts": parts}
    cases = {
        name: {**about, "layout": layout, "merge": merge, "slopes": slopes}
        for name, (layout, merge, slopes) in LAYOUTS.items()
    }
    torch.save(cases, folder / f"cases_{ranks}.pt")
    run_ranks(folder, ranks, process="worker.ranks_process")
    found = []
    for name in LAYOUTS:
        for rank, rows in enumerate(parts):
            columns = torch.load(folder / f"{name}_{rank}.pt")
            for place, row in enumerate(rows):
                found.append((name, row, {key: values[place] for key, values in columns.items()}))
    return found


def test_ranks_are_those_of_the_states_of_a_pass_of_each_response(results: list[tuple[str, Row, dict]]) -> None:
    seen = 0
    for layout, row, found in results:
        if row.uid and "slopes" not in layout:
            ranks = found["found"][len(row.prompt) - 1 : -1]
            assert len(found["found"]) == len(row.prompt + row.response)
            assert ranks.tolist() == pytest.approx(naive(row), rel=1e-3)
            seen += int((ranks > 1).sum())
    assert seen > 3 * len(ROWS)


def test_slopes_are_those_of_a_pass_of_each_response(results: list[tuple[str, Row, dict]]) -> None:
    """By autograd: sum_k pi_k f_k with f_k = -dH/dlogit_k, f_k = pi_k (ln pi_k + H)."""
    model, seen = tiny_model("qwen3", seed=0), 0
    for layout, row, found in results:
        if row.uid and "slopes" in layout:
            with torch.no_grad():
                logits = model(torch.tensor([row.prompt + row.response])).logits[0, len(row.prompt) - 1 : -1]
            logits = (logits / TEMPERATURE).requires_grad_()
            log_probs = logits.log_softmax(-1)
            (slopes,) = torch.autograd.grad((log_probs.exp() * log_probs).sum(), logits)
            expected = (log_probs.exp() * slopes).sum(-1)
            given = found["found"][len(row.prompt) - 1 : -1]
            torch.testing.assert_close(given, expected.detach(), rtol=1e-3, atol=1e-6)
            seen += int((given.abs() > 1e-3).sum())
    assert seen > 3 * len(ROWS)


def test_the_pass_is_otherwise_as_ever(results: list[tuple[str, Row, dict]]) -> None:
    for _, row, found in results:
        torch.testing.assert_close(found["log_probs"][len(row.prompt) - 1 : -1], found["without"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", ["qwen3", "phi", "lfm2", "nemotron_h", "recurrent_gemma"])
def test_the_final_norm_gives_the_last_hidden_state(family: str) -> None:
    model, states = model_of(family, "sdpa" if has_sdpa(family) else "eager").eval(), []
    final_norm(model).register_forward_hook(lambda module, given, made: states.append(made))
    with torch.no_grad():
        last = model.base_model(torch.arange(3, 13)[None], use_cache=False).last_hidden_state
    assert torch.equal(states[-1], last)


def test_a_model_without_a_norm_of_a_known_name_is_refused() -> None:
    with pytest.raises(ValueError, match="effective ranks need the model's last hidden state, but of the modules that"):
        final_norm(torch.nn.Sequential(torch.nn.Linear(2, 2)))
