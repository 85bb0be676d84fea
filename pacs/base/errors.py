"""What a user can mend."""


class UserError(ValueError):
    """A command cannot do what was asked: the message names what to change. `pacs` prints it, and ends with 2."""


def one_line(error: Exception) -> str:
    """What an error says, in a line; of pydantic's the first thing that is wrong, and where."""
    if hasattr(error, "errors"):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return " ".join(str(error).split())
