"""What a run of the benchmark is about; the parent writes it to the work folder, every child reads it there."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Shape:
    """A Qwen3 model and the rollouts it is measured on by default.

    Attributes:
        prompts: prompts a step.
        prompt_tokens: tokens of every prompt.
        median_tokens: median tokens of a response; the longest has `LONGEST` times as many.
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    prompts: int
    prompt_tokens: int
    median_tokens: int


#: The longest response, in medians.
LONGEST = 8
#: smoke is for tests; the numbers of the last three are those Qwen published, with tied embeddings.
SHAPES = {
    "smoke": Shape(64, 128, 2, 2, 1, 32, 256, prompts=4, prompt_tokens=4, median_tokens=4),
    "tiny": Shape(384, 1536, 4, 6, 2, 64, 4096, prompts=8, prompt_tokens=16, median_tokens=16),
    "0.6b": Shape(1024, 3072, 28, 16, 8, 128, 151936, prompts=32, prompt_tokens=256, median_tokens=256),
    "1.7b": Shape(2048, 6144, 28, 16, 8, 128, 151936, prompts=32, prompt_tokens=256, median_tokens=256),
    "4b": Shape(2560, 9728, 36, 32, 8, 128, 151936, prompts=32, prompt_tokens=256, median_tokens=256),
}


@dataclass(frozen=True)
class Settings:
    """The command line, with the shape's defaults filled in.

    Attributes:
        responses: responses a prompt, the size of a group.
        steps: rounds that are timed, after one of warm-up.
    """

    shape: str
    device: str
    prompts: int
    responses: int
    prompt_tokens: int
    median_tokens: int
    steps: int
    fused: bool
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
