"""Python functions that rules name or a caller passes."""

from __future__ import annotations

import pickle
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from fieldmark.python_function import REFERENCE, PythonFunction
from fieldmark.values.value_types import reference_of


def same(expected, candidate):
    return expected == candidate


class Same:
    def __call__(self, expected, candidate):
        return expected == candidate

    def method(self, expected, candidate):
        return expected == candidate


HERE = __name__


@pytest.mark.parametrize(
    ("function", "reference", "importable"),
    [
        pytest.param(same, f"{HERE}:same", True, id="function"),
        pytest.param(Same.method, f"{HERE}:Same.method", True, id="attribute-of-a-class"),
        pytest.param(lambda *_: True, f"{HERE}:<lambda>", False, id="lambda"),
        pytest.param(Same(), f"{HERE}:Same", False, id="object"),
        pytest.param(Same().method, f"{HERE}:Same.method", False, id="bound-method"),
        pytest.param(partial(same, 1), "functools:partial", False, id="partial"),
        pytest.param(max, "builtins:max", True, id="built-in"),
    ],
)
def test_names_of_functions(function, reference, importable):
    wrapped = PythonFunction.of(function)
    assert (str(wrapped), wrapped.importable) == (reference, importable)
    assert wrapped.identity() == {"function": reference}
    assert wrapped.unready() is None


def test_a_local_function_is_not_importable():
    def local(expected, candidate):
        return True

    assert "<locals>" in reference_of(local)
    assert not PythonFunction.of(local).importable


def test_a_function_that_was_replaced_is_not_importable(monkeypatch):
    wrapped = PythonFunction.of(same)
    monkeypatch.setattr(sys.modules[HERE], "same", None)
    assert not wrapped.importable


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("house:close", True),
        ("package.module:function", True),
        ("rules/house.py:close", True),
        ("module:Class.method", True),
        ("house", False),
        ("house:", False),
        (":close", False),
        ("house:1", False),
        ("house:close()", False),
        ("a b:close", False),
        ("house:close\n", False),
    ],
)
def test_form_of_names(text, valid):
    assert bool(REFERENCE.match(text)) is valid


@pytest.fixture
def house(tmp_path):
    name = "house_of_rules"
    (tmp_path / f"{name}.py").write_text(
        "import sys\nNUMBER = 3\ndef close(a, b):\n    return a is b\n"
    )
    yield name
    sys.modules.pop(name, None)


def test_a_name_is_imported_from_the_directory_of_the_rules_first(tmp_path, house):
    path = list(sys.path)
    for reference in (f"{house}:close", f"{house}.py:close"):
        function = PythonFunction(reference, tmp_path)
        assert function.unready() is None
        assert function(1, 1) is True
        assert function.file == tmp_path / f"{house}.py"
    assert sys.path == path


def test_nothing_is_imported_before_it_is_needed(tmp_path, house):
    function = PythonFunction(f"{house}:close", tmp_path)
    assert function == PythonFunction(f"{house}:close", tmp_path)
    assert (function.importable, function.identity()) == (True, {"function": f"{house}:close"})
    assert house not in sys.modules


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("{house}:far", "AttributeError"),
        ("{house}:NUMBER", "TypeError: {house}:NUMBER is not a function"),
        ("no_such_module_here:close", "ModuleNotFoundError"),
        ("no_such_file.py:close", "FileNotFoundError"),
        ("{house}_broken:close", "SystemExit"),
    ],
)
def test_a_function_that_cannot_be_loaded_has_a_reason(tmp_path, house, reference, problem):
    (tmp_path / f"{house}_broken.py").write_text("raise SystemExit(3)\n")
    reference, problem = reference.format(house=house), problem.format(house=house)
    reason = PythonFunction(reference, tmp_path).unready()
    assert reason.startswith(f"cannot load {reference}: ")
    assert problem in reason


def test_a_function_cannot_end_the_program():
    function = PythonFunction.of(sys.exit)
    with pytest.raises(RuntimeError, match="sys:exit ended the program"):
        function(0)


def test_coroutine_functions_are_rejected():
    async def later(expected, candidate):
        return True

    assert "is a coroutine function" in PythonFunction.of(later).unready()


def test_a_function_can_be_sent_to_another_process(tmp_path, house):
    for function in (PythonFunction.of(same), PythonFunction(f"{house}:close", tmp_path)):
        function(1, 1)
        sent = pickle.loads(pickle.dumps(function))  # noqa: S301
        assert sent == function
        assert sent(1, 1) is True


def test_a_function_without_a_file_cannot_be_sent(monkeypatch):
    typed = ModuleType("__main__")
    exec("def typed(a, b): return True", vars(typed))  # noqa: S102
    monkeypatch.setitem(sys.modules, "__main__", typed)
    with pytest.raises(pickle.PicklingError, match="__main__:typed is not in a file"):
        pickle.dumps(PythonFunction.of(typed.typed))
    typed.__file__ = str(Path("script.py"))
    assert pickle.dumps(PythonFunction.of(typed.typed))


def test_the_file_of_a_built_in_function_is_unknown():
    assert PythonFunction.of(max).file is None
    assert PythonFunction.of(same).file == Path(__file__)
