"""What Ray says of a process that has died, in a line."""

import re

import ray

from pacs.base.terminal import COLOURS

#: Raised by a call to a dead actor; the second where Ray itself has killed it, because its machine ran out of memory.
DEATHS = (ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError)
#: In Ray's text of an exception, the process that has raised it.
_WHERE = r"pid=\d+, ip=[^,)]+"


def is_death(error: BaseException) -> bool:
    """Whether a call failed because the process that was to answer it is dead."""
    return isinstance(getattr(error, "cause", error), DEATHS)


def cause_of(error: BaseException) -> str:
    """An exception in a line; for one that was raised in an actor, that one."""
    cause = getattr(error, "cause", None) or error
    if getattr(cause, "actor_init_failed", False):
        return death_of(cause)
    if isinstance(cause, DEATHS):
        return f"{type(cause).__name__}: {death_of(cause)}"
    if isinstance(cause, ray.exceptions.RayError):
        return _raised(f"{type(cause).__name__}: {cause}")
    return next(line for line in f"{type(cause).__name__}: {cause}".splitlines() if line.strip())


def death_of(error: BaseException) -> str:
    """Ray's reason for an actor's death (one of `DEATHS`), or what its constructor has raised."""
    error = getattr(error, "cause", None) or error
    if getattr(error, "actor_init_failed", False):
        return " ".join([_raised(str(error)), *(f"({where})" for where in re.findall(_WHERE, str(error))[-1:])])
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line.startswith("The actor is dead because")] or lines[:1]
    process = [line for line in lines if line.startswith(("pid:", "ip:"))]
    detail = re.split(r"Some common causes|There are some potential", reasons[0])[0].strip()
    return " ".join([detail, *(["(" + ", ".join(process) + ")"] if process else [])])


def _raised(text: str) -> str:
    """What the last traceback in Ray's text ends with, in a line: Ray puts one of a process within another's."""
    after = re.split(r"^ +File .*$", COLOURS.sub("", text), flags=re.MULTILINE)[-1]
    # What follows the last place is its source, indented, then the exception.
    raised = re.split(r"^(?=\S)", after, maxsplit=1, flags=re.MULTILINE)[-1]
    return " ".join(raised.split())
