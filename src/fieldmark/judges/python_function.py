"""Loads a Python function by name, for providers and targets."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from operator import attrgetter
from pathlib import Path
from types import CodeType, ModuleType

__all__ = ["load_attribute"]


def load_attribute(reference: str, directory: Path | None = None) -> tuple[ModuleType, object]:
    """Import `module:attribute`; with a directory, also `file.py:attribute` in that directory.

    Raises ImportError, AttributeError, or any exception that the module raises.
    """
    source, _, attribute = reference.rpartition(":")
    if directory is not None and source.endswith(".py"):
        module = _load_file(directory / source)
    else:
        module = importlib.import_module(source)
    return module, attrgetter(attribute)(module)


def _load_file(path: Path) -> ModuleType:
    """Import a file, again only if its content has changed."""
    digest = hashlib.sha256(f"{path.absolute()}\n".encode() + path.read_bytes()).hexdigest()
    name = f"_fieldmark_target_{digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    loader = _UncachedLoader(name, str(path))
    spec = ModuleSpec(name, loader, origin=str(path))
    spec.has_location = True  # sets __file__
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _UncachedLoader(SourceFileLoader):
    """Compiles a file each time it is loaded.

    Cached bytecode is identified by size and modification time in seconds, so it would hide a
    change within the same second.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the loader has one file
        """Return the compiled source."""
        return self.source_to_code(self.get_data(self.path), self.path)
