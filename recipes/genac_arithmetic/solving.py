"""What an actor solves of the test problems."""

from recipes.genac_arithmetic.sizes import Sizes
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.evaluation import evaluate


def pass_at_1(begun: Beginning, sizes: Sizes, seed: int) -> float:
    """The share of right responses at T=1 by the actor as it is now.

    Args:
        begun: with the problems.
        sizes: how many of these, and samples of each.
        seed: of the samples.
    """
    measured = evaluate(
        begun.policy,
        begun.tokenizer,
        begun.evaluated.of(range(sizes.test_problems)),
        samples=sizes.test_samples,
        max_tokens=begun.max_response_tokens,
        seed=seed,
    )
    return float(sum(measured["right"])) / (sizes.test_samples * sizes.test_problems)
