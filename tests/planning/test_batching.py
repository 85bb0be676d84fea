"""The simulation of vLLM's batches, against a naive one and by hand."""

import json
import random
import subprocess
import sys
from dataclasses import asdict, astuple
from pathlib import Path

import pytest

from pacs.planning.batching import Simulation
from pacs.planning.serving import Limits
from pacs.planning.step_seconds import StepSeconds
from tests.planning.naive_engine import serve

ROOT = Path(__file__).parents[2]

#: So that reading takes longer in small batches, and calculating in large ones.
COST = StepSeconds(
    weights=40.0,
    context=0.01,
    token=11.0,
    token_pair=0.003,
    prompt_token=0.5,
    prompt_pair=0.002,
    step=3.0,
    sequence=0.25,
)


def drawn(seed: int) -> tuple[list[tuple[int, int, int]], Limits]:
    """Requests in groups of one prompt, dealt out in any order, and an engine that is too small for all of them."""
    draw = random.Random(seed)
    requests = []
    for group in range(draw.randint(1, 6)):
        # Of a prompt of 16 n tokens vLLM may find the last block in a sibling's; the simulation does not look there.
        prompt = draw.choice([tokens for tokens in range(1, 70) if tokens % 16])
        requests += [(prompt, draw.randint(1, 120), group) for _ in range(draw.randint(1, 6))]
    draw.shuffle(requests)
    largest = max(-(-(prompt + response) // 16) for prompt, response, _ in requests)
    sequences = draw.randint(1, 12)
    blocks = largest + draw.randint(0, 30)
    batched_tokens = sequences + draw.randint(0, 100)
    return requests, Limits(blocks, sequences, batched_tokens, draw.random() < 0.7, draw.choice([0, 0, 1, 5]))


@pytest.mark.parametrize("seeds", [range(150), range(150, 300)])
def test_it_is_what_a_naive_engine_does(seeds: range) -> None:
    preemptions = 0
    for seed in seeds:
        requests, limits = drawn(seed)
        told = serve(requests, *astuple(limits))
        served = Simulation(requests, limits, COST).run()
        assert served.steps == len(told.batches), seed
        assert (served.preemptions, served.most) == (told.preemptions, told.most), seed
        assert served.prefilled == told.prefilled, seed
        assert served.generated == sum(response for _, response, _ in requests), seed
        assert served.seconds == pytest.approx(sum(seconds(*batch) for batch in told.batches)), seed
        preemptions += told.preemptions
    assert preemptions > 100  # the draws have what they are for


@pytest.mark.long
def test_it_is_what_the_installed_vllm_does(tmp_path: Path) -> None:
    """vLLM's own scheduler in front of a tiny model that never stops by itself."""
    cases = [drawn(seed) for seed in (0, 1, 9, 11, 18, 21, 24, 29)]
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"requests": requests, "limits": asdict(limits)} for requests, limits in cases]))
    command = [sys.executable, "-m", "tests.planning.real_engine", str(file)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert printed.returncode == 0, printed.stderr[-3000:]
    seen = [json.loads(line) for line in printed.stdout.splitlines() if line.startswith("{")]
    served = [Simulation(requests, limits, COST).run() for requests, limits in cases]
    assert seen == [{count: getattr(each, count) for count in seen[0]} for each in served]
    assert sum(each["preemptions"] for each in seen) > 50


def seconds(requests: int, generating: int, read: int, bulk: int, pairs: int) -> float:
    """Of a step, from its sentence in the documentation."""
    reading = COST.weights + read * COST.context
    calculating = generating * COST.token + read * COST.token_pair + bulk * COST.prompt_token + pairs * COST.prompt_pair
    return max(reading, calculating) + COST.step + requests * COST.sequence
