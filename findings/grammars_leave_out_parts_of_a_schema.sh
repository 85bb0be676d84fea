#!/usr/bin/env bash
# xgrammar 0.2.8, outlines-core 0.2.14: many keywords of a JSON schema are left out without a word, so that outputs under the
# grammar do not fit the schema.
#
# Guessed: what a grammar cannot hold is refused with an error, and the rest holds.
# Seen (2026-11-30, xgrammar 0.2.8, outlines-core 0.2.14, llguidance 1.9.1, jsonschema 4.26.0; each schema below with a text
# that fits it and one that does not, which "ignored" takes): llguidance holds a keyword or refuses the schema. xgrammar drops
# not, if, dependentRequired, uniqueItems and contains; of required, the names that are not in properties; one side of anyOf
# or a single allOf beside other keywords, and what stands beside $ref; a bound without a type, and the type beside enum. For
# two allOf, and maxLength beside pattern, it prints a warning. outlines-core drops all bounds of numbers, too. vLLM gives
# schemas to xgrammar by default, after a check of its own that knows uniqueItems and contains, and none of the others that
# xgrammar drops. So outputs under a grammar may break its schema, and a reward for valid ones measures nothing or pays for
# broken ones. Validate each output, or take llguidance.
#
#   keyword: xgrammar, outlines-core, llguidance
#   minimum: holds, ignored, holds
#   multipleOf: holds, ignored, holds
#   not: ignored, ignored, refused
#   if: ignored, ignored, refused
#   dependentRequired: ignored, ignored, refused
#   uniqueItems: ignored, ignored, refused
#   contains: ignored, ignored, refused
#   minProperties: holds, ignored, holds
#   required, not in properties: ignored, ignored, holds
#   anyOf of required: ignored, ignored, holds
#   type beside enum: ignored, ignored, holds
#   one allOf beside type: ignored, refused, holds
#   two allOf: ignored, refused, holds
#   maxLength beside pattern: ignored, holds, holds
#   pattern beside maxLength: holds, ignored, holds
#   maxLength beside $ref: ignored, ignored, holds
#   minimum without type: ignored, refused, holds
#
# Exits with a status other than 0 if any of this differs. The vocabulary is the 256 bytes; torch and transformers, which
# xgrammar imports and does not use here, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-tvm-ffi==0.1.15.post2 pydantic==2.14.3 \
  numpy==2.3.5 jsonschema==4.26.0 outlines-core==0.2.14 llguidance==1.9.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps xgrammar==0.2.8
cat >"$folder/keywords.py" <<'PYTHON'
import json
import re
import sys
from unittest.mock import MagicMock

import jsonschema
import llguidance
import tvm_ffi  # noqa: F401 (it must not meet the stand-ins)
from outlines_core import json_schema

sys.modules["torch"] = sys.modules["transformers"] = MagicMock()
import xgrammar

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
LIST = {"type": "array", "items": INTEGER}
PAIR = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER}, "additionalProperties": False}
NAMED = {"$defs": {"text": STRING}, "$ref": "#/$defs/text"}

# Of each keyword: a schema, a text that fits and one that does not; then what the three libraries make of it.
CASES = {
    "minimum": ({**INTEGER, "minimum": 3}, "3", "2", "holds, ignored, holds"),
    "multipleOf": ({**INTEGER, "multipleOf": 5}, "5", "7", "holds, ignored, holds"),
    "not": ({**STRING, "not": {"enum": ["x"]}}, '"y"', '"x"', "ignored, ignored, refused"),
    "if": (
        {**PAIR, "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}},
        '{"a": 1, "b": 2}',
        '{"a": 1}',
        "ignored, ignored, refused",
    ),
    "dependentRequired": (
        {**PAIR, "dependentRequired": {"a": ["b"]}},
        '{"a": 1, "b": 2}',
        '{"a": 1}',
        "ignored, ignored, refused",
    ),
    "uniqueItems": ({**LIST, "uniqueItems": True}, "[1, 2]", "[1, 1]", "ignored, ignored, refused"),
    "contains": ({**LIST, "contains": {"const": 5}}, "[1, 5]", "[1, 2]", "ignored, ignored, refused"),
    "minProperties": ({**PAIR, "minProperties": 1}, '{"a": 1}', "{}", "holds, ignored, holds"),
    "required, not in properties": (
        {"type": "object", "properties": {"a": INTEGER}, "required": ["a", "c"]},
        '{"a": 1, "c": 2}',
        '{"a": 1}',
        "ignored, ignored, holds",
    ),
    "anyOf of required": (
        {**PAIR, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        '{"a": 1}',
        "{}",
        "ignored, ignored, holds",
    ),
    "type beside enum": ({**STRING, "enum": ["x", 1]}, '"x"', "1", "ignored, ignored, holds"),
    "one allOf beside type": ({**INTEGER, "allOf": [{"minimum": 3}]}, "5", "2", "ignored, refused, holds"),
    "two allOf": ({"allOf": [INTEGER, {"minimum": 3}]}, "5", "2", "ignored, refused, holds"),
    "maxLength beside pattern": ({**STRING, "pattern": "^[a-z]+$", "maxLength": 2}, '"ab"', '"abc"', "ignored, holds, holds"),
    "pattern beside maxLength": ({**STRING, "pattern": "^[a-z]+$", "maxLength": 2}, '"ab"', '"A"', "holds, ignored, holds"),
    "maxLength beside $ref": ({**NAMED, "maxLength": 2}, '"ab"', '"abc"', "ignored, ignored, holds"),
    "minimum without type": ({"minimum": 3}, "5", "2", "ignored, refused, holds"),
}
END = 256
vocabulary = xgrammar.TokenizerInfo(
    [bytes([byte]) for byte in range(256)] + [b"<end>"], vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[END]
)
compiler = xgrammar.GrammarCompiler(vocabulary, max_threads=1)
every_byte = llguidance.LLTokenizer("byte")


def by_xgrammar(schema):
    grammar = compiler.compile_json_schema(json.dumps(schema))

    def takes(text):
        matcher = xgrammar.GrammarMatcher(grammar)
        return matcher.accept_string(text) and matcher.accept_token(END)

    return takes


def by_outlines(schema):
    pattern = re.compile(json_schema.build_regex_from_schema(json.dumps(schema)))
    return lambda text: pattern.fullmatch(text) is not None


def by_llguidance(schema):
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    if error := llguidance.LLMatcher.validate_grammar(grammar, every_byte):
        raise ValueError(error)

    def takes(text):
        matcher, tokens = llguidance.LLMatcher(every_byte, grammar), list(text.encode())
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    return takes


def outcome(library, schema, breaks):
    try:
        takes = library(schema)
    except Exception:
        return "refused"
    return "ignored" if takes(breaks) else "holds"


same = True
print("keyword: xgrammar, outlines-core, llguidance")
for keyword, (schema, fits, breaks, seen) in CASES.items():
    valid = jsonschema.Draft202012Validator(schema).is_valid
    assert valid(json.loads(fits)) and not valid(json.loads(breaks))
    found = ", ".join(outcome(library, schema, breaks) for library in (by_xgrammar, by_outlines, by_llguidance))
    print(f"{keyword}: {found}")
    same &= found == seen
sys.exit(not same)
PYTHON
"$folder/venv/bin/python" "$folder/keywords.py" 2>/dev/null
