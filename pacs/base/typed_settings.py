"""Typed settings: each field is a Hydra key, and what is wrong with a value is said by the key's full name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from pacs.base.errors import nearest


class Settings(BaseModel):
    """A section of the config: immutable, of exact types, without unknown keys.

    A field's description is part of the message that refuses a value, so it says what to write instead.
    """

    #: The section of the config that a nested mapping stands under.
    SECTION: ClassVar[str] = "method"

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """The settings that a nested mapping has, as it stands under `SECTION` in a composed config.

        Raises:
            ValueError: an unknown key or a value that its field refuses: one sentence with the key and the mend.
        """
        try:
            return cls.model_validate(mapping)
        except ValidationError as error:
            raise ValueError(_in_words(cls, error)) from None


def _in_words(settings: type[Settings], error: ValidationError) -> str:
    """The first thing that is wrong, in a sentence."""
    found = error.errors()[0]
    given, kind = found["input"], found["type"]
    section, name, place = _field(settings, [str(part) for part in found["loc"]])
    key = ".".join([settings.SECTION, *place])
    field = section.model_fields.get(name)
    match kind:
        case "extra_forbidden":
            known: dict[str, str] = {}
            for setting, full in _keys(settings, settings.SECTION):
                known.setdefault(setting, full)
            parent = ".".join([settings.SECTION, *place[:-1]])
            hint = _hint(name, known, known)
            return f"{key} is not a setting{hint}: {parent} has {', '.join(section.model_fields)}"
        case "literal_error" if field is not None and get_args(field.annotation):
            # Of a union, each member's.
            known_words = [word for each in get_args(field.annotation) for word in get_args(each) or (each,)]
            words = {name: name for word in known_words if (name := "null" if word is type(None) else str(word))}
            return f"{key}={given} is not known{_hint(given, words, words)}: choose one of {', '.join(words)}"
        case "model_type":
            return f"{key}={_written(given)}: it is a section: set keys in it, or leave it out"
        case "value_error":
            return str(found["ctx"]["error"])
        case "bool_type":
            return f"{key}={given!r} must be true or false, not {type(given).__name__}"
        case "missing":
            wrong = f"{key} is needed and not there"
        case _:
            wrong = f"{key}={_written(given)} {found['msg'].replace('Input should be', 'must be')}"
    return wrong if field is None or field.description is None else f"{wrong}: {field.description}"


def _field(settings: type[Settings], place: list[str]) -> tuple[type[Settings], str, list[str]]:
    """The section that a place is in, the setting's name there, and the place up to it.

    Below a setting pydantic names parts of its value, as the members of a union.
    """
    for depth, name in enumerate(place):
        field = settings.model_fields.get(name)
        below = None if field is None else field.annotation
        if depth == len(place) - 1 or not (isinstance(below, type) and issubclass(below, Settings)):
            return settings, name, place[: depth + 1]
        settings = below
    return settings, "", []


def _keys(settings: type[Settings], prefix: str) -> Iterator[tuple[str, str]]:
    """The name of every setting, and its full key; those of a section after the section's neighbours."""
    sections = []
    for name, field in settings.model_fields.items():
        yield name, f"{prefix}.{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            sections.append((field.annotation, f"{prefix}.{name}"))
    for section, key in sections:
        yield from _keys(section, key)


def _written(value: Any) -> str:
    return "null" if value is None else repr(value)


def _hint(word: object, known: Iterable[str], shown: Mapping[str, str]) -> str:
    found = nearest(str(word), known)
    return f" (did you mean {shown[found[0]]}?)" if found else ""
