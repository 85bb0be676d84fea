"""The model's shape, and what follows from it alone: parameters, bytes of the KV cache, operations a token."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.verl_keys.names import POLICY_PATH

#: model_type -> what its layers have beside their matrices.
FAMILIES: dict[str, dict[str, bool]] = {
    "qwen3": {},
    "qwen2": {"head_norms": False, "biases": True},
    "llama": {"head_norms": False},
}


@dataclass(frozen=True)
class Architecture:
    """A dense Qwen3, Qwen2 or Llama, as its config.json describes it.

    Attributes:
        head_norms: queries and keys have a norm a head (Qwen3).
        biases: queries, keys and values have a bias (Qwen2).
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    tie_word_embeddings: bool
    head_norms: bool = True
    biases: bool = False

    @property
    def query_width(self) -> int:
        """Numbers in all query heads of a token."""
        return self.num_attention_heads * self.head_dim

    @property
    def key_value_width(self) -> int:
        """Numbers in all key heads of a token; as many are in its value heads."""
        return self.num_key_value_heads * self.head_dim

    @property
    def embedding_parameters(self) -> int:
        """V H: the embedding, and the head where it is not the same tensor."""
        return self.vocab_size * self.hidden_size

    @property
    def layer_parameters(self) -> int:
        """H (2 Q + 2 K) + 3 H I: q, k, v, o; gate, up, down; and what is added to them."""
        hidden, width, kv = self.hidden_size, self.query_width, self.key_value_width
        return hidden * (2 * width + 2 * kv + 3 * self.intermediate_size) + self.vector_parameters

    @property
    def vector_parameters(self) -> int:
        """Of a layer: two norms of H, one a head for q and for k; biases of q, k and v."""
        norms = 2 * self.hidden_size + (2 * self.head_dim if self.head_norms else 0)
        return norms + (self.query_width + 2 * self.key_value_width if self.biases else 0)

    @property
    def parameters(self) -> int:
        """All of the policy's."""
        embeddings = self.embedding_parameters * (1 if self.tie_word_embeddings else 2)
        return embeddings + self.num_hidden_layers * self.layer_parameters + self.hidden_size

    @property
    def critic_parameters(self) -> int:
        """All of a critic's: verl makes it of the same model with a head of one number and a bias."""
        body = self.embedding_parameters + self.num_hidden_layers * self.layer_parameters + self.hidden_size
        return body + self.hidden_size + 1

    @property
    def multiplied_parameters(self) -> int:
        """Those that a token is multiplied with: the layers' matrices and the head, not the embedding's lookup."""
        matrices = self.layer_parameters - self.vector_parameters
        return self.num_hidden_layers * matrices + self.embedding_parameters

    def adapter_parameters(self, rank: int, modules: Collection[str] | None) -> int:
        """r (in + out) of each matrix of a layer, or of those with these names: B A has as many rows and columns."""
        hidden, width, kv, inner = self.hidden_size, self.query_width, self.key_value_width, self.intermediate_size
        sizes = {
            **{"q_proj": hidden + width, "k_proj": hidden + kv, "v_proj": hidden + kv, "o_proj": hidden + width},
            **dict.fromkeys(("gate_proj", "up_proj", "down_proj"), hidden + inner),
        }
        chosen = sizes if modules is None else [name for name in sizes if name in modules]
        return self.num_hidden_layers * rank * sum(sizes[name] for name in chosen)

    def kv_bytes_per_token(self, number_bytes: int) -> int:
        """2 L K bytes of the cache: a key and a value in each layer."""
        return 2 * self.num_hidden_layers * self.key_value_width * number_bytes

    def forward_flops_per_token(self, context_tokens: float) -> float:
        """2 N + 4 L Q c: a multiplication and an addition a parameter; attention's two products over c tokens.

        As in Appendix B of PaLM (arXiv 2204.02311), there for forward and backward (6 N + 12 L Q c). A token of a
        causal sequence sees half of it on average.
        """
        return 2 * self.multiplied_parameters + 4 * self.num_hidden_layers * self.query_width * context_tokens

    @classmethod
    def from_config(cls, config: Mapping[str, Any], name: str) -> "Architecture":
        """The shape in a config.json.

        Raises:
            UserError: another kind of model, or a part is missing.
        """
        kind = config.get("model_type")
        if kind not in FAMILIES or config.get("attention_bias") or config.get("mlp_bias"):
            with_biases = " with biases" if kind in FAMILIES else ""
            raise UserError(
                f"{POLICY_PATH}={name} is a model of type {kind}{with_biases}: the plan's formulas are written down "
                f"for {', '.join(FAMILIES)} (dense) alone; plan with one of these of like size"
            )
        found = dict(config)
        if kind != "qwen3" and found.get("head_dim") is None and found.get("num_attention_heads"):
            found["head_dim"] = found.get("hidden_size", 0) // found["num_attention_heads"]
        needed = [field for field in cls.__dataclass_fields__ if field not in ("head_norms", "biases")]
        if missing := [field for field in needed if field not in found]:
            raise UserError(f"{POLICY_PATH}={name}: its config.json lacks {', '.join(missing)}")
        return cls(**{field: found[field] for field in needed}, **FAMILIES[kind])


