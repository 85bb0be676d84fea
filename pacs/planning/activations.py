"""Memory of a pass over a micro-batch, counted tensor by tensor from Qwen3's code in transformers.

Symbols: t tokens of the micro-batch on this rank; H hidden, I intermediate, Q and K the widths of all query and all
key heads, L layers, V vocabulary; s bytes of a number in the pass, 4 those of float32, in which norms are calculated.
`tests/planning/test_measured.py` holds them to what torch allocates.
"""

from dataclasses import dataclass

from pacs.planning.architecture import Architecture
from pacs.verl_keys.workload import Trained

#: Tokens for which verl's fused log-probabilities (`FusedLinearForPPO`) have logits at a time, and how many copies
#: there are in float32 at once: logits, probabilities, one-hot labels, their difference, its product.
FUSED_TOKENS, FUSED_COPIES = 512, 5
#: Bytes a logit without them, by s. float32: the logits, their copy without padding, two gradients. 16 bits: the
#: logits, and in float32 probabilities and their products, for the entropy.
LOGIT_BYTES = {4: 16, 2: 10}


@dataclass(frozen=True)
class Activations:
    """Bytes at the peak of a pass.

    Attributes:
        kept: of all layers, until their backward pass.
        layer: beside them in a layer's backward pass.
        head: beside them for log-probabilities and entropy; the larger of the two counts.
    """

    kept: float
    layer: float
    head: float

    @property
    def peak(self) -> float:
        """Bytes."""
        return self.kept + max(self.layer, self.head)


def layer_bytes_per_token(shape: Architecture, model: Trained) -> float:
    """What autograd keeps of one layer: (8 + 4 s) H + (4 + 3 s) Q + (4 + 3 s) K + 4 s I.

    A norm keeps its input in float32 and the normalised value; a matrix its input: two norms and two inputs of H. Query
    and key: their norms, and rotated; value; attention's output of Q. Gate, its SiLU, up, and their product. Attention
    with a dense mask repeats keys and values for each query head: 2 s Q in place of 2 s K.
    """
    s, query, kv = model.compute_bytes, shape.query_width, shape.key_value_width
    attention = (4 + 3 * s) * query + (4 + s) * kv + 2 * s * (kv if model.flash else query)
    return (8 + 4 * s) * shape.hidden_size + attention + 4 * s * shape.intermediate_size


def mask_bytes(shape: Architecture, model: Trained, tokens: int, row_tokens: int, layers: int) -> float:
    """t c (1 + s l): a mask of bool, and each of l layers' copy in numbers; c tokens in a row, or t if packed."""
    if model.flash:
        return 0
    return tokens * (tokens if model.packed else row_tokens) * (1 + model.compute_bytes * layers)


def update_activations(shape: Architecture, model: Trained, tokens: int, row_tokens: int) -> Activations:
    """Forward and backward with a gradient.

    Checkpointed, each layer keeps its input (s H), and one has all its tensors at a time. Its backward pass has the
    gradients of the output, gate and up beside them: s (H + 2 I).
    """
    s, hidden = model.compute_bytes, shape.hidden_size
    layer = layer_bytes_per_token(shape, model) * tokens
    gradients = s * (hidden + 2 * shape.intermediate_size) * tokens
    count = shape.num_hidden_layers
    kept: float
    working: float
    if model.checkpointed:
        kept = count * s * hidden * tokens
        working = layer + gradients + mask_bytes(shape, model, tokens, row_tokens, 1)
    else:
        kept = count * layer + mask_bytes(shape, model, tokens, row_tokens, count)
        working = gradients
    return Activations(kept, working, (4 + 2 * s) * hidden * tokens + head_bytes(shape, model, tokens, gradient=True))


def forward_activations(shape: Architecture, model: Trained, tokens: int, row_tokens: int) -> Activations:
    """A pass without a gradient: nothing is kept, and a layer has its input, and gate, SiLU and up or a norm."""
    s = model.compute_bytes
    widest = max(2 * s * shape.query_width + 4 * s * shape.key_value_width, 3 * s * shape.intermediate_size)
    layer = (2 * s * shape.hidden_size + max(widest, 8 * shape.hidden_size)) * tokens
    mask = mask_bytes(shape, model, tokens, row_tokens, 1)
    return Activations(
        0, layer + mask, 2 * s * shape.hidden_size * tokens + head_bytes(shape, model, tokens, gradient=False)
    )


def head_bytes(shape: Architecture, model: Trained, tokens: int, *, gradient: bool) -> float:
    """Logits and what is made of them.

    Fused: a chunk's copies, and for the gradient two of the head's size (V H s): the sum, and the chunk's part, which
    alone verl also has of a frozen head.
    """
    if model.vocabulary == 1:
        return 4 * tokens
    if model.fused:
        chunk = FUSED_COPIES * 4 * min(FUSED_TOKENS, tokens) * model.vocabulary
        heads = (1 if model.adapters else 2) if gradient else 0
        return chunk + heads * model.compute_bytes * shape.embedding_parameters
    return LOGIT_BYTES[model.compute_bytes] * tokens * model.vocabulary
