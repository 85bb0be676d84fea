"""By which settings of the verifiers an evaluation's samples are graded, and where these come from."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import OverrideType, Quote, QuotedString
from hydra.errors import HydraException

from pacs.base.errors import UserError
from pacs.base.settings import flatten
from pacs.rewards.configured import RunReward
from pacs.rewards.registry import check_settings, resolved_settings

OPTION = "--reward-kwargs"
#: Hydra's ways to set a key: `a.b=c`, and `+a.b=c` as in training, where the config lacks it.
_SETS = (OverrideType.CHANGE, OverrideType.ADD, OverrideType.FORCE_ADD)
#: Verifier -> setting -> value.
VerifierSettings = Mapping[str, Mapping[str, Any]]

HELP = (
    "a setting of a verifier, such as math.accept_unevaluated=true; may be repeated (default: the settings of MODEL's "
    "training run, if there is one, else the verifiers' defaults)"
)
NOT_RECORDED = "By which settings of the verifiers the samples were graded is not recorded"


@dataclass(frozen=True)
class Grading:
    """What decides a grade beside the sample and the right answer.

    Attributes:
        verifiers: every setting of every verifier, defaults included.
        run: those that the training run had set; None where no run is known.
        given: those of the command line, which come before the run's.
        reward_function: the run's own reward function, in words, where it was none of ours; it grades nothing here.
    """

    verifiers: VerifierSettings
    run: VerifierSettings | None = None
    given: VerifierSettings = field(default_factory=dict)
    reward_function: str | None = None

    @classmethod
    def of(cls, reward: RunReward | None, given: VerifierSettings) -> Self:
        """That of a model.

        Args:
            reward: of the run that trained it, as far as that is known.
            given: on the command line.

        Raises:
            UserError: If the run's settings are not those of this version's verifiers.
        """
        run = reward.settings if reward else None
        try:
            check_settings(run or {})
        except ValueError as error:
            raise UserError(f"the model's run was graded with settings that this version lacks: {error}") from None
        return cls(resolved_settings(_merged(run or {}, given)), run, given, reward.function if reward else None)

    def changed(self, given: VerifierSettings) -> Self:
        """With further settings of the command line."""
        verifiers = resolved_settings(_merged(self.verifiers, given))
        return replace(self, verifiers=verifiers, given=_merged(self.given, given))


def parse_given(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The settings that `--reward-kwargs` gives, in Hydra's grammar.

    Args:
        words: `VERIFIER.SETTING=VALUE` each.

    Raises:
        UserError: If one is not of that form, or no verifier takes it.
    """
    given: dict[str, dict[str, Any]] = {}
    for word in words:
        try:
            override = OverridesParser.create().parse_override(word)
        except HydraException:
            override = None
        verifier, dot, setting = override.key_or_group.partition(".") if override else ("", "", "")
        if override is None or not dot or override.type not in _SETS or override.is_sweep_override():
            raise UserError(f"{OPTION} {word}: give VERIFIER.SETTING=VALUE, as in math.timeout_seconds=5")
        given.setdefault(verifier, {})[setting] = override.value()
    try:
        check_settings(given, prefix=f"{OPTION} ")
    except ValueError as error:
        raise UserError(str(error)) from None
    return given


def words_of(settings: VerifierSettings) -> list[str]:
    """The words of a command that give these settings: `parse_given` reads them."""
    return [word for name, value in flatten(settings).items() for word in (OPTION, f"{name}={_written(value)}")]


def _written(value: Any) -> str:
    """A value in Hydra's grammar, whose texts are not JSON's: a backslash stands for itself."""
    if isinstance(value, str):
        return str(QuotedString(value, Quote.single).with_quotes())
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return json.dumps(value)


def differences(one: VerifierSettings, other: VerifierSettings) -> Iterator[tuple[str, str, str]]:
    """The settings in which two gradings differ: name and both values, of the verifiers that both know."""
    first, second = (flatten({name: each[name] for name in one if name in other}) for each in (one, other))
    for setting in dict.fromkeys([*first, *second]):
        if first.get(setting) != second.get(setting):
            yield setting, json.dumps(first.get(setting)), json.dumps(second.get(setting))


def sentences(grading: Mapping[str, Any] | None) -> str:
    """What results.md says of the grading.

    Args:
        grading: a `Grading` as JSON has it; None where the folder has none.
    """
    if grading is None:
        return f"{NOT_RECORDED}: `pacs evaluate grade` grades them again, and records it."
    run, given, function = grading["run"], grading["given"], grading["reward_function"]
    of_run = {name for name in flatten(run or {}) if name not in flatten(given)}
    said = [f"{_listed(run, of_run)} as in the training run"] if of_run else []
    said += [f"{_listed(given, flatten(given))} as {OPTION} says"] if given else []
    by = f"with {' and '.join(said)}, and otherwise with the defaults" if said else "with the defaults"
    parts = [f"Each row was graded by its verifier {by}{', as in the training run' if run == {} and not said else ''}."]
    accepted = grading["verifiers"].get("math", {}).get("accept_unevaluated")
    if accepted is not None:
        how = "was accepted" if accepted else "counts as wrong, with the status `unevaluated`"
        parts.append(
            f"A mathematical answer that still has to be calculated (`47+38` for 85) {how} "
            f"(math.accept_unevaluated={json.dumps(accepted)})."
        )
    if function:
        parts.append(f"The model was trained on the scores of {function}, a function that evaluation does not call.")
    return " ".join(parts)


def _merged(one: VerifierSettings, other: VerifierSettings) -> dict[str, dict[str, Any]]:
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in (*one, *other)}


def _listed(settings: VerifierSettings, names: Mapping[str, Any] | set[str]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in flatten(settings).items() if name in names)
