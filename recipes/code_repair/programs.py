"""Programs of one expression in two numbers, as the policy writes them, and what is said where one fails."""

import json

#: What a program may return.
EXPRESSIONS = ("a+b", "a-b", "b-a", "a*b", "a+a", "b+b", "a*a", "b*b", "a%b", "b%a")
NAME = "f"
Arguments = tuple[int, int]


def source(expression: str) -> str:
    """The program."""
    return f"def {NAME}(a,b):\n return {expression}\n"


def response(expression: str) -> str:
    """The program as a response has it: in a block that the verifier of programs finds."""
    return f"```\n{source(expression)}```"


def value(expression: str, arguments: Arguments) -> int:
    """What the program gives for two numbers above 0."""
    a, b = arguments
    return {
        "a+b": a + b, "a-b": a - b, "b-a": b - a, "a*b": a * b, "a+a": a + a, "b+b": b + b, "a*a": a * a,
        "b*b": b * b, "a%b": a % b, "b%a": b % a,
    }[expression]  # fmt: skip


def asked(expression: str, arguments: Arguments, right: int) -> str:
    """The prompt: a program and a test that it fails."""
    return f"{source(expression)}{_call(arguments)} should be {right}"


def failure(arguments: Arguments, right: int | str, given: str | None) -> str:
    """What is said of a test that a program fails; `given` is None where it ends with an error, or in no time."""
    return f"{_call(arguments)} {'fails' if given is None else f'is {given}'}, should be {right}"


def ground_truth(expression: str, tests: list[Arguments]) -> str:
    """Tests in the form of `pacs.rewards.code.Tests`: a function's arguments are lines of JSON."""
    given = ["\n".join(map(str, arguments)) for arguments in tests]
    return json.dumps(
        {"fn_name": NAME, "inputs": given, "outputs": [str(value(expression, arguments)) for arguments in tests]}
    )


def _call(arguments: Arguments) -> str:
    return f"{NAME}({arguments[0]},{arguments[1]})"
