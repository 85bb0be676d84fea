"""Patches of transformers in the processes of verl: what it does again and again, and what no run needs."""

import weakref
from typing import Any

from pacs.integration.patches.patch import Function, Patch, patches, wrap

OF_TRANSFORMERS: list[Patch] = []


@patches(OF_TRANSFORMERS, "transformers.utils", "is_sklearn_available", '_is_package_available("sklearn")')
def scikit_learn_is_not_imported(original: Function) -> bool:
    """transformers imports scikit-learn, where there is one, for assisted decoding, which no run does: it takes each
    process of a run 1.7 s"""
    return False


@patches(
    OF_TRANSFORMERS, "transformers.modeling_flash_attention_utils", "",
    "is_fa_with_position_ids = _is_packed_sequence(position_ids, batch_size=query_states.size(0))",
    "_prepare_from_posids(\n                query_states, key_states, value_states, position_ids",
    "= prepare_fa_kwargs_from_position_ids(position_ids)\n", of_module=True,
)  # fmt: skip
def where_packed_rows_begin_is_found_once(module: Any) -> None:
    """transformers asks in every layer, and once more when it is calculated again, whether rows are packed and where
    each begins: some 15 kernels, for several of which the host waits until the GPU is done"""
    asked: list[Any] = [lambda: None, -1, {}]

    def once(original: Function, position_ids: Any, *args: Any, **options: Any) -> Any:
        if position_ids is None or position_ids.is_inference():  # which has no version
            return original(position_ids, *args, **options)
        if asked[0]() is not position_ids or asked[1] != position_ids._version:
            asked[:] = [weakref.ref(position_ids), position_ids._version, {}]
        key = (original.__name__, args, *options.items())
        if key not in asked[2]:
            asked[2][key] = _on_the_host(original(position_ids, *args, **options))
        return asked[2][key]

    wrap(module, "_is_packed_sequence", once)
    wrap(module, "prepare_fa_kwargs_from_position_ids", once)


def _on_the_host(answer: Any) -> Any:
    """Whether rows are packed as a bool; or the longest row of a pair as numbers, which flash attention would read."""
    if not isinstance(answer, tuple):
        return bool(answer)
    begins, longest = answer
    return begins, tuple(map(int, longest))
