"""Sections of a config that are null, in which the other checks look keys up."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel

from pacs.runs.settings import RunSettings


def empty_sections(config: DictConfig) -> Iterator[str]:
    """Those of `run`, a sentence each."""

    def below(model: type[BaseModel], section: DictConfig, at: str) -> Iterator[str]:
        for name, field in model.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel) and name in section:
                if section[name] is None:
                    yield f"{at}.{name}=null: it is a section: set keys in it, or leave it out."
                elif OmegaConf.is_dict(section[name]):
                    yield from below(kind, section[name], f"{at}.{name}")

    return below(RunSettings, config.run, "run")
