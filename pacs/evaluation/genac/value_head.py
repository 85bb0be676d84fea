"""Values by a critic with a value head, as PPO and VC-PPO train it: one forward pass over each state."""

from collections.abc import Mapping
from pathlib import Path

import torch

from pacs.base.errors import UserError
from pacs.base.terminal import print
from pacs.data.chat_template import load_tokenizer
from pacs.evaluation.genac.critic import StateSet, Trace, TraceStore
from pacs.evaluation.model import find_model, model_sha256


def found_head(given: str, actor: str) -> Path:
    """The folder of a critic with a value head.

    Args:
        given: as it was named.
        actor: folder of the model whose tokens states have.

    Raises:
        UserError: there is none, it has no head of one value, or it has other tokens than the actor.
    """
    from transformers import AutoConfig

    model = find_model(given, template=False)
    if model.source is not None:
        raise UserError(f"--value-head {given} is a training checkpoint: `pacs export {given} --part critic`")
    config = AutoConfig.from_pretrained(model.folder)
    named = ", ".join(config.architectures or ["no architecture"])
    if not named.endswith("ForTokenClassification") or config.num_labels != 1:
        raise UserError(
            f"--value-head {given}: {named} with {config.num_labels} labels has no value head: give what `pacs export "
            "--part critic` makes of a run with --config-name ppo or vcppo"
        )
    if load_tokenizer(str(model.folder)).get_vocab() != load_tokenizer(actor).get_vocab():
        raise UserError(f"--value-head {given} has other tokens than the actor {actor}: it cannot read its states")
    return Path(model.folder)


@torch.no_grad()
def head_values(
    folder: Path, prompts: Mapping[tuple[str, str], list[int]], sets: Mapping[str, StateSet], file: Path
) -> list[Trace]:
    """The head's values of all states, those that are in the file already as they are there.

    The value of a state is read at its last token, as PPO reads it before the next one.

    Args:
        folder: as of `found_head`.
        prompts: tokens of the actor's prompts, by task and problem.
        sets: of states, by task.
        file: of the values; one of another critic is begun anew.
    """
    from transformers import AutoModelForTokenClassification

    store = TraceStore(file, {"value_head_sha256": model_sha256(folder)})
    keys = [
        ((task, state.id), prompts[task, state.problem], state) for task, one in sets.items() for state in one.states
    ]
    missing = [each for each in keys if each[0] not in store.known]
    print(f"{folder}: {len(keys):,} states, {len(keys) - len(missing):,} of them are valued", flush=True)
    if missing:
        device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
        head = AutoModelForTokenClassification.from_pretrained(folder, dtype=dtype).to(device).eval()
        for key, prompt, state in missing:
            tokens = torch.tensor([[*prompt, *state.tokens]], device=device)
            store.add(Trace(*key, float(head(input_ids=tokens).logits[0, -1, 0]), 0, ""))
    return [store.known[key] for key, _, _ in keys]
