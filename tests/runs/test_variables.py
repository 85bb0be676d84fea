"""What of the environment a run is refused for."""

import pytest

from pacs.runs.variables import PLUGINS, variable_problems


@pytest.mark.parametrize("name", PLUGINS)
@pytest.mark.parametrize("value", ["", "none", "other,another", "pacs,other", None])
def test_a_choice_of_plugins_without_ours_is_refused(
    name: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in PLUGINS:
        monkeypatch.delenv(each, raising=False)
    if value is not None:
        monkeypatch.setenv(name, value)
    told = [problem for problem in variable_problems() if name in problem]
    assert len(told) == (value in ("", "none", "other,another"))
    assert all(f"unset {name}, or add pacs to it." in problem for problem in told)


def test_verls_automatic_choice_has_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_USE_EXTERNAL_PLUGINS", "Auto")
    assert not [problem for problem in variable_problems() if "VERL_USE_EXTERNAL_PLUGINS" in problem]
