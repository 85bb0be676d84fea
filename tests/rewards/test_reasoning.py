"""Where the answer begins, with any model: no verifier takes what stands in the reasoning."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import vllm.parser
import vllm.reasoning
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.registry import REWARD_MANAGER
from verl.trainer.ppo.reward import load_reward_manager

from pacs.integration.reward_manager import PATH, choose
from pacs.rewards.configured import RunReward, read_reward, write_reward
from pacs.rewards.find_reasoning import CannotTell, find_reasoning
from pacs.rewards.reasoning import ALWAYS, ANSWER_BEGINS, UNENDED, UNFINISHED, check_named, final_part
from pacs.rewards.registry import compute_score
from tests.rewards.tokenizers import tokenizer

#: Special tokens, other added tokens, what the template opens behind the last message; opening and closing text.
MODELS = {
    "Qwen3": ((), ("<think>", "</think>"), "", "<think>", "</think>"),
    "R1-distill": ((), ("<think>", "</think>"), "<think>\n", "<think>", "</think>"),
    "of text alone, opened": ((), (), "<think>", "<think>", "</think>"),
    "special": (("<think>", "</think>"), (), "", "<think>", "</think>"),
    "special, opened": (("<think>", "</think>"), (), "<think>\n", "<think>", "</think>"),
    "Magistral": (("[THINK]", "[/THINK]"), (), "", "[THINK]", "[/THINK]"),
    "Kimi-VL": ((), ("◁think▷", "◁/think▷"), "◁think▷", "◁think▷", "◁/think▷"),
    "Seed-OSS": (("<seed:think>", "</seed:think>"), (), "", "<seed:think>", "</seed:think>"),
    "Command A": (
        ("<|START_THINKING|>", "<|END_THINKING|>"), (), "<|START_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>",
    ),
    "gpt-oss": (
        ("<|channel|>", "<|message|>", "<|start|>", "<|end|>"), (), "",
        "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "gpt-oss, of a tool": (
        ("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"), (), "",
        "<|channel|>analysis to=python code<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    ),
    "Gemma 4": (("<|channel>", "<channel|>"), (), "", "<|channel>thought\n", "<channel|>"),
    "Granite": ((), (), "{# Here is my thought process: #}", "Here is my thought process:", "Here is my response:"),
    "Apriel": ((), (), "Here are my reasoning steps:\n", "Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"),
    "HyperCLOVA X": ((), (), "{# assistant/think #}", "/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "a name of its own": (("<|begin_cot|>", "<|end_cot|>"), (), "<|begin_cot|>", "<|begin_cot|>", "<|end_cot|>"),
    "a name of its own, behind": (("<|thought|>", "<|thought_end|>"), (), "", "<|thought|>", "<|thought_end|>"),
    "spelled out": ((), (), "<deep_thought>\n", "<deep_thought>", "</deep_thought>"),
    "wide bars": (("<｜thought｜>", "<｜/thought｜>"), (), "<｜thought｜>", "<｜thought｜>", "<｜/thought｜>"),
}  # fmt: skip
PROGRAM = "```python\nprint(input())\n```"
TESTS = json.dumps({"fn_name": None, "inputs": ["7\n"], "outputs": ["7\n"]})
#: A right answer of each verifier, and its ground truth.
ANSWERS = {
    "math": (r"\boxed{5}", "5"),
    "exact_match": (r"\boxed{5}", "5"),
    "multiple_choice": ("Answer: C", "C"),
    "countdown": (r"\boxed{2+3}", '{"numbers": [2, 3], "target": 5}'),
    "code": (PROGRAM, TESTS),
}


def status_of(model: str, response: str, verifier: str = "math") -> str:
    """What a verifier says of a response, by the tokens that the model's tokenizer makes of it."""
    special, plain, opens, *_ = MODELS[model]
    made = tokenizer(special, plain, opens)
    reasoning = find_reasoning(made, {})
    prompt = made.apply_chat_template([{"role": "user", "content": "2 + 3?"}], add_generation_prompt=True)["input_ids"]
    tokens = made(response, add_special_tokens=False)["input_ids"]
    text = made.decode(tokens, skip_special_tokens=True)
    begins = reasoning.of_tokens(made, prompt, tokens, text)
    info = {"verifier": verifier, ANSWER_BEGINS: UNENDED if begins is None else begins}
    return str(compute_score("test", text, ANSWERS[verifier][1], info)["status"])


