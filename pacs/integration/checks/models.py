"""The models of a run: their folders, or their names on the Hugging Face Hub; no code of a model's own is executed."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
from omegaconf import DictConfig

from pacs.base.errors import first_line, one_line
from pacs.checkpoints.model_folder import model_problems as folder_problems
from pacs.data.rebuilt import rebuilt_problem
from pacs.integration.checks.wording import spelled
from pacs.integration.exactness.vocabulary import other_tokens
from pacs.verl_keys.config import longest_row

OR_HUB = "name one that is there, or a Hugging Face id as Qwen/Qwen3-8B"
#: Numbers of an attention head that vLLM computes with on a CPU. With another it starts, and dies at the first prompt.
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
#: Where a recipe looks for its model and problems, below outputs/ -> what is given to the program that makes them.
MADE_BY = {
    "arithmetic": "", "math_smoke": " FILE", "arithmetic_mixed": "", "countdown": "", "chain_sums": "",
    "code_repair": "", "spelled_sums": "",
}  # fmt: skip


@spelled
def model_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the policy's model and the critic's, a sentence each with the setting and the mend."""
    yield from _policy_problems(config)
    yield from _critic_problems(config)


def recipe_command(path: Path) -> str | None:
    """The command that makes a recipe's folder, of what is in it; recipes are in a checkout, not in the wheel."""
    where = "" if find_spec("recipes") else " in a checkout of this project"
    for task, given in MADE_BY.items():
        if path.is_relative_to(folder := Path("outputs", task)):
            return f"`python -m recipes.{task}.make{given} --out {folder}`{where}"
    return None


