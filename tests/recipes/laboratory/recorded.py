"""Runs of a start that takes no time to make, with all that they sampled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from recipes.laboratory import loop, rollouts
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.loop import run
from recipes.laboratory.sampling import Samples
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.tiny import odd, weights_of

SMALL = {"steps": 5, "prompts": 6, "responses": 4, "lr": 1e-3, "seed": 3}
#: Of the distance from the start.
ROUNDING = 2e-3
#: Where a new Adam, unwarmed, begins with whole steps of gradients that are little but rounding.
ROUNDING_OF_A_NEW_ADAM = 2e-2
EVALUATION = Evaluation(problems=4, samples=6, samples_between=3)


class Recorded:
    """A run, what each of its samplings gave, and the weights it was by."""

    def __init__(self, start: Path, settings: Settings, labels: Callable[..., torch.Tensor] = odd) -> None:
        self.samples: list[Samples] = []
        self.samplers: list[dict[str, torch.Tensor]] = []
        self.prompts: list[list[str]] = []
        self.lines: list[str] = []
        self.evaluation_seeds: list[int] = []
        real_sample, real_evaluate = rollouts.sample, loop.evaluate
        with pytest.MonkeyPatch.context() as patch:

            def sample(model: PreTrainedModel, tokenizer: Any, messages: Any, **how: Any) -> Samples:
                self.samplers.append(weights_of(model))
                self.prompts.append([message[0]["content"] for message in messages])
                self.samples.append(real_sample(model, tokenizer, messages, **how))
                return self.samples[-1]

            def evaluate(model: PreTrainedModel, *given: Any, **how: Any) -> dict[str, Any]:
                self.policy = model
                self.evaluation_seeds.append(how["seed"])
                return real_evaluate(model, *given, **how)

            patch.setattr(rollouts, "sample", sample)
            patch.setattr(rollouts, "grade", labels)
            patch.setattr(loop, "evaluate", evaluate)
            self.result = run(start, settings, EVALUATION, self.lines.append)


def plain_policy(start: Path) -> PreTrainedModel:
    return loop.read_beginning(start, prompts=1, split="test", problems=1).policy
