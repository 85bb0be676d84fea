"""What a check says."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """A check's answer.

    Attributes:
        state: `fail`: a run would not start, or would end; `warn`: it may, or is slower than it could be.
        found: what is here.
        mend: what to do; empty if all is well.
    """

    check: str
    state: State
    found: str
    mend: str = ""
