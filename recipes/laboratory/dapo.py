"""DAPO with what the laboratory's loop does for it: new prompts for those whose responses are all alike."""

from pydantic import Field

from pacs.algorithm import aggregated


class Dapo(aggregated.Dapo):
    """DAPO, and how often a step samples."""

    #: How often a step samples at most: each time newly drawn prompts, as many as groups of both classes are missing.
    rounds: int = Field(default=3, ge=1, description="1 replaces no prompt")
