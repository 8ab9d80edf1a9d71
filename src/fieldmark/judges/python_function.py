"""Loads a Python function by name, for providers and targets."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from operator import attrgetter
from pathlib import Path
from types import ModuleType

__all__ = ["load_attribute"]


def load_attribute(reference: str, folder: Path | None = None) -> tuple[ModuleType, object]:
    """Import what `module:attribute` names; with a folder, also `file.py:attribute` in it.

    Raises whatever the module raises, ImportError, or AttributeError.
    """
    home, _, attribute = reference.rpartition(":")
    if folder is not None and home.endswith(".py"):
        module = _load_file(folder / home)
    else:
        module = importlib.import_module(home)
    return module, attrgetter(attribute)(module)


def _load_file(path: Path) -> ModuleType:
    """Import a file; it is loaded again only if its content has changed."""
    digest = hashlib.sha256(f"{path.absolute()}\n".encode() + path.read_bytes()).hexdigest()
    name = f"_fieldmark_target_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
