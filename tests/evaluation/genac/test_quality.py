"""A set of three problems by hand."""

import pytest

from pacs.algorithm.genac import SHIPPED, segments
from pacs.base.errors import UserError
from pacs.commands import genac_value_bench as command
from pacs.evaluation.genac.bench_page import page, to_json
from pacs.evaluation.genac.quality import INITIAL, RATE, Known, result_of
from pacs.evaluation.genac.states import State

#: Problem a has one state beside the empty one, b none.
STATES = [State("a:", "a", 0, [], ""), State("a:0:1", "a", 1, [1], "x", 1.0), State("b:", "b", 0, [], "")]
#: Three segments behind a's second state, the first of which two continuations have.
CANDIDATES = [
    State("a:0:1+0", "a", 2, [1, 2], "xy", follows="a:0:1", copies=2),
    State("a:0:1+1", "a", 2, [1, 3], "xz", follows="a:0:1"),
    State("a:0:1+2", "a", 2, [1, 4], "x!", 1.0, ended=True, follows="a:0:1"),
]
VALUES = {"a:": 0.5, "a:0:1": 0.75, "b:": 0.0, "a:0:1+0": 0.25, "a:0:1+1": 0.5, "a:0:1+2": 1.0}
KNOWN = Known(STATES, CANDIDATES, VALUES, rate=0.4, continuations=4)
SAID = {"a:": 0.6, "a:0:1": None, "b:": 0.1, "a:0:1+0": 0.3, "a:0:1+1": 0.9, "a:0:1+2": 0.9}
CRITIC = {("t", state): value for state, value in SAID.items()}


def test_by_hand() -> None:
    result = result_of("t", KNOWN, {"critic": CRITIC})
    noise = {"a:": 0.25 / 3, "a:0:1": 0.1875 / 3, "b:": 0.0}
    quality = result.qualities["critic"]
    of_a = ((0.6 - 0.5) ** 2 - noise["a:"] + (0.4 - 0.75) ** 2 - noise["a:0:1"]) / 2
    assert quality.error.mean == pytest.approx((of_a + 0.01) / 2)
    of_a = ((0.4 - 0.5) ** 2 - noise["a:"] + (0.4 - 0.75) ** 2 - noise["a:0:1"]) / 2
    assert result.qualities[RATE].error.mean == pytest.approx((of_a + 0.16) / 2)
    of_a = ((0.5 - 0.75) ** 2 - noise["a:0:1"] - noise["a:"]) / 2
    assert result.qualities[INITIAL].error.mean == pytest.approx(of_a / 2)
    assert quality.unparsable == pytest.approx(1 / 6)
    assert [(b.score, b.states) for b in quality.bins] == [(1, 1), (4, 1), (6, 1)]
    # Of two candidates: (y, y) and both of (y, z), (y, !) twice are right; of (z, !) one of the two that tie is.
    two, four = quality.top[2], quality.top[4]
    assert (two.right, two.by_lot) == pytest.approx((1.0, 5.5 / 6))
    assert two.chance == pytest.approx((1 + 5 * 0.5) / 6)
    assert (four.right, four.by_lot, four.chance) == pytest.approx((1.0, 0.5, 0.25))
    assert 8 not in quality.top
    assert (result.problems, result.states) == (2, 3)
    assert result.mean == pytest.approx((0.625 + 0.0) / 2)


def test_the_page_says_it() -> None:
    results = {"t": result_of("t", KNOWN, {"critic": CRITIC})}
    text = page(results)
    assert "2 problems, 3 states, 4 continuations of each" in text
    assert "100.00 (91.67)" in text
    assert "| a candidate by lot " in text
    assert to_json(results)["t"]["qualities"]["critic"]["top"][2]["sets"] == 1


def test_a_critic_that_says_nothing_of_a_state_is_told_of() -> None:
    with pytest.raises(UserError, match="head has no value of the state a:0:1 of t"):
        result_of("t", KNOWN, {"head": {key: value for key, value in CRITIC.items() if key[1] != "a:0:1"}})


def test_the_command_offers_what_there_is() -> None:
    assert tuple(SHIPPED) == command.TEMPLATES
    known = (segments.DELIMITER, segments.LEAST_TOKENS, segments.MOST_TOKENS)
    assert known == (command.DELIMITER, command.LEAST_TOKENS, command.MOST_TOKENS)
