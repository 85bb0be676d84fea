"""The section `run` of a config: a run's folder and its life, not what is trained."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pacs.base.typed_settings import Settings
from pacs.rewards.composite import RewardSettings

#: The default of `no_progress_limit`.
LONG_SECONDS, FIRST_STEP_SECONDS, LEAST_SECONDS, STEPS = 3600.0, 10800.0, 600.0, 4


class _RunSection(Settings):
    SECTION: ClassVar[str] = "run"


class FaultSettings(_RunSection):
    """When a run is taken for broken: the keys under `run.faults.`."""

    #: Updates in a row, each skipped since its gradient was not finite, after which the run stops.
    skipped_updates: int = Field(default=3, ge=1, description="a whole number of updates in a row")
    #: Seconds without progress after which the run is ended; None (null): `no_progress_limit` decides.
    no_progress_seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="a number of seconds, or null to have it follow from the median step"
    )
    #: Share of a step's responses that the verifier may fail to grade; above it the run stops.
    verifier_errors: float = Field(default=0.1, ge=0, le=1, description="a share (1: never stop)")

    def no_progress_limit(self, phase: str, step_seconds: float | None) -> float:
        """Seconds without progress that are too long in a phase.

        While models load and compile, and in a save, which shows none: an hour, or the setting if that is longer.
        Else the setting; without one three hours in the first step (an update of long responses is silent for more than
        one), then four median steps, but at least ten minutes.

        Args:
            phase: of `state.Progress`.
            step_seconds: the median step; None before the first is done.
        """
        if phase in ("start", "save"):
            return max(LONG_SECONDS, self.no_progress_seconds or 0)
        if self.no_progress_seconds is not None:
            return self.no_progress_seconds
        return FIRST_STEP_SECONDS if step_seconds is None else max(LEAST_SECONDS, STEPS * step_seconds)


class ReasoningSettings(_RunSection):
    """How the model marks its reasoning: `pacs.rewards.reasoning` checks it."""

    #: Pairs of an opening and a closing text; None (null): as tokenizer, chat template and prompt say.
    delimiters: Any = None


class DarsSettings(_RunSection):
    """More responses to prompts that few of the first ones solve (`pacs.algorithm.dars`): `run.rollouts.dars.`."""

    #: How many more: equal or hardness; None (null): none.
    schedule: Literal["equal", "hardness"] | None = None
    #: The most responses to a prompt, the first ones among them.
    most: int = Field(default=32, ge=2, description="the authors use 32 with equal, and 64 with hardness")
    #: Scale a group's losses by 1/G, so that it pulls no more for being larger.
    scale: bool = False


class GuidedSettings(_RunSection):
    """Another try with guidance where a response is wrong (`pacs.rewards.guidance`): `run.rollouts.guided.`."""

    #: Which wrong responses: failed (any), unsolved (those to prompts without a right first response); None: none.
    after: Literal["failed", "unsolved"] | None = None
    #: What is told: the row's hint, the first lines of its solution, or what the verifier said.
    guidance: Literal["hint", "solution", "error"] = "hint"
    #: The text that it stands in.
    text: str = "Hint: {guidance}"
    #: The most retries of a response.
    retries: int = Field(default=1, ge=1, description="a whole number of at least 1")
    #: The share of a prompt's responses that may be tried again, rounded up.
    share: float = Field(default=0.5, gt=0, le=1, description="a share above 0; at 1 a group may become all right")
    #: The share of a solution's lines that is told, rounded up.
    part: float = Field(default=0.5, gt=0, le=1, description="a share above 0")
    #: The most characters of an error.
    characters: int = Field(default=500, ge=1, description="a whole number of at least 1")


class PoolSettings(_RunSection):
    """Prompts drawn by how often the policy is believed to solve them (`pacs.algorithm.pool`): `run.rollouts.pool.`."""

    #: Of the draw: uniform, sqrt or target; None (null): verl draws, as `data.shuffle` says.
    weights: Literal["uniform", "sqrt", "target"] | None = None
    #: Begin with the pass rates that `pacs data rate` has written beside the data.
    rates: bool = False
    #: The lowest believed pass rate that is drawn.
    low: float = Field(default=0.0, ge=0, le=1, description="a pass rate")
    #: The highest.
    high: float = Field(default=1.0, ge=0, le=1, description="a pass rate")
    #: With weights=target: the pass rate that is drawn most.
    target: float = Field(default=0.5, gt=0, lt=1, description="0.5 is where most groups are mixed")
    #: With weights=target: what the target becomes, step by step; None (null): it stays.
    final_target: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="a pass rate between 0 and 1, or null to have the target stay"
    )
    #: Steps after which it has become that.
    curriculum_steps: Annotated[int, Field(ge=1)] | None = Field(default=None, description="a whole number, or null")
    #: Steps after which a response counts half; None (null): all count alike.
    half_life: Annotated[float, Field(gt=0)] | None = Field(
        default=100.0, description="a number of steps, or null to have nothing forgotten"
    )

    def preference(self, responses: int) -> dict[str, Any]:
        """The arguments of a `pacs.algorithm.preference.Preference` for n responses to each problem."""
        settings = self.model_dump(exclude={"rates", "half_life"})
        return {**settings, "curriculum_steps": self.curriculum_steps or 1, "responses": responses}


class PartialSettings(_RunSection):
    """Steps that do not wait for their longest responses (`integration.trainer.partial`): `run.rollouts.partial.`."""

    #: Prompts that are sampled beyond those of a step, over `data.train_batch_size`; None (null): none.
    ahead: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="a share of data.train_batch_size, at most 1, or null to wait for every response"
    )
    #: The most steps from that in which a prompt is handed out to that which trains on its responses.
    max_staleness: int = Field(default=1, ge=1, description="a whole number of steps")


class VineSettings(_RunSection):
    """Values of a response's steps by completions of their prefixes (VinePPO): `run.rollouts.vine.`."""

    #: Completions of each prefix; None (null): steps have no values.
    completions: Annotated[int, Field(ge=1)] | None = Field(default=None, description="the authors use 9")
    #: Text that ends a step.
    delimiter: str = Field(default="\n\n", min_length=1, description='a text, as a blank line ("\\n\\n")')
    #: A step that is shorter goes on to the next delimiter.
    least_tokens: int = Field(default=1, ge=1, description="a whole number of tokens")
    #: The last of so many steps goes on to the end.
    most_steps: int = Field(default=25, ge=1, description="a whole number of steps")
    #: Train on the completions of each prefix, as a group, in place of valuing steps by them.
    train_completions: bool = False


