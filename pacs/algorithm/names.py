"""Methods by name: ours by a word, anybody's by an import path."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from pydantic import PydanticUserError

from pacs.algorithm.disco import Disco
from pacs.algorithm.distillation import Distillation, PacsDistilled
from pacs.algorithm.genac.method import GenAc
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.method import Method
from pacs.algorithm.nft import Nft
from pacs.algorithm.pacs import Pacs, PacsAuthors, PacsPaper
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real, RealBce
from pacs.algorithm.vineppo import VinePpo
from pacs.base.errors import did_you_mean

METHODS: dict[str, type[Method]] = {
    "pacs": Pacs,
    "pacs_paper": PacsPaper,
    "pacs_authors": PacsAuthors,
    "gvpo": Gvpo,
    "real": Real,
    "real_bce": RealBce,
    "disco": Disco,
    "nft": Nft,
    "maxrl": MaxRl,
    "raft": Raft,
    "reinforce_rej": ReinforceRej,
    "pass_at_k": PassAtK,
    "vineppo": VinePpo,
    "genac": GenAc,
    "distillation": Distillation,
    "pacs_distilled": PacsDistilled,
}


def method_of(section: Mapping[str, Any]) -> Method:
    """The method that a config's section names (`method.name`), with its settings, which are the section's other keys.

    Raises:
        ValueError: a method that does not exist, an unknown key or a value that is refused, by the key's full name.
    """
    settings = dict(section)
    name = str(settings.pop("name", "pacs"))
    try:
        return class_of(name).from_mapping(settings)
    except ValueError as error:
        raise ValueError(str(error) if name in METHODS else f"{error} (with method.name={name})") from error


def class_of(name: str) -> type[Method]:
    """The class of a method by its name.

    Raises:
        ValueError: there is none, or it cannot be imported or is no method.
    """
    if name in METHODS:
        return METHODS[name]
    if "." not in name:
        raise ValueError(
            f"method.name={name} is not known: choose one of {', '.join(METHODS)}, or give the import path of a class "
            f"of yours (my.module.Loss).{did_you_mean(name, METHODS)}"
        )
    try:
        found = resolve_name(name)
    except PydanticUserError as error:
        raise ValueError(
            f"method.name={name} cannot be made ({str(error.message).splitlines()[0]}): a setting has a type (scale: "
            "float = 1.0), and what a method says of itself is a property (@property def smallest_group(self) -> int: "
            "return 2)"
        ) from error
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise ValueError(
            f"method.name={name} cannot be imported ({error}): put its folder on PYTHONPATH, and name the class as "
            "my.module.Loss"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ValueError(f"method.name={name} is no subclass of pacs.algorithm.Method")
    return found
