"""A checkpoint's optimizer, with the settings of now."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR


@contextmanager
def settings_kept(optimizer: Optimizer, schedule: LambdaLR) -> Iterator[None]:
    """Whatever is loaded within: the moments and the place in the schedule are the checkpoint's, the settings stay.

    torch's state dicts hold the learning rate, the betas and the weight decay too, and would bring those of the
    checkpoint back without a word, though the run was told to go on with others.
    """
    settings = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    peaks = list(schedule.base_lrs)
    yield
    rates = [peak * factor(schedule.last_epoch) for peak, factor in zip(peaks, schedule.lr_lambdas, strict=True)]
    for group, kept, rate in zip(optimizer.param_groups, settings, rates, strict=True):
        group.update(kept)
        group["lr"] = rate
    schedule.base_lrs, schedule._last_lr = peaks, rates
