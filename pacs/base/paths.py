"""Where the project's files are, in a checkout and in an installed package; and what the configs calculate."""

from importlib.util import find_spec
from pathlib import Path

from omegaconf import OmegaConf

#: `${pacs.share:0.2,${data.max_response_length}}` in a config: that share of a number, as a whole number.
OmegaConf.register_new_resolver("pacs.share", lambda share, number: int(share * number), replace=True)
#: `${pacs.if:${critic.enable},0.6,0.8}`: the first of the two numbers where the setting is true, else the second.
OmegaConf.register_new_resolver("pacs.if", lambda setting, then, other: then if setting else other, replace=True)
#: `${pacs.sum:${data.max_prompt_length},${data.max_response_length}}`: what numbers make together.
OmegaConf.register_new_resolver("pacs.sum", lambda *numbers: sum(numbers), replace=True)


def _algorithm(mode: str, method: str | None) -> str:
    return mode if method is None or method == "pacs" else method.rpartition(".")[2].lower()


#: `${pacs.algorithm:${trainer.v1.trainer_mode},${oc.select:method.name,null}}`: what a run is named after, the
#: trainer's mode or the class of a method that is not ours.
OmegaConf.register_new_resolver("pacs.algorithm", _algorithm, replace=True)


def verl_configs() -> str:
    """The folder of verl's own Hydra configs, found without importing verl, which takes seconds."""
    (package,) = find_spec("verl").submodule_search_locations  # type: ignore[union-attr, misc]
    return str(Path(package, "trainer", "config"))


#: `file://${pacs.verl_configs:}` in the search path of a primary config.
OmegaConf.register_new_resolver("pacs.verl_configs", verl_configs, replace=True)


def config_dir() -> Path:
    """The folder of the Hydra configs: `configs/` of the checkout, or the copy inside the installed package."""
    package = Path(__file__).parents[1]
    checkout = package.parent / "configs"
    return checkout if (checkout / "pacs.yaml").is_file() else package / "configs"
