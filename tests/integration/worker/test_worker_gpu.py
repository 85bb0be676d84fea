"""The worker on a real GPU against plain autograd on the CPU: the cases of test_worker.py, in fp32 on one rank."""

import pytest

from tests.integration.worker import test_worker as cases

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return cases.run_ranks(cases.make_folder(tmp_path_factory), 1, device="cuda")


def test_any_split_gives_the_gradient_of_one_whole_batch_pass_on_a_gpu(results: dict) -> None:
    expected = cases.whole_batch_gradients()
    for case in cases.CASES:
        errors = cases.gradient_errors(case, results, expected)
        assert {way: error for way, error in errors.items() if not error < 1e-4} == {}


@pytest.mark.parametrize("name", cases.STEPS)
def test_three_steps_end_at_the_weights_of_plain_sgd_on_a_gpu(name: str, results: dict) -> None:
    """A reset copies the policy's shards on the GPU to the reference's on the host."""
    before, after = cases.naive_steps(cases.STEPS[name][1])
    ours = results["qwen3 packed"][name]
    assert ours["reset_copies"]
    assert cases.relative_error(ours["weights"], after, base=before) < 1e-3
