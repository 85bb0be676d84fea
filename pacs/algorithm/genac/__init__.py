"""GenAC (arXiv 2604.10701): a critic that reasons before it scores.

The critic is a second language model. It reads the problem and a response up to a segment, reasons, and ends in an
integer from 0 to 10. A tenth of that, v_k, is the value of the state before segment k, and r - v_k the advantage of its
tokens.
"""

from pacs.algorithm.genac.method import GenAc, GenAcCritic
from pacs.algorithm.genac.parsing import read_score, read_value
from pacs.algorithm.genac.rewards import SuccessRate, compared, critic_reward, filled_values
from pacs.algorithm.genac.segments import segment_starts
from pacs.algorithm.genac.template import AS_PRINTED, INSTRUCTIONS_FIRST, SHIPPED, CriticTemplate

__all__ = [
    "AS_PRINTED",
    "INSTRUCTIONS_FIRST",
    "SHIPPED",
    "CriticTemplate",
    "GenAc",
    "GenAcCritic",
    "SuccessRate",
    "compared",
    "critic_reward",
    "filled_values",
    "read_score",
    "read_value",
    "segment_starts",
]