@pytest.mark.parametrize("model", MODELS)
def test_what_is_thought_is_no_answer(model: str) -> None:
    opens, closes = MODELS[model][3:]
    right, wrong = r"\boxed{5}", r"\boxed{6}"
    assert status_of(model, f"{opens}maybe {right}, wait") == "no_answer"
    assert status_of(model, f"{opens}maybe {wrong}{closes}\n\nIt is {right}.<|im_end|>") == "correct"
    assert status_of(model, f"{opens}maybe {right}{closes}\n\nIt is {wrong}.") == "wrong"
    assert status_of(model, f"{opens}maybe {right}{closes}\n\nI do not know.") == "no_answer"
    assert status_of(model, f"{opens}a{closes}{right}{opens}but no") == "no_answer"
    assert status_of(model, f"{opens}é € 日本 🙂 {wrong}{closes} é {right}") == "correct"
    prompt_opens = MODELS[model][2].partition("{#")[0] != ""
    assert status_of(model, f"so {right}? Wait, let me check") == ("no_answer" if prompt_opens else "correct")
    assert status_of(model, f"so {wrong}? {closes} {right}") == "correct"


@pytest.mark.parametrize("verifier", ANSWERS)
@pytest.mark.parametrize("model", ["special, opened", "R1-distill", "Magistral", "gpt-oss"])
def test_every_verifier(model: str, verifier: str) -> None:
    opens, closes = MODELS[model][3:]
    answer = ANSWERS[verifier][0]
    assert status_of(model, f"{opens}maybe\n{answer}\nwait", verifier) == "no_answer"
    assert status_of(model, f"{opens}hm{closes}\n{answer}\n", verifier) == "correct"


def test_a_prompt_that_ends_the_reasoning_opens_none() -> None:
    made = tokenizer((), ("<think>", "</think>"), "<think>\n\n</think>\n\n")
    reasoning = find_reasoning(made, {})
    assert reasoning.opened_by(reasoning.prompt_end) is None
    assert "opens it" not in reasoning.sentence()
    assert "the prompt opens it (<think>)" in find_reasoning(tokenizer((), (), "<think>\n"), {}).sentence()


def test_options_of_the_template_decide() -> None:
    opens = "{% if enable_thinking %}<think>\n{% else %}<think>\n\n</think>{% endif %}"
    made = tokenizer((), (), opens)
    for thinking in (True, False):
        reasoning = find_reasoning(made, {"enable_thinking": thinking})
        assert (reasoning.answer_begins(reasoning.prompt_end, "so 5") is None) == thinking


def test_a_row_may_open_it_or_ask_for_delimiters() -> None:
    reasoning = find_reasoning(tokenizer(), {})
    assert reasoning.answer_begins("Let me think.\n<think>", "so 5") is None
    assert reasoning.answer_begins("Think in <think> first. 2 + 3?", "so 5") == 0
    asked = "Reason within <my_reasoning> and </my_reasoning>, then answer."
    assert reasoning.answer_begins(asked, "<my_reasoning>5") is None
    assert reasoning.answer_begins(asked, "<my_reasoning>5</my_reasoning>6") == len("<my_reasoning>5</my_reasoning>")
    assert reasoning.answer_begins("2 + 3?", "<my_reasoning>5") == 0


def test_another_pair_does_not_end_it() -> None:
    reasoning = find_reasoning(tokenizer((), (), "<think>\n"), {})
    assert reasoning.answer_begins(reasoning.prompt_end, "hm</thinking> 5") is None
    assert reasoning.answer_begins("", "<thinking>hm</think> 5") is None
    other = find_reasoning(tokenizer((), (), "<thinking>\n"), {})
    assert other.answer_begins(other.prompt_end, "hm</think> 5") is None


