"""Joint training of the actor with a critic, and the methods that have none, from the same start."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pacs.algorithm.genac import SuccessRate
from pacs.algorithm.vineppo import STEP, STEP_VALUE
from recipes.genac_arithmetic.bench import answers_of, make_bench
from recipes.genac_arithmetic.critic import TOLD, GenerativeCritic, Judged
from recipes.genac_arithmetic.heads import valued
from recipes.genac_arithmetic.pretraining import Weights
from recipes.genac_arithmetic.sizes import Sizes
from recipes.genac_arithmetic.solving import pass_at_1
from recipes.genac_arithmetic.start import begin
from recipes.genac_arithmetic.states import of_tokens, states_of
from recipes.genac_arithmetic.truth import worth
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.checks import CHECKS, check_vine
from recipes.laboratory.learner import Learner
from recipes.laboratory.methods import method_named
from recipes.laboratory.ppo import Critic
from recipes.laboratory.rollouts import Batch, Rollouts
from recipes.laboratory.seconds import Clock
from recipes.laboratory.settings import Settings

GENAC = "pacs.algorithm.genac.GenAc"


@dataclass(frozen=True)
class Arm:
    """A method with its options, and what values its steps: `written` by the generative critic, `counted` as shares."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    values: str = ""


ARMS = {
    "grpo": Arm("grpo"),
    "rloo": Arm("rloo"),
    # The paper's VC-PPO: a value head that has learned before, and lambda 1.
    "vcppo": Arm("vcppo", {"lam": 1.0, "critic_warmup": 1}),
    "genac": Arm(GENAC, {"lam": 1.0}, "written"),
    "genac_95": Arm(GENAC, {"lam": 0.95}, "written"),
    "genac_0": Arm(GENAC, {"lam": 0.0}, "written"),
    # What a critic without errors would give.
    "counted": Arm(GENAC, {"lam": 1.0}, "counted"),
    "counted_0": Arm(GENAC, {"lam": 0.0}, "counted"),
}


class JointSettings(Settings):
    """As the laboratory's, where a critic of this recipe values steps, not completions."""

    CHECKS = tuple(check for check in CHECKS if check is not check_vine)


class Judge:
    """The generative critic at work: values a step's states, then learns from them.

    Args:
        begun: where the run begins.
        weights: of the critic after its own stages.
        rate: of the actor's success before the first step.
        seed: of the traces, and of which states are learned from.
        sizes: of the stage.
    """

    def __init__(self, begun: Beginning, weights: Weights, rate: float, seed: int, sizes: Sizes) -> None:
        self.critic = GenerativeCritic(begun.policy, begun.tokenizer, TOLD, sizes.critic_lr)  # type: ignore[arg-type]
        self.critic.model.load_state_dict(weights)
        self.rate, self._size = SuccessRate(rate), sizes.critic_states
        self.generator, self._order = torch.Generator().manual_seed(30_000 + seed), random.Random(seed)

    def learn(self, judged: Judged, batch: Batch) -> float:
        """An update by a step's traces, once the actor has had its own; their mean R."""
        outcomes = batch.labels.tolist()
        size = min(self._size, len(judged.states))
        rows = torch.tensor(self._order.sample(range(len(judged.states)), size))
        reward = self.critic.reinforce(judged, [outcomes[state.row] for state in judged.states], rows)
        self.rate.update(outcomes)
        return reward


