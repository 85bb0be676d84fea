#!/usr/bin/env bash
# tinker-cookbook 0.6.1, deepeval 4.3.1: their IFEval passes responses that break its instructions: "less than" is always met in
# the one, keywords and quotation marks are in the other, and capitals and numbers of bullet points in both.
#
# Guessed: each of IFEval's 25 kinds of instruction is checked the way IFEval does it, and one that is not known fails or
# raises.
# Seen (2026-11-30, tinker-cookbook 0.6.1 without langdetect, deepeval 4.3.1; both checkers with IFEval's own names and
# arguments, on responses made here, 29 of which break their instruction): tinker-cookbook knows no "less than", and what it
# does not know is met, as is repeating the prompt. Titles, sections and paragraphs need other marks than those that IFEval asks
# for, so a response that does as it is told fails. deepeval has names of its own for most kinds; one that it does not know is
# met if the half before the colon is known, and never met otherwise. Both read IFEval's dataset and give one accuracy, which
# looks like IFEval's: a model that ignores such instructions gains, and one that follows them may lose. Use the checks of
# IFEval itself.
#
#   broken and passed by both: frequency (less than), letter_frequency (less than), nth_paragraph_first_word,
#     number_bullet_lists, constrained_response, json_format, two_responses, capital_word_frequency (less than),
#     english_capital
#   broken and passed by tinker-cookbook alone: response_language, number_sentences (less than), number_words (less than),
#     postscript, title, repeat_prompt
#   broken and passed by deepeval alone: existence, forbidden_words, frequency (at least), letter_frequency (at least),
#     number_paragraphs, multiple_sections, end_checker, quotation
#   met and failed by tinker-cookbook: title, multiple_sections, number_paragraphs
#   met and failed by deepeval: response_language
#
# Exits with a status other than 0 if any of this differs. Of tinker-cookbook it runs the file with the checks alone.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check deepeval==4.3.1
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps tinker-cookbook==0.6.1
export DEEPEVAL_TELEMETRY_OPT_OUT=YES
cat >"$folder/instructions.py" <<'PYTHON'
import importlib.util
import sys
import textwrap
from importlib.metadata import files

from deepeval.benchmarks.ifeval.ifeval import IFEvalInstructionVerifier

FIVE = "One. Two. Three. Four. Five."
BROKEN = [
    ("keywords:existence", {"keywords": ["apple"]}, "A pear."),
    ("keywords:forbidden_words", {"forbidden_words": ["pear"]}, "A pear."),
    ("keywords:frequency", {"keyword": "pear", "frequency": 2, "relation": "at least"}, "A pear."),
    ("keywords:frequency", {"keyword": "pear", "frequency": 1, "relation": "less than"}, "A pear."),
    ("keywords:letter_frequency", {"letter": "e", "let_frequency": 9, "let_relation": "at least"}, "A pear."),
    ("keywords:letter_frequency", {"letter": "e", "let_frequency": 1, "let_relation": "less than"}, "A pear."),
    ("language:response_language", {"language": "hi"}, "This is a sentence about the weather in England."),
    ("length_constraints:number_sentences", {"num_sentences": 9, "relation": "at least"}, FIVE),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "less than"}, FIVE),
    ("length_constraints:number_words", {"num_words": 9, "relation": "at least"}, FIVE),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, FIVE),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 3}, "One.\n***\nTwo."),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 3, "nth_paragraph": 1, "first_word": "weekend"},
        "Weekend.\n\nThe end.",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 3}, "Dear [name]."),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye. P.S. Eat."),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n* two\n* three"),
    ("detectable_format:constrained_response", {}, "Perhaps."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 3}, "*one*"),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 3}, "One."),
    ("detectable_format:json_format", {}, "Here you are: {} And more."),
    ("detectable_format:title", {}, "# A title of another kind"),
    ("combination:two_responses", {}, "One answer.\n\n---\n\nIts end."),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Name a fruit."}, "Pear."),
    ("startend:end_checker", {"end_phrase": "Any questions?"}, "A pear."),
    ("startend:quotation", {}, "A pear."),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "less than"}, "NO NO NO"),
    ("change_case:english_capital", {}, "Only The First Letters"),
    ("change_case:english_lowercase", {}, "Not lower"),
    ("punctuation:no_comma", {}, "A pear, ripe."),
]
MET = [
    ("detectable_format:title", {}, "Here it is: <<Pears>>"),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 2}, "SECTION 1\nA.\nSECTION 2\nB."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One.\n***\nTwo."),
    ("language:response_language", {"language": "en"}, "This is a sentence about the weather in England."),
]


def deepeval(kind, arguments, response):
    return IFEvalInstructionVerifier.verify_instruction_compliance(response, kind, arguments)[0]


def tinker_cookbook(kind, arguments, response):
    return VERIFY.verify_instruction(kind, response, arguments)


def named(kind, arguments):
    relation = next((value for key, value in arguments.items() if key.endswith("relation")), None)
    return kind.split(":")[1] + (f" ({relation})" if relation else "")


# The file with the checks needs nothing of the package, whose other dependencies are not installed here.
(file,) = [file for file in files("tinker-cookbook") if file.name == "_ifeval_verify.py"]
spec = importlib.util.spec_from_file_location("verify", file.locate())
VERIFY = importlib.util.module_from_spec(spec)
spec.loader.exec_module(VERIFY)

NAMES = {tinker_cookbook: "tinker-cookbook", deepeval: "deepeval"}
passed = {check: {named(*case[:2]) for case in BROKEN if check(*case)} for check in NAMES}
order = [named(*case[:2]) for case in BROKEN]
both = passed[tinker_cookbook] & passed[deepeval]
lines = ["broken and passed by both: " + ", ".join(name for name in order if name in both)]
for check, names in passed.items():
    lines.append(f"broken and passed by {NAMES[check]} alone: " + ", ".join(name for name in order if name in names - both))
for check in passed:
    lines.append(f"met and failed by {NAMES[check]}: " + ", ".join(named(*case[:2]) for case in MET if not check(*case)))
found = "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in lines)
print(found)
SEEN = """\
broken and passed by both: frequency (less than), letter_frequency (less than), nth_paragraph_first_word,
  number_bullet_lists, constrained_response, json_format, two_responses, capital_word_frequency (less than),
  english_capital
broken and passed by tinker-cookbook alone: response_language, number_sentences (less than), number_words (less than),
  postscript, title, repeat_prompt
broken and passed by deepeval alone: existence, forbidden_words, frequency (at least), letter_frequency (at least),
  number_paragraphs, multiple_sections, end_checker, quotation
met and failed by tinker-cookbook: title, multiple_sections, number_paragraphs
met and failed by deepeval: response_language"""
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/instructions.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
