"""A patch of foreign behaviour: what it is, and how it is checked against the installed source before it is made."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import wrapt


class PatchError(RuntimeError):
    """A patch no longer fits the installed version of what it changes."""


@dataclass(frozen=True)
class Patch:
    """One change of a foreign module.

    Attributes:
        name: Short name, for errors.
        module: The module that is changed, after its import.
        why: What the patch works around.
        expects: Source fragments that `anchor` must contain for the patch to make sense.
        anchor: Dotted name, within the module, of what is changed; "" is the module itself.
        apply: Makes the change.
    """

    name: str
    module: str
    why: str
    anchor: str
    expects: tuple[str, ...]
    apply: Callable[[ModuleType], None]

    def check(self, module: ModuleType) -> None:
        """Raise `PatchError` if the module is not what the patch was written for."""
        target: Any = module
        for part in filter(None, self.anchor.split(".")):
            if not hasattr(target, part):
                raise self._error(f"{self.anchor} is gone")
            target = getattr(target, part)
        source = inspect.getsource(target)
        missing = [fragment for fragment in self.expects if fragment not in source]
        if missing:
            raise self._error(f"its source no longer contains {missing}")

    def install(self) -> None:
        """Apply the patch when its module is imported, or now if it already is."""
        if self.module in sys.modules:
            self._on_import(sys.modules[self.module])
        else:
            wrapt.register_post_import_hook(self._on_import, self.module)

    def _on_import(self, module: ModuleType) -> None:
        self.check(module)
        self.apply(module)

    def _error(self, what: str) -> PatchError:
        return PatchError(
            f"The patch '{self.name}' ({self.why}) does not fit the installed {self.module}: {what}. "
            "Install the versions pinned in pyproject.toml, or bring "
            "pacs/integration/patches/registry.py up to date."
        )
