"""What a step costs in FLOPs, as the paper counts them, and where prefixes are not shared.

A token costs twice the model's parameters where it is generated or passed forward, and six times where it is trained
on. Attention to what stands before is not counted.
"""

from dataclasses import dataclass

GENERATION, FORWARD, TRAINING = 2, 2, 6


@dataclass(frozen=True)
class Lengths:
    """Of a response and of what values it, in tokens; the defaults are the paper's, for a response of 3,000.

    Attributes:
        response: T.
        segment: of a segment.
        trace: of what the critic writes on a segment.
        tail: of the template behind the partial solution, which each segment has for itself.
        completion: of VinePPO's completions.
        completions: of these, of each segment.
    """

    response: float = 3000
    segment: float = 120
    trace: float = 300
    tail: float = 0
    completion: float = 1024
    completions: int = 4

    @property
    def segments(self) -> float:
        """Of a response."""
        return self.response / self.segment


def critic_tokens(lengths: Lengths, *, once: bool = True) -> float:
    """T_c: tokens that the critic reads or writes for a response.

    Args:
        lengths: of the response and its traces.
        once: what several segments share is counted once: T + (T/segment) (tail + trace). Otherwise each segment has a
            row of its own with all that stands before it.
    """
    each = lengths.segments * (lengths.tail + lengths.trace)
    plain = lengths.response * (lengths.segments - 1) / 2
    return each + (lengths.response if once else plain)


def ppo(lengths: Lengths, actor: float = 1, critic: float = 1) -> float:
    """PPO with a value head: 18 P T. `actor` and `critic` are the numbers of their parameters."""
    return _actor(lengths, actor) + (FORWARD + TRAINING) * critic * lengths.response


def genac(
    lengths: Lengths,
    actor: float = 1,
    critic: float = 1,
    *,
    generated_once: bool = True,
    trained_once: bool = True,
) -> float:
    """GenAC: 38 P T.

    Args:
        lengths: of a response and its traces.
        actor: its parameters.
        critic: its parameters.
        generated_once: prefixes are shared where the critic samples.
        trained_once: they are shared where it is trained.
    """
    generated, trained = critic_tokens(lengths, once=generated_once), critic_tokens(lengths, once=trained_once)
    return _actor(lengths, actor) + critic * (GENERATION * generated + TRAINING * trained)


def vineppo(lengths: Lengths, actor: float = 1) -> float:
    """VinePPO, whose completions of each segment share what stands before it: 78 P T."""
    completed = lengths.segments * lengths.completions * lengths.completion
    return _actor(lengths, actor) + GENERATION * actor * completed


def _actor(lengths: Lengths, parameters: float) -> float:
    return (GENERATION + FORWARD + TRAINING) * parameters * lengths.response