@pytest.mark.parametrize("opens", ["<|vibes|>", "<my_plan>\n", "Let me muse.\n", "<|im_start|>inner\n"])
def test_what_cannot_be_told(opens: str) -> None:
    made = tokenizer(("<|vibes|>",), (), opens)
    if "im_start" in opens:  # a header that answers have, too
        assert find_reasoning(made, {}).opened_by(opens) is None
        return
    with pytest.raises(CannotTell, match=r"ends a prompt with '[<L]"):
        find_reasoning(made, {})
    named = find_reasoning(made, {}, [[opens.strip(), "END"]])
    assert named.opened_by(named.prompt_end) is not None
    assert named.answer_begins(named.prompt_end, "5 END 6") == len("5 END")
    none = find_reasoning(made, {}, [])
    assert none.answer_begins(none.prompt_end, "<think>5") == 0
    assert none.sentence() == "reasoning: marked by nothing, as run.reasoning.delimiters says"


@pytest.mark.parametrize(
    "named", ["<think>", ["<think>", "</think>"], [["a"]], [["a", "a"]], [["", "b"]], [[1, 2]], 1, True]
)
def test_names_that_are_none(named: Any) -> None:
    with pytest.raises(ValueError, match=r"run.reasoning.delimiters=.* must be null or a list of pairs"):
        check_named(named)


def test_a_token_without_a_known_end_is_named() -> None:
    tokens = ("<|think|>", "<|content|>", "<|thought|>", "<|/thought|>", "<|end_of_thinking|>")
    said = find_reasoning(tokenizer(tokens), {}).sentence()
    assert said.endswith("; what ends <|think|> is not known (run.reasoning.delimiters can say it)")
    assert "not known" not in find_reasoning(tokenizer(tokens), {}, [["<|think|>", "<|content|>"]]).sentence()


def test_names_that_are_some() -> None:
    for named in (None, [], [["<a>", "</a>"], ["b", "c"]]):
        check_named(named)


def test_vllms_delimiters_are_known() -> None:
    """Each pair of texts that a reasoning parser of the installed vLLM names is found from a tokenizer that has it."""
    found = set()
    named = r' (?:def )?_?\w*{0}\w*(?:\(self\) -> [str |None]+:\s+(?:""".*"""\s+)?return| =) "(.+)"$'
    for file in [*Path(vllm.parser.__path__[0]).glob("*.py"), *Path(vllm.reasoning.__path__[0]).glob("*.py")]:
        source = re.sub("^", " ", file.read_text(), flags=re.M)
        for ends in (("THINK_START", "THINK_END"), ("start_token", "end_token"), ("start_str", "end_str")):
            found |= set(zip(*(re.findall(named.format(end), source, re.M) for end in ends), strict=False))
    assert {"<think>", "<seed:think>", "<mm:think>", "<|START_THINKING|>"} <= {opens for opens, _ in found}
    for opens, closes in found:
        reasoning = find_reasoning(tokenizer((opens, closes)), {})
        thought = f"{opens}5{closes}"
        assert reasoning.answer_begins("", f"{opens}5") is None
        assert reasoning.answer_begins("", f"{thought}6") == len(thought)


def test_without_a_run_the_text_is_looked_at() -> None:
    for each in ALWAYS:
        for opens in each.opens:
            assert final_part(f"{opens}5") == ""
            assert final_part(f"{opens}5{each.closes[0]}6") == "6"
    assert final_part("12345", {ANSWER_BEGINS: 3}) == "45"
    assert final_part("12345", {ANSWER_BEGINS: UNENDED}) == ""
    assert final_part("<think>5", {ANSWER_BEGINS: 0}) == "<think>5"


def config_of(manager: str, **model: Any) -> Any:
    """What verl's reward loop needs of a run's config."""
    config = OmegaConf.create(
        {
            "data": {"apply_chat_template_kwargs": {}},
            "run": {"reasoning": {"delimiters": None}, "turns": {"graded": "last"}},
            "actor_rollout_ref": {
                "model": {"custom_chat_template": None, **model},
                "rollout": {"n_gpus_per_node": 1, "tensor_model_parallel_size": 1},
            },
            "trainer": {"n_gpus_per_node": 1, "nnodes": 1},
            "reward": {
                "num_workers": 1,
                "custom_reward_function": {"path": "pkg://pacs.rewards.registry", "name": "compute_score"},
                "reward_manager": {"source": "register", "name": manager, "module": {"path": None, "name": "x"}},
                "reward_kwargs": {"max_resp_len": None, "overlong_buffer_cfg": None},
            },
        }
    )
    choose(config)
    return config


