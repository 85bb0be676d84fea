"""What Ray says of a process that has died, in a line."""

import re

import ray

#: Raised by a call to a dead actor; the second where Ray itself has killed it, because its machine ran out of memory.
DEATHS = (ray.exceptions.RayActorError, ray.exceptions.OutOfMemoryError)


def is_death(error: BaseException) -> bool:
    """Whether a call failed because the process that was to answer it is dead."""
    return isinstance(getattr(error, "cause", error), DEATHS)


def cause_of(error: BaseException) -> str:
    """An exception in a line; for one that was raised in an actor, that one."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, DEATHS):
        return f"{type(cause).__name__}: {death_of(cause)}"
    # Ray's other exceptions end with what was raised, after the traceback.
    lines = [line for line in f"{type(cause).__name__}: {cause}".splitlines() if line.strip()]
    return lines[-1] if isinstance(cause, ray.exceptions.RayError) else lines[0]


def death_of(error: BaseException) -> str:
    """Ray's reason for an actor's death (one of `DEATHS`)."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line.startswith("The actor is dead because")] or lines[:1]
    process = [line for line in lines if line.startswith(("pid:", "ip:"))]
    detail = re.split(r"Some common causes|There are some potential", reasons[0])[0].strip()
    return " ".join([detail, *(["(" + ", ".join(process) + ")"] if process else [])])