def read_model_config(path: str) -> dict[str, Any]:
    """What the config.json of a folder, or of a model of the Hub, says.

    Raises:
        OSError, ValueError, httpx.HTTPError: it cannot be had.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache
    from transformers import PreTrainedConfig

    found: dict[str, Any]
    folder = Path(path).expanduser()
    if folder.is_dir():
        try:
            found, _ = PreTrainedConfig.get_config_dict(str(folder))
        except TypeError as error:
            raise ValueError("it is JSON, but holds no settings") from error
        return found
    cached = isinstance(try_to_load_from_cache(path, "config.json"), str)
    if not cached:
        HfApi().model_info(path, timeout=10)  # asked first: without a network the download itself tries half a minute
    found, _ = PreTrainedConfig.get_config_dict(path, local_files_only=cached)
    return found


def _policy_problems(config: DictConfig) -> Iterator[str]:
    model = config.actor_rollout_ref.model
    path, tokenizer_path = str(model.path), model.get("tokenizer_path")
    if tokenizer_path and not Path(tokenizer_path).is_dir() and not is_hub_name(str(tokenizer_path)):
        yield "@model.tokenizer_path=: no such folder: leave it out, so that it is the model's."
        return
    template, tokenizer = model.get("custom_chat_template") is None, tokenizer_path in (None, model.path)
    how = recipe_command(Path(path).expanduser()) or "make or download the model"
    mend = f"{how}, or give a Hugging Face id such as Qwen/Qwen3-8B"
    if problems := list(named_problems(path, "@model.path=", mend, tokenizer=tokenizer, template=template)):
        yield from problems
        return
    found = config_or_problem(path, "@model.path=")
    if isinstance(found, str):
        yield found
    else:
        yield from _context_problems(config, found)
        yield from head_problems(config, found, "@model.path=")


def named_problems(path: str, named: str, mend: str = OR_HUB, **needed: bool) -> Iterator[str]:
    """What is wrong with a model's folder, a sentence each; nothing where it may be a name on the Hub.

    Args:
        path: of it.
        named: the setting and its value.
        mend: where there is no such folder.
        needed: as of `pacs.checkpoints.model_folder.model_problems`.
    """
    folder = Path(path).expanduser()
    if folder.is_dir():
        yield from (f"{named} {problem}." for problem in folder_problems(folder, **needed))
    elif not is_hub_name(path):
        yield f"{named}: no such folder: {mend}."


def vocabulary_problems(policys: Any, path: str, named: str, mend: str) -> Iterator[str]:
    """Whether a model beside the policy means the same by a token's number; nothing where its folder is not here.

    Args:
        policys: the policy's tokenizer.
        path: of the other model.
        named: the setting and its value.
        mend: of another vocabulary.
    """
    its = _tokenizer_or_problem(path, named)
    if isinstance(its, str):
        yield its
    elif its is not None and (others := other_tokens(policys, its)):
        yield (
            f"{named}: its tokenizer has other numbers for {len(others):,} of the policy's "
            f"{len(policys.get_vocab()):,} tokens (the first: {others[0]!r}): {mend}."
        )


def reading_problems(path: str, named: str) -> Iterator[str]:
    """Whether a model that is given text, not tokens, reads what its tokenizer.json says; nothing where it is not here.

    Args:
        path: of the model.
        named: the setting and its value.
    """
    its = _tokenizer_or_problem(path, named)
    if isinstance(its, str):
        yield its
    elif its is not None and (problem := rebuilt_problem(its)) is not None:
        yield f"{named} {problem}."


def _tokenizer_or_problem(path: str, named: str) -> Any:
    """The tokenizer of a folder, or what is wrong with it, as a sentence; None where there is no such folder here."""
    if not (folder := Path(path).expanduser()).is_dir():
        return None
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # what transformers makes of a damaged file
        return f"{named}: its tokenizer does not load ({type(error).__name__}: {one_line(error)}): save it anew."


def config_or_problem(path: str, setting: str) -> dict[str, Any] | str:
    """`read_model_config`, or why it cannot be had and the mend, in a sentence that begins with the setting."""
    try:
        return read_model_config(path)
    except (OSError, ValueError, httpx.HTTPError) as error:
        why = first_line(error)
    if Path(path).expanduser().is_dir():
        return f"{setting}: its config.json cannot be read ({why}): make it anew."
    return (
        f"{setting} is neither a folder here nor a model that Hugging Face answers for ({why}): download it first, or "
        "set the path to its folder."
    )


def _context_problems(config: DictConfig, model: Mapping[str, Any]) -> Iterator[str]:
    """A prompt and its response must fit the positions that the model has, which bound vLLM's context too."""
    settings = {**model, **(config.actor_rollout_ref.model.override_config or {})}
    text = settings.get("text_config") or {}
    context = settings.get("max_position_embeddings") or text.get("max_position_embeddings")
    needed, held = longest_row(config), config.actor_rollout_ref.rollout.max_model_len
    has = f"the model at @model.path= has {context} positions (max_position_embeddings)"
    if context is not None and held is not None and needed <= context < held:
        yield f"@rollout.max_model_len=: {has}: leave it out."
    if context is not None and needed > context:
        lengths = f"@data.max_prompt_length= and @data.max_response_length= make {needed} tokens"
        yield f"{lengths}, and {has}: lower the lengths, or choose a model with a longer context."


def head_problems(config: DictConfig, model: Mapping[str, Any], named: str) -> Iterator[str]:
    """Whether vLLM computes the attention of a model on a CPU, if it is to.

    Args:
        config: of the run.
        model: what its config.json says.
        named: the setting and its value.
    """
    text = {**model, **(model.get("text_config") or {})}
    hidden, heads = text.get("hidden_size"), text.get("num_attention_heads")
    if config.trainer.device != "cpu" or "kv_lora_rank" in text:
        return
    if not isinstance(hidden, int) or not isinstance(heads, int) or not heads:  # transformers has others, or refuses it
        return
    if (head := text.get("head_dim") or hidden // heads) not in CPU_HEADS:
        yield (
            f"{named} has attention heads of {head} numbers (head_dim), with which vLLM does not compute on a CPU: "
            f"choose a model with one of {', '.join(map(str, CPU_HEADS))}."
        )


def _critic_problems(config: DictConfig) -> Iterator[str]:
    path = str(config.critic.model.path)
    if config.critic.enable and path != str(config.actor_rollout_ref.model.path):
        mend = "leave it out, so that it is the policy's, or name a model"
        yield from named_problems(path, "@critic.model.path=", mend, tokenizer=False)


def is_hub_name(path: str) -> bool:
    """Whether a path may be the name of a model on the Hugging Face Hub."""
    return path.count("/") == 1 and not path.startswith((".", "/", "~"))
