"""A model's config.json, from its folder, the Hugging Face cache or the Hub. No code of the model's own is executed."""

from pathlib import Path
from typing import Any


def read_model_config(path: str) -> dict[str, Any]:
    """What the config.json of a folder, or of a model of the Hub, says.

    Raises:
        OSError, ValueError, httpx.HTTPError: it cannot be had.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache
    from transformers import PreTrainedConfig

    found: dict[str, Any]
    folder = Path(path).expanduser()
    if folder.is_dir():
        try:
            found, _ = PreTrainedConfig.get_config_dict(str(folder))
        except TypeError as error:
            raise ValueError("it is JSON, but holds no settings") from error
        return found
    cached = isinstance(try_to_load_from_cache(path, "config.json"), str)
    if not cached:
        HfApi().model_info(path, timeout=10)  # asked first: without a network the download itself tries half a minute
    found, _ = PreTrainedConfig.get_config_dict(path, local_files_only=cached)
    return found
