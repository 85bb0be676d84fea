"""What ends an evaluation that was asked for rightly."""


class EngineFailure(RuntimeError):
    """An engine could not be started, or died; the message says which and why."""
