"""The worker on a real GPU against plain autograd on the CPU: the cases of test_worker.py, in fp32 on one rank."""

import pytest

from tests.integration import test_worker as cases

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


def test_any_split_gives_the_gradient_of_one_whole_batch_pass_on_a_gpu(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = cases.make_folder(tmp_path_factory)
    results = cases.run_ranks(folder, 1, device="cuda")
    expected = cases.whole_batch_gradients()
    errors = {
        (case, config, split): cases.relative_error(
            results[case][config, split]["gradient"], expected[cases.CASES[case][0], config]
        )
        for case in cases.CASES
        for config, split in cases.WAYS[case]
    }
    assert {way: error for way, error in errors.items() if not error < 1e-4} == {}
