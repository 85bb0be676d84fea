"""Each method of ours but PACS itself: for real, through Ray, FSDP2 and vLLM."""

from pathlib import Path

import pytest
import yaml

from pacs.checkpoints.folder import read_checkpoint
from pacs.composing import algorithms
from pacs.integration.schema import BASELINES
from tests.integration.real_run import RealRun, equal
from tests.metrics.page import find

#: Each takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS = 3
SHORT = (f"trainer.total_training_steps={STEPS}", "trainer.val_before_train=false", "run.sample_groups=16")
#: These have real runs of their own.
ELSEWHERE = {"pacs", "pacs_paper", "vineppo", "distillation", "pacs_distilled"}
METHODS = sorted(set(algorithms()) - set(BASELINES) - ELSEWHERE)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_trains(method: str, task: Path, tmp_path: Path) -> None:
    run = RealRun(task, tmp_path / method, *SHORT, algorithm=method)
    run.train(f"trainer.test_freq={STEPS}")
    config = yaml.safe_load((run.folder / "config.yaml").read_text())
    assert config["method"]["name"] == method
    lines = [line for line in run.steps() if "timing_s/step" in line]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        assert line["actor/grad_norm"] > 0
        assert line["pacs/gradient/skipped_count"] == 0
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
        # The reference is the policy that sampled, of which there is no second model.
        assert line["pacs/reference/reset_count"] == 1
        assert line["pacs/update/cached_fraction"] == (method == "disco")
    # The second mini-batch is compared with the policy as it was before the first.
    assert any(line["pacs/log_ratio/sequence_std"] > 0 for line in lines)
    assert not (run.checkpoints / "references").exists()
    assert not equal(run.policy(STEPS), run.policy(STEPS - 1))
    assert len(run.optimizer(STEPS)) > 0
    assert read_checkpoint(run.checkpoints / f"global_step_{STEPS}").reference is None
