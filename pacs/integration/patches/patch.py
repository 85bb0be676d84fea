"""A patch of foreign behaviour: what it is, and how it is checked against the installed source before it is made."""

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from types import ModuleType
from typing import Any

import wrapt

Function = Callable[..., Any]


class PatchError(RuntimeError):
    """A patch no longer fits the installed version of what it changes."""


@dataclass(frozen=True)
class Patch:
    """One change of a foreign module.

    Attributes:
        module: The module that is changed, after its import.
        anchor: Dotted name, within the module, of what is changed; "" is the module itself.
        expects: Source fragments that `anchor` must contain for the patch to make sense.
        apply: Makes the change; its name is the patch's, its docstring says what the patch works around.
        variable: Of the environment; where it is not set, the patch is not made.
    """

    module: str
    anchor: str
    expects: tuple[str, ...]
    apply: Callable[[ModuleType], None]
    variable: str | None = None

    def check(self, module: ModuleType) -> None:
        """Raise `PatchError` if the module is not what the patch was written for."""
        try:
            source = inspect.getsource(_resolve(module, self.anchor))
        except AttributeError:
            raise self._error(f"{self.anchor} is gone") from None
        if missing := [fragment for fragment in self.expects if fragment not in source]:
            raise self._error(f"its source no longer contains {missing}")

    def install(self) -> None:
        """Apply the patch when its module is imported, or now if it already is."""
        if self.module in sys.modules:
            self._on_import(sys.modules[self.module])
        else:
            wrapt.register_post_import_hook(self._on_import, self.module)

    def _on_import(self, module: ModuleType) -> None:
        self.check(module)
        if self.variable is None or self.variable in os.environ:
            self.apply(module)

    def _error(self, what: str) -> PatchError:
        name, why = self.apply.__name__.replace("_", " "), " ".join((self.apply.__doc__ or "").split())
        return PatchError(
            f"The patch '{name}' ({why}) does not fit the installed {self.module}: {what}. Install the versions pinned "
            "in pyproject.toml, or bring pacs/integration/patches/registry.py up to date."
        )


def wrap(owner: Any, name: str, function: Function) -> None:
    """Put a function in place of another, which it gets as its first argument."""
    original = getattr(owner, name)

    @wraps(original)
    def replaced(*args: Any, **options: Any) -> Any:
        return function(original, *args, **options)

    setattr(owner, name, replaced)


def patches(
    where: list[Patch], module: str, anchor: str, *expects: str, of_module: bool = False, variable: str | None = None
) -> Callable[[Function], Function]:
    """Register a function that takes the place of `anchor`, which it gets before the arguments.

    Args:
        where: to register it.
        module, anchor, expects, variable: as of `Patch`.
        of_module: the function gets the module instead, and changes it.
    """

    def register(function: Function) -> Function:
        @wraps(function)
        def replace(module: ModuleType) -> None:
            parent, _, name = anchor.rpartition(".")
            wrap(_resolve(module, parent), name, function)

        where.append(Patch(module, anchor, expects, function if of_module else replace, variable))
        return function

    return register


def _resolve(module: ModuleType, name: str) -> Any:
    return reduce(getattr, filter(None, name.split(".")), module)
