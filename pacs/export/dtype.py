"""The dtype that weights are exported in."""

from pacs.base.errors import UserError
from pacs.checkpoints.source import Source

DTYPES = ("bfloat16", "float32", "float16")
#: What vLLM sampled with in the run.
SAMPLED = "actor_rollout_ref.rollout.dtype"
#: Other names of vLLM's.
_ALIASES = {"half": "float16", "float": "float32"}


def choose_dtype(asked: str | None, source: Source) -> tuple[str, str]:
    """The dtype to export in, and why it is that one.

    Args:
        asked: one of `DTYPES`, or None for what vLLM sampled with in the run.
        source: what is exported.

    Raises:
        UserError: If the run's dtype is none of `DTYPES` and none is asked for.
    """
    if asked is not None:
        return asked, "as asked for"
    sampled = source.setting(SAMPLED)
    if sampled is None:
        return "bfloat16", f"verl's default for sampling, as the checkpoint does not say {SAMPLED}; --dtype chooses"
    name = _ALIASES.get(str(sampled), str(sampled))
    if name not in DTYPES:
        raise UserError(f"{SAMPLED} of the run is {sampled}: choose with --dtype {', '.join(DTYPES)}")
    return name, "what vLLM sampled with in the run"
