#!/usr/bin/env bash
# mistral-common 1.13.1: with the tokenizers of versions 2 and 3, a tool's result that is a number, or other JSON, is read and
# written anew: 123456789012345678.25 becomes 1.2345678901234568e+17, and 19.90 becomes 19.9. With all, calls are, too.
#
# Guessed: the content of a turn, the text of a call's arguments and that of a tool's result are tokenized as they are given.
# Seen (2026-11-30, mistral-common 1.13.1; encode_chat_completion with tokenizers that the package ships): results and
# arguments go through json.loads and json.dumps. A calculator's output is rounded to a float, loses its last zeros, its sign
# (-0) or, in an object, a repeated key; 1E400 is Infinity; a sentence around a number saves it. So the model is told another
# number than the tool gave, and than the log and the verifier have. Version 7 keeps results. A call's arguments get other
# numbers, blanks and escapes in every version, so a conversation that is encoded again is not what the model sampled. In the
# next question's prompt version 2 leaves earlier calls and results out, and all versions move the tools, 2 and 3 the system
# prompt, too, to the last question: no prompt goes on from the one before. Give results as sentences or as JSON strings, and
# train on the tokens that were sampled.
#
#   v2 | v3 | v7
#   result 123456789012345678.25: 1.2345678901234568e+17 | 1.2345678901234568e+17 | 123456789012345678.25
#   result 19.90: 19.9 | 19.9 | 19.90
#   result 1e3: 1000.0 | 1000.0 | 1e3
#   result -0: 0 | 0 | -0
#   result 1E400: Infinity | Infinity | 1E400
#   result {"n": 1, "n": 2}: {"n": 2} | {"n": 2} | {"n": 1, "n": 2}
#   result It is 19.90.: "It is 19.90." | "It is 19.90." | It is 19.90.
#   result "19.90": "19.90" | "19.90" | "19.90"
#   arguments {"x":19.90}: {"x": 19.9} | {"x": 19.9} | {"x": 19.9}
#   arguments {"x": 1E5}: {"x": 100000.0} | {"x": 100000.0} | {"x": 100000.0}
#   arguments {"x": "\u00e9"}: {"x": "é"} | {"x": "é"} | {"x": "é"}
#   an earlier call is still there: False | True | True
#   the next prompt goes on from the last: False | False | False
#   the system prompt stands behind the first question: True | True | False
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mistral-common==1.13.1 sentencepiece==0.2.3 \
  tiktoken==0.14.0
cat >"$folder/conversation.py" <<'PYTHON'
import sys
from pathlib import Path

import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Function, FunctionCall, Tool, ToolCall
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

FILES = {
    "v2": "mistral_instruct_tokenizer_240216.model.v2",
    "v3": "tekken_240911.json",
    "v7": "mistral_instruct_tokenizer_241114.model.v7",
}
DATA = Path(mistral_common.__file__).parent / "data"
TOKENIZERS = {name: MistralTokenizer.from_file(str(DATA / file)) for name, file in FILES.items()}
CALL = "123456789"
TOOL = Tool(function=Function(name="python", description="Runs code.", parameters={"type": "object", "properties": {}}))
RESULTS = ["123456789012345678.25", "19.90", "1e3", "-0", "1E400", '{"n": 1, "n": 2}', "It is 19.90.", '"19.90"']
ARGUMENTS = ['{"x":19.90}', '{"x": 1E5}', '{"x": "\\u00e9"}']
ASK, GO_ON = UserMessage(content="How many?"), UserMessage(content="And then?")


def encoded(name, *messages):
    return TOKENIZERS[name].encode_chat_completion(ChatCompletionRequest(messages=list(messages), tools=[TOOL]))


def called(result="1", arguments="{}"):
    call = ToolCall(id=CALL, function=FunctionCall(name="python", arguments=arguments))
    said = ToolMessage(content=result, tool_call_id=CALL, name="python")
    return ASK, AssistantMessage(content=None, tool_calls=[call]), said


def between(text, start, *ends):
    """What stands behind the last start, up to the first of the ends that is there; sentencepiece's blanks as blanks."""
    text = text.replace("▁", " ").rsplit(start, 1)[1]
    return text[: min(text.index(end) for end in ends if end in text)].strip()


def result_in(name, result):
    text = encoded(name, *called(result=result)).text
    start, *ends = ("[TOOL_CONTENT]", "[/TOOL_RESULTS]") if name == "v7" else ('"content":', ', "call_id"', "}]")
    return between(text, start, *ends)


def arguments_in(name, arguments):
    return between(encoded(name, *called(arguments=arguments)).text, '"arguments":', ', "id"', "}]")


def goes_on(name, *first):
    """Whether the tokens of the prompt of a first question begin those of the next question's."""
    tokens = encoded(name, *first).tokens
    return encoded(name, *first, AssistantMessage(content="3"), GO_ON).tokens[: len(tokens)] == tokens


SEEN = """\
result 123456789012345678.25: 1.2345678901234568e+17 | 1.2345678901234568e+17 | 123456789012345678.25
result 19.90: 19.9 | 19.9 | 19.90
result 1e3: 1000.0 | 1000.0 | 1e3
result -0: 0 | 0 | -0
result 1E400: Infinity | Infinity | 1E400
result {"n": 1, "n": 2}: {"n": 2} | {"n": 2} | {"n": 1, "n": 2}
result It is 19.90.: "It is 19.90." | "It is 19.90." | It is 19.90.
result "19.90": "19.90" | "19.90" | "19.90"
arguments {"x":19.90}: {"x": 19.9} | {"x": 19.9} | {"x": 19.9}
arguments {"x": 1E5}: {"x": 100000.0} | {"x": 100000.0} | {"x": 100000.0}
arguments {"x": "\\u00e9"}: {"x": "é"} | {"x": "é"} | {"x": "é"}
an earlier call is still there: False | True | True
the next prompt goes on from the last: False | False | False
the system prompt stands behind the first question: True | True | False"""

lines = []
for given in RESULTS:
    lines.append(f"result {given}: " + " | ".join(result_in(name, given) for name in FILES))
for given in ARGUMENTS:
    lines.append(f"arguments {given}: " + " | ".join(arguments_in(name, given) for name in FILES))
later = [encoded(name, *called(), AssistantMessage(content="3"), GO_ON).text for name in FILES]
lines.append("an earlier call is still there: " + " | ".join(str("[TOOL_CALLS]" in text) for text in later))
lines.append("the next prompt goes on from the last: " + " | ".join(str(goes_on(name, ASK)) for name in FILES))
system = SystemMessage(content="Be brief.")
late = [encoded(name, system, ASK, AssistantMessage(content="3"), GO_ON).text for name in FILES]
late = ["brief" in text.replace("▁", " ").split("many?")[1] for text in late]
lines.append("the system prompt stands behind the first question: " + " | ".join(map(str, late)))
print(" | ".join(FILES))
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/conversation.py" 2>/dev/null
