"""The verifier of this task: programs on their tests in the sandbox, and of a wrong one the first test that fails.

It is `pacs.rewards.code`, with guidance for another try (`run.rollouts.guided.guidance=error`).
"""

from typing import Any

from pacs.rewards.code import Tests, last_code_block, longest_bytes, same_json
from pacs.rewards.guidance import FEEDBACK
from pacs.rewards.sandbox.limits import Limits
from pacs.rewards.sandbox.sandbox import Sandbox
from pacs.rewards.verdict import verdict
from recipes.code_repair.programs import failure

#: On the clock, of one test of a tiny program.
TEST_SECONDS = 2
#: Address space of one.
MEMORY_MIB = 1024


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The `verdict` of a response, with `FEEDBACK` where its program is wrong.

    Args:
        data_source: not read.
        solution_str: the response.
        ground_truth: `pacs.rewards.code.Tests` as JSON.
        extra_info: not read: the model marks no reasoning.
    """
    code = last_code_block(solution_str)
    if code is None:
        return verdict("no_answer") | {FEEDBACK: "no program"}
    failed = first_failure(code, Tests.from_json(ground_truth))
    return verdict("correct", code) if failed is None else verdict("wrong", code) | {FEEDBACK: failed}


def first_failure(code: str, tests: Tests) -> str | None:
    """What is said of the first test that a program fails; None if it passes all."""
    with Sandbox(code, tests.fn_name, Limits(TEST_SECONDS, MEMORY_MIB)) as sandbox:
        for given, right in zip(tests.inputs, tests.outputs, strict=True):
            outcome = sandbox.run(given, longest_bytes=longest_bytes(len(right)), seconds=10 * TEST_SECONDS)
            output = outcome.output.decode(errors="replace") if outcome.output is not None else ""
            if outcome.ended != "exited" or not same_json(output, right):
                a, b = map(int, given.split("\n"))
                shown = output if outcome.ended == "exited" and len(output) <= len("-999") else None
                return failure((a, b), right, shown)
    return None
