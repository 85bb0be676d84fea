"""Whether it can be told where an answer begins: how the run's model marks its reasoning."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.integration.checks.prompts import tokenizer_of
from pacs.rewards.find_reasoning import CannotTell, find_reasoning
from pacs.rewards.reasoning import EXAMPLE, SETTING, Reasoning
from pacs.rewards.registry import PATH
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import chat_template_options


def reasoning_of(config: DictConfig) -> Reasoning | None:
    """How the run's model marks its reasoning, as the run's reward manager will find it; None without a tokenizer here.

    Raises:
        CannotTell: As `find_reasoning`.
        Exception: As `tokenizer_of`.
    """
    tokenizer = tokenizer_of(config)
    if tokenizer is None:
        return None
    return find_reasoning(tokenizer, chat_template_options(config), plain(config.run.reasoning)["delimiters"])


def reasoning_problems(config: DictConfig) -> Iterator[str]:
    """Why it cannot be told, a sentence with the setting and the mend. Not for a tokenizer that does not load."""
    try:
        reasoning = reasoning_of(config)
    except CannotTell as error:
        yield f"{SETTING}: {error}: name both, {SETTING}='{EXAMPLE}', or [] if it opens none."
        return
    own = config.reward.reward_manager.source != "register" and config.reward.custom_reward_function.path == PATH
    if reasoning is not None and own and (reasoning.lost or reasoning.opened_by(reasoning.prompt_end)):
        yield (
            "reward.reward_manager is a manager of your own, which gives our verifiers the text alone, by which they "
            f"cannot tell what is {reasoning.sentence()}: leave it out, or grade by a function of your own "
            "(reward.custom_reward_function)."
        )


def reasoning_outlook(config: DictConfig) -> str:
    """What was found, a sentence; why nothing was, where that is so."""
    try:
        reasoning = reasoning_of(config)
    except Exception as error:  # said as a problem
        return f"reasoning: not known ({type(error).__name__})"
    if reasoning is None:
        return "reasoning: the tokenizer is not here; the run finds its delimiters when it starts"
    return reasoning.sentence()