class RolloutSettings(_RunSection):
    """How responses are sampled, beside verl's settings."""

    #: A seed for each response, from the run's seed, the step and the prompt.
    seeded: bool = False
    dars: DarsSettings = DarsSettings()
    guided: GuidedSettings = GuidedSettings()
    partial: PartialSettings = PartialSettings()
    pool: PoolSettings = PoolSettings()
    vine: VineSettings = VineSettings()


class TurnSettings(_RunSection):
    """Responses of several turns, between which tools answer: the keys under `run.turns.`."""

    #: What our verifiers read: the last turn, or the whole conversation.
    graded: Literal["last", "conversation"] = "last"
    #: The most tokens of one turn, which ends the response; None (null): as many as the response has left.
    tokens: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="a whole number of at least 1, or null for what data.max_response_length leaves"
    )


class CriticSettings(_RunSection):
    """What a critic learns (`pacs.integration.trainer.critic_returns`)."""

    #: Lambda of its returns; None (null): `algorithm.lam`, which is the advantages'.
    lam: float | None = Field(default=None, ge=0, le=1, description="a number from 0 to 1, or null for algorithm.lam")


class StdFilterSettings(_RunSection):
    """Groups whose rewards hardly differ are left out (`pacs.algorithm.std_filter`): `run.rlpr.std_filter.`."""

    #: Share of the usual standard deviation below which a group is left out; None (null): none is.
    share: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="a share below 1 (RLPR: 0.5), or null for no filter"
    )
    #: Of the moving average of the steps' mean standard deviations.
    decay: float = Field(default=0.99, ge=0, lt=1, description="below 1")
    #: The first step in which groups are left out.
    first_step: int = Field(default=11, ge=2, description="a step after the first")


class RlprSettings(_RunSection):
    """What goes with the verifier `reference_probability`: the keys under `run.rlpr.`."""

    #: The tokens of a sampled answer, and what follows it, carry no gradient.
    mask_answer: bool = True
    #: Factor of the gradient of the reference answer's own probability (VeriFree's term), which is trained in the place
    #: of the sampled answer; 0: none.
    answer_weight: float = Field(default=0.0, ge=0, description="a factor, 1 for the whole gradient, or 0 for none")
    std_filter: StdFilterSettings = StdFilterSettings()


class ResumeSettings(_RunSection):
    """How a run goes on."""

    #: From a checkpoint although settings of the algorithm have changed since.
    accept_changes: bool = False


class RunSettings(_RunSection):
    """All keys under `run.`.

    Raises:
        ValueError: by `from_mapping`: an unknown key, or a value that is refused.
    """

    #: The run's folder.
    dir: str
    #: Groups of training responses that each step writes.
    sample_groups: int = Field(default=4, ge=0, description="a whole number of groups")
    #: The mini-batches of a step have like rewards.
    balance_rewards: bool = False
    reasoning: ReasoningSettings = ReasoningSettings()
    reward: RewardSettings = RewardSettings()
    rollouts: RolloutSettings = RolloutSettings()
    turns: TurnSettings = TurnSettings()
    rlpr: RlprSettings = RlprSettings()
    critic: CriticSettings = CriticSettings()
    faults: FaultSettings = FaultSettings()
    resume: ResumeSettings = ResumeSettings()