#: The sizes in the config.json that is published with each model (of Qwen3 also Table 1 of arXiv 2505.09388), for
#: machines that cannot download them.
PUBLISHED = {
    "Qwen/Qwen3-0.6B": Architecture(1024, 3072, 28, 16, 8, 128, 151936, tie_word_embeddings=True),
    "Qwen/Qwen3-1.7B": Architecture(2048, 6144, 28, 16, 8, 128, 151936, tie_word_embeddings=True),
    "Qwen/Qwen3-4B": Architecture(2560, 9728, 36, 32, 8, 128, 151936, tie_word_embeddings=True),
    "Qwen/Qwen3-8B": Architecture(4096, 12288, 36, 32, 8, 128, 151936, tie_word_embeddings=False),
    "Qwen/Qwen3-14B": Architecture(5120, 17408, 40, 40, 8, 128, 151936, tie_word_embeddings=False),
    "Qwen/Qwen3-4B-Thinking-2507": Architecture(2560, 9728, 36, 32, 8, 128, 151936, tie_word_embeddings=True),
    "Qwen/Qwen2.5-Math-7B": Architecture(3584, 18944, 28, 28, 4, 128, 152064, False, False, biases=True),
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": Architecture(
        1536, 8960, 28, 12, 2, 128, 151936, False, False, biases=True
    ),
    "meta-llama/Llama-3.2-1B-Instruct": Architecture(2048, 8192, 16, 32, 8, 64, 128256, True, False),
    "meta-llama/Llama-3.2-3B-Instruct": Architecture(3072, 8192, 28, 24, 8, 128, 128256, True, False),
}
# Qwen3's base models have the sizes of those that were trained further from them.
PUBLISHED |= {f"{name}-Base": shape for name, shape in PUBLISHED.items() if re.fullmatch(r"Qwen/Qwen3-[\d.]+B", name)}


def find_architecture(path: str) -> Architecture:
    """The architecture of a model: from its folder, from the Hugging Face cache, or from `PUBLISHED`. No network.

    Raises:
        UserError: it is in none of them.
    """
    file: object = Path(path).expanduser() / "config.json"
    if not Path(path).expanduser().exists():
        if path in PUBLISHED:
            return PUBLISHED[path]
        if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", path):  # a name of the Hub
            from huggingface_hub import try_to_load_from_cache

            file = try_to_load_from_cache(path, "config.json")
    if isinstance(file, str | Path) and Path(file).is_file():
        try:
            config = json.loads(Path(file).read_text(encoding="utf-8"))
        except ValueError as error:
            problem = f"{POLICY_PATH}={path}: {file} is not JSON ({error}): make or download it anew"
            raise UserError(problem) from error
        if not isinstance(config, dict):
            raise UserError(f"{POLICY_PATH}={path}: {file} holds no settings: make or download it anew")
        return Architecture.from_config(config, path)
    raise UserError(
        f"{POLICY_PATH}={path}: neither a folder with a config.json, nor in the Hugging Face cache, nor "
        f"one of {', '.join(PUBLISHED)}: make or download the model first, or plan with one of these"
    )
