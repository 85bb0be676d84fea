#!/usr/bin/env bash
# nemo-gym 0.7.0: in its SimpleQA, Omniscience and abstention environments a judge that writes NOT_ATTEMPTED says correct, for
# the A in it, and one that writes CORRECT or INCORRECT says the same, for the C in both.
#
# Guessed: a judge that is asked for "A: CORRECT", "B: INCORRECT" or "C: NOT_ATTEMPTED" may reply with the letter, the word, or
# both, and what can't be read counts as wrong.
# Seen (2026-11-30, nemo-gym 0.7.0; verify of the three servers with their default settings, with replies made here in place
# of the judge's): a reply that is not the letter alone, as the prompts ask for, is searched for a capital A, then B, C and D,
# in any word. NOT_ATTEMPTED, PARTIAL_ANSWER and "Answer: B" have an A, and get the whole reward. CORRECT has a C, as
# INCORRECT has, and means what C means: not attempted, partial, or an abstention with a reward of 0.5 for both. SimpleQA
# takes the first letter of the reply before that, so "As the gold target is Paris: B" is correct. So scores and rewards
# depend on how the judge writes, and a response that gives no answer can have the whole reward. Look at judge_output in the
# saved responses for what is no single letter, and hold the judge to one token.
#
#   simpleqa: CORRECT: not_attempted 0.0 | INCORRECT: not_attempted 0.0 | NOT_ATTEMPTED: correct 1.0
#   simpleqa: "Answer: B": correct 1.0 | "As the gold target is Paris: B": correct 1.0 | "Verdict: C: NOT_ATTEMPTED": correct 1.0
#   omniscience: CORRECT: partial 0.0 | INCORRECT: partial 0.0 | NOT_ATTEMPTED: correct 1.0
#   omniscience: "Answer: B": correct 1.0 | "C: PARTIAL_ANSWER": correct 1.0 | "D: NOT_ATTEMPTED": correct 1.0
#   abstention: CORRECT: abstain 0.5 | INCORRECT: abstain 0.5 | NOT_ATTEMPTED: correct 1.0
#   abstention: "Answer: B": correct 1.0 | "C: NOT_ATTEMPTED": correct 1.0
#
# Exits with a status other than 0 if any of this differs. The package asks for a newer Python than its grader needs; the base
# classes of its servers are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.4 fastapi==0.165.0 pyyaml==6.0.3
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps --ignore-requires-python \
  nemo-gym==0.7.0
cat >"$folder/judges.py" <<'PYTHON'
import asyncio
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel


class Row(BaseModel, extra="allow"):
    response: Any = None


class Server:
    def __init__(self, config):
        self.config = config
        self.model_post_init(None)

    def model_post_init(self, _):
        pass


def stand_in(name, kind=Row, names=(), **others):
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(dict.fromkeys(names, kind) | others)


requests = ("BaseResourcesServerConfig", "BaseRunRequest", "BaseVerifyRequest", "BaseVerifyResponse")
responses = ("EasyInputMessage", "Response", "ResponseCreateParamsNonStreaming", "ChatCompletion")
responses += ("ChatCompletionCreateParamsNonStreaming",)
stand_in("nemo_gym")
stand_in("nemo_gym.base_resources_server", names=requests, SimpleResourcesServer=Server)
stand_in("nemo_gym.config_types", names=("ModelServerRef",))
stand_in("nemo_gym.judge", None, ("JudgeError", "call_judge"))
stand_in("nemo_gym.openai_utils", names=[f"NeMoGym{name}" for name in responses])
stand_in("nemo_gym.reward_profile", None, ("compute_pass_majority_metrics", "highest_k_metrics"))

NAMES = {"simpleqa": "SimpleQA", "omniscience": "Omniscience", "abstention": "Abstention"}
SEEN = """\
simpleqa: CORRECT: not_attempted 0.0 | INCORRECT: not_attempted 0.0 | NOT_ATTEMPTED: correct 1.0
simpleqa: "Answer: B": correct 1.0 | "As the gold target is Paris: B": correct 1.0 | "Verdict: C: NOT_ATTEMPTED": correct 1.0
omniscience: CORRECT: partial 0.0 | INCORRECT: partial 0.0 | NOT_ATTEMPTED: correct 1.0
omniscience: "Answer: B": correct 1.0 | "C: PARTIAL_ANSWER": correct 1.0 | "D: NOT_ATTEMPTED": correct 1.0
abstention: CORRECT: abstain 0.5 | INCORRECT: abstain 0.5 | NOT_ATTEMPTED: correct 1.0
abstention: "Answer: B": correct 1.0 | "C: NOT_ATTEMPTED": correct 1.0"""
WORDS = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
SENTENCES = {
    "simpleqa": ("Answer: B", "As the gold target is Paris: B", "Verdict: C: NOT_ATTEMPTED"),
    "omniscience": ("Answer: B", "C: PARTIAL_ANSWER", "D: NOT_ATTEMPTED"),
    "abstention": ("Answer: B", "C: NOT_ATTEMPTED"),
}


def verdict(name, reply):
    app = import_module(f"resources_servers.{name}.app")
    server = getattr(app, f"{NAMES[name]}Server")(getattr(app, f"{NAMES[name]}Config").model_construct())

    async def judge(_):
        return reply

    server._call_judge = judge
    message = SimpleNamespace(type="message", role="assistant", content=[SimpleNamespace(text="It is Lyon.")])
    request = getattr(app, f"{NAMES[name]}VerifyRequest")
    body = request(response=SimpleNamespace(output=[message]), question="The capital of France?")
    found = asyncio.run(server.verify(body))
    return f"{found.verdict} {found.reward}"


plain = [verdict(name, letter) for name in NAMES for letter in "AB"]
found = []
for name, sentences in SENTENCES.items():
    found.append(f"{name}: " + " | ".join(f"{word}: {verdict(name, word)}" for word in WORDS))
    found.append(f"{name}: " + " | ".join(f'"{reply}": {verdict(name, reply)}' for reply in sentences))
print("\n".join(found))
sys.exit("\n".join(found) != SEEN or plain != ["correct 1.0", "incorrect 0.0"] * 3)
PYTHON
"$folder/venv/bin/python" "$folder/judges.py"
