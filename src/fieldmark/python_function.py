"""Python functions that a configuration names or a caller passes: loading and naming them."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from operator import attrgetter
from pathlib import Path
from types import CodeType, ModuleType
from typing import ClassVar, Final

from fieldmark.values.value_types import reference_of

REFERENCE: Final = re.compile(r"(?P<home>.+\.py|[\w.]+):[^\W\d]\w*(?:\.\w+)*\Z")
"""The name of a function in a module, or in a file."""
REFERENCE_FORM: Final = "must have the form module:function or file.py:function"
_MAIN: Final = "__main__"


@contextmanager
def search_path(reference: str, directory: Path | None) -> Iterator[None]:
    """Import modules from a directory first, or from the directory of the referenced file."""
    home = reference.rpartition(":")[0]
    here = (directory or Path()).absolute()
    first = str((here / home).parent if home.endswith(".py") else here)
    sys.path.insert(0, first)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(first)


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


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of rules: given by a caller, or a name that is loaded when it is first needed.

    A name is imported from `directory` first, the directory of the rules file.
    """

    name: ClassVar[str] = "python"
    reference: str
    directory: Path | None = None
    function: Callable[..., object] | None = None
    _loaded: list[Callable[..., object]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, function: Callable[..., object]) -> PythonFunction:
        """Return a function of a caller."""
        return cls(reference_of(function), function=function)

    def __call__(self, *values: object) -> object:
        """Call the function; its exceptions are not caught, but it must not end the program."""
        function = self.function or self._load()
        try:
            return function(*values)
        except SystemExit as error:
            raise RuntimeError(f"{self.reference} ended the program: {error!r}") from error

    def __str__(self) -> str:
        return self.reference

    def __reduce__(self) -> tuple[object, ...]:
        # Another process cannot import a function that was typed into an interpreter.
        main = sys.modules.get(_MAIN)
        typed = self.function is not None and getattr(self.function, "__module__", "") == _MAIN
        if typed and getattr(main, "__file__", None) is None:
            raise pickle.PicklingError(f"{self.reference} is not in a file")
        return type(self), (self.reference, self.directory, self.function)

    def identity(self) -> dict[str, object]:
        """Return the name of the function."""
        return {"function": self.reference}

    @property
    def importable(self) -> bool:
        """Whether another process can import the function by its name."""
        if self.function is None:
            return True
        module, _, name = self.reference.rpartition(":")
        if module == _MAIN or not REFERENCE.match(self.reference):
            return False
        try:
            return attrgetter(name)(sys.modules[module]) is self.function
        except (KeyError, AttributeError):
            return False

    @property
    def file(self) -> Path | None:
        """The file that defines the function, or `None` if it is not known."""
        function = inspect.unwrap(self.function or self._load())
        code = getattr(function, "__code__", None)
        name = getattr(code, "co_filename", None)
        return Path(name) if isinstance(name, str) else None

    def unready(self) -> str | None:
        """Load the function, and return why it cannot be called."""
        try:
            function = self.function or self._load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
            return f"cannot load {self.reference}: {type(error).__name__}: {error}"
        if inspect.iscoroutinefunction(function):
            return f"{self.reference} is a coroutine function; a function of rules must return"
        return None

    def _load(self) -> Callable[..., object]:
        if not self._loaded:
            with search_path(self.reference, self.directory):
                _, function = load_attribute(self.reference, self.directory or Path())
            if not callable(function):
                raise TypeError(f"{self.reference} is not a function")
            self._loaded.append(function)
        return self._loaded[0]


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
