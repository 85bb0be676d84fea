"""What a user can mend."""


class UserError(ValueError):
    """A command cannot do what was asked: the message names what to change. `pacs` prints it, and ends with 2."""