def joint(
    name: str,
    seed: int,
    sizes: Sizes,
    pretraining: Mapping[str, Any],
    weights: Mapping[str, Weights],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The stage `joint/NAME`.

    Args:
        name: of the arm.
        seed: of the prompts and of all samples.
        sizes: of the stage.
        pretraining: the result of the stage `critics`.
        weights: and its weights.
        say: is given a line a step, and one an evaluation.

    Returns:
        `curve`, a point a step: `reward`, what was generated up to it (`tokens`, the critic's among them, and
        `tokens_each`, if states that are alike had a trace each), `unparsable` of the step's states, `critic_reward`;
        `evaluations`: `step`, `tokens`, `tokens_each`, `pass@1`; of an arm with a critic `critic`, its numbers at the
        end on the actor's states then; `seconds`.
    """
    torch.set_num_threads(1)
    started = time.process_time()
    arm = ARMS[name]
    begun, _ = begin("test")
    settings = JointSettings(
        method=arm.method,
        options=arm.options,
        steps=sizes.steps,
        prompts=sizes.prompts,
        responses=sizes.responses,
        updates_per_step=sizes.updates_per_step,
        lr=sizes.lr,
        seed=seed,
    )
    method = method_named(
        arm.method, {**arm.options, **({"critic_lr": sizes.joint_head_lr} if name == "vcppo" else {})}
    )
    head = None
    if name == "vcppo":
        head = Critic(begun.policy)
        head.load_state_dict(weights["head"])
    judge = Judge(begun, weights["critic"], pretraining["rate"], seed, sizes) if arm.values == "written" else None
    rollouts = Rollouts(begun, settings, method)
    learner = Learner(begun.policy, settings, method, begun.max_response_tokens, Clock(), head)
    counting = torch.Generator().manual_seed(40_000 + seed)
    answers = answers_of(begun.train)
    tokens, tokens_each = 0, 0
    curve: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []

    def look(step: int) -> None:
        share = pretraining["pass@1"] if step == 0 else pass_at_1(begun, sizes, seed * 1_000 + step)
        evaluations.append({"step": step, "tokens": tokens, "tokens_each": tokens_each, "pass@1": share})
        say(f"{name}, step {step}: pass@1 {share:.3f}")

    look(0)  # the start, as the critics' stage has measured it
    for step in range(1, sizes.steps + 1):
        batch = rollouts.next()
        tokens, tokens_each = tokens + batch.tokens, tokens_each + batch.tokens
        point: dict[str, Any] = {"reward": batch.reward}
        judged = None
        if arm.values:
            states = states_of(batch.samples, begun.tokenizer)
            if judge is not None:
                judged = judge.critic.judge(states, judge.rate.rate, judge.generator)
                values = judged.values
                tokens, tokens_each = tokens + judged.tokens, tokens_each + judged.tokens_each
                point["unparsable"] = sum(value is None for value in judged.read) / len(states)
            else:
                values = worth(
                    begun.policy,  # type: ignore[arg-type]
                    begun.tokenizer,
                    states,
                    answers,
                    continuations=sizes.continuations,
                    generator=counting,
                )
            of_steps, of_values = of_tokens(states, values, batch.samples.response_mask.shape)
            batch = replace(batch, streams={STEP: of_steps, STEP_VALUE: of_values})
        learner.step(step, batch)
        if judge is not None and judged is not None:
            point["critic_reward"] = judge.learn(judged, batch)
        curve.append(point | {"tokens": tokens, "tokens_each": tokens_each})
        if step % sizes.evaluate_every == 0 or step == sizes.steps:
            look(step)
    result: dict[str, Any] = {"curve": curve, "evaluations": evaluations}
    if judge is not None or head is not None:
        probe, _ = begin("probe")
        problems = probe.evaluated.of(range(sizes.probe_problems))
        bench = make_bench(begun.policy, begun.tokenizer, problems, responses=1, seed=50_000 + seed)  # type: ignore[arg-type]
        rate = sum(point["reward"] for point in curve[-5:]) / len(curve[-5:])
        if judge is not None:
            critic, told, generator = judge.critic, judge.rate.rate, judge.generator
            found = bench.measured(lambda states: critic.judge(states, told, generator).read, told)
        else:
            assert head is not None
            kept = head
            found = bench.measured(lambda states: list(valued(kept, states)), rate)
        result["critic"] = found | {"oracle": bench.oracle()["mse"]}
        say(f"{name}, the critic at the end: {found}, oracle {bench.oracle()}")
    return result | {"seconds": time.process_time() - started}
