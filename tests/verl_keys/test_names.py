"""Each name is one of a composed config's, so that a verl that renames it is noticed here."""

from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from pacs.base.paths import config_dir
from pacs.base.settings import flatten
from pacs.verl_keys import metrics, names
from tests.metrics.page import find

#: Settings that verl's configs have no default of.
GIVEN = {names.REWARD_ARGUMENTS}


def test_every_setting_is_a_run_s():
    with initialize_config_dir(str(config_dir()), version_base=None):
        runs = [
            OmegaConf.to_container(compose(name, overrides=["recipe=arithmetic"])) for name in ("pacs", "ppo", "genac")
        ]
    known = {key for run in runs for key in flatten(run)}
    named = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    named |= {*names.ON_THE_CARD}
    assert {name for name in named if not any(key == name or key.startswith(f"{name}.") for key in known)} == GIVEN


def test_every_metric_is_documented():
    named = {value for name, value in vars(metrics).items() if name.isupper() and isinstance(value, str)}
    assert {key for key in {*named, *metrics.PHASES} if find(key) is None} == set()
