"""The settings of a benchmark run; the parent writes them to the work folder, every child reads them there."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pacs.planning.architecture import PUBLISHED, Architecture


@dataclass(frozen=True)
class Shape:
    """A Qwen3 model and the rollouts it is measured on by default.

    Attributes:
        prompts: prompts a step.
        prompt_tokens: tokens of every prompt.
        median_tokens: median tokens of a response; the longest has `LONGEST` times as many.
    """

    model: Architecture
    prompts: int
    prompt_tokens: int
    median_tokens: int


#: The longest response, in medians.
LONGEST = 8
#: smoke is for tests; the numbers from 0.6b on are those Qwen published.
SHAPES = {
    "smoke": Shape(Architecture(64, 128, 2, 2, 1, 32, 256, True), prompts=4, prompt_tokens=4, median_tokens=4),
    "tiny": Shape(Architecture(384, 1536, 4, 6, 2, 64, 4096, True), prompts=8, prompt_tokens=16, median_tokens=16),
    **{
        size.lower(): Shape(PUBLISHED[f"Qwen/Qwen3-{size}"], prompts=32, prompt_tokens=256, median_tokens=256)
        for size in ("0.6B", "1.7B", "4B", "8B")
    },
}


@dataclass(frozen=True)
class Settings:
    """The command line, with the shape's defaults filled in.

    Attributes:
        responses: responses a prompt, the size of a group.
        steps: rounds that are timed, after one of warm-up.
        head: `model` (logits), or the backend of verl's fused log-probabilities: `torch`, `triton`.
        attention: as transformers names it.
    """

    shape: str
    device: str
    prompts: int
    responses: int
    prompt_tokens: int
    median_tokens: int
    steps: int
    head: str
    attention: str
    seed: int

    @property
    def rows(self) -> int:
        """Responses a step."""
        return self.prompts * self.responses

    @property
    def longest_response(self) -> int:
        """Tokens of the longest response, which is also the longest that is allowed."""
        return LONGEST * self.median_tokens

    @property
    def longest_sequence(self) -> int:
        """Tokens of a prompt and the longest response."""
        return self.prompt_tokens + self.longest_response

    def token_budget(self, group: int) -> int:
        """Tokens a micro-batch may hold so that any group of so many responses fits."""
        return group * self.longest_sequence

    def group_sizes(self) -> list[int]:
        """The sizes at which memory is measured: the group's own, twice and four times that, while rows divide."""
        return [size for size in (self.responses, 2 * self.responses, 4 * self.responses) if self.rows % size == 0]

    def write(self, folder: Path) -> None:
        """Write to the work folder."""
        (folder / "settings.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> "Settings":
        """Read from the work folder."""
        return cls(**json.loads((folder / "settings.json").read_text()))
