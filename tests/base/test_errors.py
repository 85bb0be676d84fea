"""What is said of an error, whatever the error itself says."""

import httpx
import pytest

from pacs.base.errors import first_line
from pacs.integration.checks import models


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no such host"), "no such host"),
        (ValueError("\n one\ntwo"), "one"),
        (httpx.ReadError(""), "ReadError"),
        (RuntimeError(" \n"), "RuntimeError"),
    ],
)
def test_the_first_line(error: Exception, said: str) -> None:
    assert first_line(error) == said


def test_a_hub_that_hangs_up_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a connection that ends without an answer says nothing."""

    def hang_up(path: str) -> dict[str, object]:
        raise httpx.ReadError("")

    monkeypatch.setattr(models, "read_model_config", hang_up)
    problem = models.config_or_problem("a/model", "model.path=a/model")
    assert isinstance(problem, str)
    assert problem.startswith("model.path=a/model is neither a folder here nor a model that Hugging Face answers for (")
    assert "(ReadError)" in problem