def graded(manager: Any, made: Any, response: str, extra_info: Any, of_loop: Any = None) -> dict[str, Any]:
    """What a manager says of a response, given as verl's agent loop gives it."""
    asked = [{"role": "user", "content": "2 + 3?"}]
    prompt = made.apply_chat_template(asked, add_generation_prompt=True)["input_ids"]
    tokens = made(response, add_special_tokens=False)["input_ids"]
    batch = {"prompts": prompt, "responses": tokens, "attention_mask": [1] * (len(prompt) + len(tokens))}
    rows = {"data_source": "test", "reward_model": {"ground_truth": "5"}, "extra_info": extra_info, "raw_prompt": asked}
    rows |= {} if of_loop is None else {"tool_extra_fields": of_loop}
    data = DataProto.from_dict(
        tensors={key: torch.tensor([values]) for key, values in batch.items()},
        non_tensors={key: np.array([value], dtype=object) for key, value in rows.items()},
    )
    return asyncio.run(_run(manager, data))


async def _run(manager: Any, data: DataProto) -> dict[str, Any]:
    manager.loop = asyncio.get_running_loop()
    result: dict[str, Any] = await manager.run_single(data)
    return result


@pytest.mark.parametrize("name", ["naive", "dapo"])
def test_verls_managers_tell_the_verifier(name: str) -> None:
    made = tokenizer(("<think>", "</think>"), (), "<think>\n")
    config = config_of(name)
    assert (config.reward.reward_manager.source, config.reward.reward_manager.module.path) == ("importlib", PATH)
    manager = load_reward_manager(config, made)
    assert isinstance(manager, REWARD_MANAGER[name])
    for response, status, unfinished in (
        (r"maybe \boxed{5}, wait", "no_answer", 1.0),
        (r"maybe \boxed{6}</think>\boxed{5}<|im_end|>", "correct", 0.0),
    ):
        said = graded(manager, made, response, {"verifier": "math", "index": 3})
        assert said["reward_score"] == float(status == "correct")
        assert (said["reward_extra_info"]["status"], said["reward_extra_info"][UNFINISHED]) == (status, unfinished)
        assert graded(manager, made, response, None)["reward_extra_info"]["status"] == status


def test_a_template_of_the_run_opens_it() -> None:
    made = tokenizer((), ("<think>", "</think>"))
    custom = tokenizer((), (), "<think>\n").chat_template
    manager = load_reward_manager(config_of("naive", custom_chat_template=custom), made)
    assert graded(manager, made, r"so \boxed{5}?", {})["reward_extra_info"][UNFINISHED] == 1.0


def test_a_manager_of_the_users_own_stays() -> None:
    config = config_of("naive")
    config.reward.reward_manager.module.path = "mine.py"
    choose(config)
    assert config.reward.reward_manager.module.path == "mine.py"


def test_a_manager_that_verl_lacks() -> None:
    with pytest.raises(AttributeError, match="Object not found in module"):
        load_reward_manager(config_of("naiv"), tokenizer())


def test_what_a_run_named_goes_with_its_model(tmp_path: Path) -> None:
    function = {"path": "pkg://pacs.rewards.registry", "name": "compute_score", "reward_kwargs": {}}
    for named in (None, [], [["<plan>", "</plan>"]]):
        write_reward(function, tmp_path, named)
        assert read_reward(tmp_path) == RunReward({}, None, named)
    (tmp_path / "reward.yaml").write_text((tmp_path / "reward.yaml").read_text().replace("</plan>", "<plan>"))
    with pytest.raises(ValueError, match=r"is not what `pacs export` writes .*must be null or a list of pairs"):
        read_reward(tmp_path)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.bool_, np.int64, float])
def test_numpy_s_numbers_are_scores(kind: type, tmp_path: Path) -> None:
    """As verl writes a response's score into its tensor, which takes some of numpy's numbers and not others."""
    file = tmp_path / "own.py"
    file.write_text(
        f"import numpy as np\ndef compute_score(*_, **__):\n    return np.dtype({np.dtype(kind).name!r}).type(1)\n"
    )
    config = config_of("naive")
    config.reward.custom_reward_function.path = str(file)
    score = graded(load_reward_manager(config, tokenizer()), tokenizer(), "5", {})["reward_score"]
    scores = torch.zeros(1, 3)
    scores[0, -1] = score
    assert scores[0].tolist() == [0.0, 0.0, 1.0]
