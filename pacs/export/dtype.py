"""The dtype that weights are exported in."""

from pacs.base.errors import UserError
from pacs.checkpoints.source import Source
from pacs.verl_keys.names import SAMPLING_DTYPE

DTYPES = ("bfloat16", "float32", "float16")
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
    sampled = source.setting(SAMPLING_DTYPE)
    if sampled is None:
        why = f"verl's default for sampling, as the checkpoint does not say {SAMPLING_DTYPE}; --dtype chooses"
        return "bfloat16", why
    name = _ALIASES.get(str(sampled), str(sampled))
    if name not in DTYPES:
        raise UserError(f"{SAMPLING_DTYPE} of the run is {sampled}: choose with --dtype {', '.join(DTYPES)}")
    return name, "what vLLM sampled with in the run"
