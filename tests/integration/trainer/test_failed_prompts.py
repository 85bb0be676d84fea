"""Why a prompt has failed, as verl's agent loop logs it."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.base.run_folder import RunFolder
from pacs.integration.trainer import failed_prompts
from pacs.integration.trainer.failed_prompts import LOGGER, NONE_LEFT, failure_of, note_failures
from pacs.runs.processes import RUN_DIR


@pytest.fixture
def logger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """verl's, in a process of a run."""
    monkeypatch.setenv(RUN_DIR, str(tmp_path))
    logger = logging.getLogger(LOGGER)
    before = list(logger.handlers)
    note_failures()
    yield logger
    logger.handlers[:] = before


def fail_to_grade(what: str) -> None:
    raise KeyError(what)


def test_an_exception_is_the_cause_where_no_prompt_is_left(
    logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_left = RuntimeError(f"Sync replay buffer selected terminal groups with {NONE_LEFT}.")
    assert failure_of(nothing_left, tmp_path) == f"RuntimeError: {nothing_left}"
    logger.error("no exception")
    for what in ("first", "second"):
        try:
            fail_to_grade(what)
        except KeyError as error:
            logger.error("Error in _run_prompt", exc_info=error)
    cause = failure_of(nothing_left, tmp_path)
    assert "every prompt of a step failed" in cause
    assert "KeyError: 'first'" in cause
    assert f"({__file__}:" in cause
    assert cause.endswith("in fail_to_grade)")
    assert RunFolder(tmp_path).failed_prompt.stat().st_mode & 0o777 == 0o600
    assert failure_of(ValueError("another"), tmp_path) == "ValueError: another"
    monkeypatch.setattr(failed_prompts, "EVERY_SECONDS", 0)  # a failure long after is not blamed on the first
    try:
        fail_to_grade("later")
    except KeyError as error:
        logger.error("Error in _run_prompt", exc_info=error)
    assert "KeyError: 'later'" in failure_of(nothing_left, tmp_path)
