"""What ends a plan."""


class PlanError(ValueError):
    """There can be no plan; the message names the setting and the mend."""
