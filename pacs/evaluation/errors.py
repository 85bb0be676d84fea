"""What an evaluation refuses."""


class EvaluationError(ValueError):
    """It cannot be done; the message is one line that says why and what to change."""
