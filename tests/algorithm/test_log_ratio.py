import pytest
import torch

from pacs.algorithm import sequence_log_ratios

from .naive import gradient

NAN, INF = float("nan"), float("inf")
LOG_PROBS = torch.tensor([[-1.0, -2.0, -3.0], [-0.5, -0.25, NAN]], dtype=torch.float64)
REF = torch.tensor([[-2.0, -2.5, INF], [-0.5, -1.25, -INF]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 0], [1, 1, 0]]).bool()


def test_by_hand() -> None:
    """Row 0: (-1+2) + (-2+2.5) = 1.5. Row 1: 0 + (-0.25+1.25) = 1."""
    assert sequence_log_ratios(LOG_PROBS, REF, MASK).tolist() == [1.5, 1.0]


def test_what_the_mask_hides_has_no_gradient() -> None:
    """Inf and NaN under a zero mask: gradient exactly 0 there."""
    leaf = LOG_PROBS.clone().requires_grad_()
    assert gradient(sequence_log_ratios(leaf, REF, MASK).sum(), leaf).tolist() == [[1.0, 1.0, 0.0]] * 2


def test_the_reference_is_a_constant() -> None:
    """A reference that shares the policy's graph (the same module) must not cancel its gradient."""
    leaf = torch.zeros(2, 3, requires_grad=True)
    rewards = sequence_log_ratios(leaf, leaf, MASK)
    assert gradient(rewards.sum(), leaf).sum() == 4


def test_a_row_without_a_token_has_none() -> None:
    assert sequence_log_ratios(LOG_PROBS, REF, torch.zeros(2, 3, dtype=torch.bool)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_calculates_in_float32_at_least(dtype: torch.dtype, expected: torch.dtype) -> None:
    """In half precision 300 differences of 1 + 2^-7 could not be summed: bf16 has 8 bits, fp16 11."""
    log_probs, ref = torch.full((1, 300), -1.0, dtype=dtype), torch.full((1, 300), -2.0078125, dtype=dtype)
    rewards = sequence_log_ratios(log_probs, ref, torch.ones(1, 300, dtype=torch.bool))
    assert rewards.dtype == expected
    exact = (log_probs.double() - ref.double()).sum().item()
    assert rewards.item() == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_difference_of_half_precision_values_is_not_rounded_to_it(dtype: torch.dtype) -> None:
    """-3 + 1.5 * 2^-10 has 13 binary digits; bf16 has 8, fp16 11."""
    log_probs, ref = torch.tensor([[-3.0]], dtype=dtype), torch.tensor([[-1.5 * 2**-10]], dtype=dtype)
    assert sequence_log_ratios(log_probs, ref, torch.ones(1, 1, dtype=torch.bool)).item() == -3 + 1.5 * 2**-10


def test_long_responses_keep_small_ratios() -> None:
    """8,192 log-probabilities that sum to about -30,000 and differ by 1e-4 each: the sums would lose it."""
    random = torch.Generator().manual_seed(0)
    log_probs = -8 * torch.rand((4, 8192), generator=random)
    ref = log_probs - 1e-4 * torch.rand((4, 8192), generator=random)
    mask = torch.ones(4, 8192, dtype=torch.bool)
    exact = (log_probs.double() - ref.double()).sum(dim=1)
    torch.testing.assert_close(sequence_log_ratios(log_probs, ref, mask).double(), exact, rtol=1e-5, atol=0)


def test_not_finite_under_the_mask_is_refused() -> None:
    """The message names the tensor and counts its rows, not its tokens."""
    log_probs, ref = torch.zeros(4, 3), torch.zeros(4, 3)
    log_probs[0], log_probs[2, 1], ref[3, 0] = NAN, -INF, INF
    with pytest.raises(ValueError, match="log_probs in 2 and ref_log_probs in 1 of 4 rows"):
        sequence_log_ratios(log_probs, ref, torch.ones(4, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="response_mask: ref_log_probs in 1 of 4 rows"):
        sequence_log_ratios(torch.zeros(4, 3), ref, torch.ones(4, 3, dtype=torch.bool))


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ref_log_probs has shape \(2, 1\), where \(2, 3\) is needed"):
        sequence_log_ratios(LOG_PROBS, REF[:, :1], MASK)
    with pytest.raises(ValueError, match=r"response_mask has shape \(1, 3\), where \(2, 3\) is needed"):
        sequence_log_ratios(LOG_PROBS, REF, MASK[:1])
    with pytest.raises(ValueError, match=r"log_probs must be \(B, T\)"):
        sequence_log_ratios(LOG_PROBS[0], REF[0], MASK[0])
