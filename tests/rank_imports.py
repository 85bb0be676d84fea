"""What every rank of the tests imports and looks up (see ranks.py): here once, for all that are forked afterwards."""

import verl
import verl.utils.torch_dtypes  # noqa: F401
from hydra import compose, initialize_config_dir
from transformers import AutoModelForImageTextToText

import pacs.integration.worker.method_worker  # noqa: F401
from pacs.base.paths import config_dir
from tests.integration.worker import worker_case  # noqa: F401

# verl asks of each model whether it is one of these: the configs of seventy families are imported.
AutoModelForImageTextToText._model_mapping.keys()
with initialize_config_dir(str(config_dir()), version_base=None):
    compose("pacs", overrides=["recipe=arithmetic"])
