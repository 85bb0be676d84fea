"""On-policy distillation: a teacher says of each sampled token how much likelier it finds that than the policy did.

The credit of a token is strength * (log pi_teacher - log pi_old). Its mean over what the policy samples is -strength
times the divergence KL(pi_old || pi_teacher) of the token's place: the gradient is that of the sum over a response's
places, each by its own token alone (arXiv 2306.13649 with the reverse divergence, at a discount of 0).
"""

import torch
from pydantic import Field, field_validator

from pacs.algorithm import advantages
from pacs.algorithm.aggregated import Aggregated
from pacs.algorithm.method import Method
from pacs.algorithm.pacs import Pacs
from pacs.algorithm.rows import Rows, TrainBatch

#: The stream of the teacher's log-probabilities.
TEACHER = "teacher_log_probs"
READS = (TEACHER, "old_log_probs")


class Taught(Method):
    """What a method with a teacher has."""

    READS = READS

    #: The teacher: a folder or a name of the Hub. It has the policy's vocabulary.
    teacher: str = ""
    #: Factor of the teacher's credit.
    strength: float = Field(default=1.0, gt=0, description="a factor above 0")

    @field_validator("teacher", mode="before")
    @classmethod
    def _named(cls, teacher: object) -> object:
        return "" if teacher is None else teacher

    def of_teacher(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) strength * (log pi_teacher - log pi_old)."""
        return self.strength * (batch.streams[TEACHER] - batch.streams["old_log_probs"])


class Distillation(Taught, Aggregated):
    """The teacher's credit by PPO's clipped loss, and `task` times GRPO's advantages besides."""

    #: Factor of GRPO's advantages; 0: the labels are not trained on.
    task: float = Field(default=0.0, ge=0, description="a factor, or 0 for the teacher alone")

    @property
    def smallest_group(self) -> int:
        """With advantages a response and another."""
        return 2 if self.task else 1

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) of the teacher, and of the group."""
        credit = self.of_teacher(batch).to(batch.labels.dtype)
        if not self.task:
            return credit
        return credit + self.task * advantages.normalized(batch.labels, batch.groups)[:, None]


class PacsDistilled(Taught, Pacs):
    """PACS, less the mean over a response's tokens of the teacher's credit times the token's log-ratio.

    The policy that sampled is the reference, and the teacher's term has no clip: it is REINFORCE's.
    """

    LOSS_BY_CREDIT_ALONE = False

    @property
    def tokenwise(self) -> bool:
        """For the teacher's credit."""
        return True

    @property
    def compares_with_sampler(self) -> bool:
        """The teacher stands where another reference would."""
        return True

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) of the teacher."""
        return self.of_teacher(batch)

    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) of PACS, and of the teacher."""
        assert rows.token_sums is not None
        return super().losses(rows) - rows.token_sums / rows.lengths.clamp(min=1)


def teacher_of(method: Method) -> str:
    """The teacher of a method; "" of one that has none."""
    return method.teacher if isinstance(method, Taught) else ""
