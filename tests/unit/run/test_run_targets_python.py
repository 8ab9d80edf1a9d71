"""The Python target: return values and failures."""

from __future__ import annotations

import json
import sys
import threading
from datetime import date
from pathlib import Path

import pytest

from fieldmark.errors import OptionError
from fieldmark.judges import time_limit
from fieldmark.model.json import MISSING
from fieldmark.run.targets.python import PythonTarget
from fieldmark.run.targets.target import TargetResponse
from waiting import PATIENCE, eventually

REQUEST = {"case_id": "a", "input": {"pages": [1]}, "question": "", "metadata": {}}


@pytest.fixture
def asked(tmp_path):
    """Calls a function that is written to a file."""

    def ask(source, timeout=5.0, request=REQUEST, **options):
        (tmp_path / "extract.py").write_text(source, "utf-8")
        target = PythonTarget(function="extract.py:run", cwd=tmp_path, **options)
        assert target.unready() is None
        with target.opened(timeout) as called:
            return called(request)

    return ask


@pytest.mark.parametrize(
    ("source", "text", "value"),
    [
        pytest.param("def run(case): return {'total': 1}", None, {"total": 1}, id="a-value"),
        pytest.param("def run(case): return 'Total: 1'", "Total: 1", MISSING, id="a-text"),
        pytest.param("def run(case): return None", None, None, id="nothing-is-null"),
        pytest.param("def run(case): return (1, 2)", None, [1, 2], id="a-tuple-is-a-list"),
        pytest.param("async def run(case): return [1]", None, [1], id="a-coroutine"),
        pytest.param("class run:\n  def __new__(cls, case): return 1", None, 1, id="anything-callable"),
        pytest.param("def run(case): return case['case_id']", "a", MISSING, id="what-it-was-given"),
        pytest.param("def run(case): return case['config']", None, {"model": "m"}, id="its-configuration"),
    ],
)  # fmt: skip
def test_what_a_function_returns_is_taken(asked, source, text, value):
    assert asked(source, config={"model": "m"}) == TargetResponse(text=text, value=value)


@pytest.mark.parametrize(
    ("source", "why", "transient"),
    [
        pytest.param("def run(case): return case['nothing']", "raised: KeyError: 'nothing'", False, id="raises"),
        pytest.param("def run(case): raise ValueError", "the function raised: ValueError", False, id="raises-without-words"),
        pytest.param("def run(case): raise SystemExit(3)", "raised: SystemExit: 3", False, id="wants-to-end-the-program"),
        pytest.param("def run(case): raise KeyboardInterrupt", "raised: KeyboardInterrupt", False, id="interrupts"),
        pytest.param("def run(case): raise ConnectionResetError('cut')", "cut", True, id="a-connection-that-fails"),
        pytest.param("def run(case): raise TimeoutError('late')", "late", True, id="a-time-out-of-its-own"),
        pytest.param("async def run(case): raise OSError('no')", "OSError: no", False, id="a-coroutine-that-raises"),
        pytest.param("def run(case): return {1: 2}", "cannot be used: the key 1 is not text", False, id="a-key-that-is-no-text"),
        pytest.param("def run(case): return {'a': {1}}", "cannot be used: a: set is not a JSON", False, id="what-json-cannot-hold"),
        pytest.param("def run(case):\n  a = []\n  a.append(a)\n  return a", "deeper than 200", False, id="a-value-inside-of-itself"),
        pytest.param("def run(): return 1", "TypeError", False, id="takes-no-case"),
    ],
)  # fmt: skip
def test_what_a_function_raises_is_a_failure(asked, source, why, transient):
    got = asked(source)
    assert (got.text, got.value, got.transient) == (None, MISSING, transient)
    assert why in got.failure


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import time\ndef run(case): time.sleep(30)", id="a-function"),
        pytest.param(
            "import asyncio\nasync def run(case): await asyncio.sleep(30)", id="a-coroutine"
        ),
    ],
)
def test_a_call_that_takes_too_long_is_not_waited_for_nor_made_again(asked, source):
    got = asked(source, timeout=0.2)
    assert got == TargetResponse(failure="no answer within 0.2 s")


def test_a_coroutine_that_takes_too_long_is_cancelled(asked, tmp_path):
    trace = tmp_path / "cancelled"
    asked(
        "import asyncio, pathlib\n"
        "async def run(case):\n"
        "    try:\n"
        "        await asyncio.sleep(9)\n"
        "    finally:\n"
        "        pathlib.Path(case['config']['trace']).touch()\n",
        timeout=0.1,
        config={"trace": str(trace)},
    )
    assert eventually(trace.exists)


def test_calls_left_behind_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(time_limit, "MAX_OVERDUE", 2)
    limit = time_limit.TimeLimit(0.05)
    over = threading.Event()
    for _ in range(2):
        with pytest.raises(time_limit.OverdueError, match="no answer"):
            limit.call(lambda: over.wait(PATIENCE))
    with pytest.raises(time_limit.OverdueError, match="not asked: 2 calls run beyond"):
        limit.call(lambda: 1)
    over.set()
    assert eventually(lambda: not limit._overdue)
    limit.seconds = PATIENCE
    assert limit.call(lambda: 1) == 1


def test_a_function_cannot_change_what_others_see(asked):
    request = json.loads(json.dumps(REQUEST))
    asked(
        "def run(case):\n    case['input']['pages'].append(2)\n    case['config']['x'].clear()",
        request=request,
        config={"x": [1]},
    )
    assert request == REQUEST


def test_an_answer_that_is_kept_by_the_function_can_be_changed_by_it(asked):
    got = asked("kept = {'a': [1]}\ndef run(case):\n    kept['a'].append(1)\n    return kept")
    assert got.value == {"a": [1, 1]}
    module = next(m for n, m in sys.modules.items() if n.startswith("_fieldmark_target_") and hasattr(m, "kept") and m.kept["a"] == [1, 1])  # fmt: skip
    module.kept["a"].append(2)
    assert got.value == {"a": [1, 1]}


def test_a_secret_in_an_exception_is_hidden(asked, monkeypatch):
    monkeypatch.setenv("FM_API_KEY", "sentinel-4711")
    got = asked(
        "import os\ndef run(case): raise ValueError('refused: ' + os.environ['FM_API_KEY'])"
    )
    assert "ValueError: refused: " in got.failure
    assert "sentinel" not in got.failure


def test_dates_are_no_json():
    got = _ask_here("today")
    assert "date is not a JSON value" in got.failure


def today(_):
    return date(2024, 1, 1)


class Extractor:
    @staticmethod
    def run(_):
        return {"total": 1}


def _ask_here(attribute):
    here = Path(__file__)
    with PythonTarget(function=f"{here.name}:{attribute}", cwd=here.parent).opened(5) as ask:
        return ask(REQUEST)


def test_a_function_may_be_inside_of_a_class():
    assert _ask_here("Extractor.run").value == {"total": 1}


def test_a_module_is_looked_for_in_the_working_folder_and_imports_what_lies_beside_it(tmp_path):
    package = tmp_path / "fm_test_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "extract.py").write_text("import fm_test_beside\nrun = fm_test_beside.run", "utf-8")
    (tmp_path / "fm_test_beside.py").write_text("def run(case): return 7", "utf-8")
    before = list(sys.path)
    target = PythonTarget(function="fm_test_package.extract:run", cwd=tmp_path)
    assert target.unready() is None
    with target.opened(5) as ask:
        assert ask(REQUEST).value == 7
    assert sys.path == before


def test_a_file_imports_what_lies_beside_it(tmp_path):
    folder = tmp_path / "judges"
    folder.mkdir()
    (folder / "one.py").write_text(
        "def run(case):\n    import fm_test_lazily\n    return fm_test_lazily.answer", "utf-8"
    )
    (folder / "fm_test_lazily.py").write_text("answer = 8", "utf-8")
    with PythonTarget(function="judges/one.py:run", cwd=tmp_path).opened(5) as ask:
        assert ask(REQUEST).value == 8


def test_a_file_is_loaded_once_and_again_when_it_has_changed(tmp_path):
    file = tmp_path / "extract.py"
    source = "import pathlib\nlog = pathlib.Path(__file__).with_name('log')\nlog.write_text(log.read_text() + 'x' if log.exists() else 'x')\ndef run(case): return {}"
    target = PythonTarget(function="extract.py:run", cwd=tmp_path)
    for number, loads in ((1, 1), (1, 1), (2, 2)):
        file.write_text(source.format(number), "utf-8")
        assert target.unready() is None
        with target.opened(5) as ask:
            assert ask(REQUEST).value == number
        assert (tmp_path / "log").read_text("utf-8") == "x" * loads


@pytest.mark.parametrize(
    ("function", "why"),
    [
        pytest.param("missing.py:run", "FileNotFoundError", id="no-such-file"),
        pytest.param("broken.py:run", "SyntaxError", id="a-file-that-is-no-python"),
        pytest.param("crash.py:run", "RuntimeError: at once", id="a-file-that-crashes"),
        pytest.param("exits.py:run", "SystemExit", id="a-file-that-ends-the-program"),
        pytest.param("good.py:walk", "no attribute 'walk'", id="no-such-function"),
        pytest.param("good.py:number", "TypeError: number cannot be called", id="no-function"),
        pytest.param("no_such_module_at_all:run", "ModuleNotFoundError", id="no-such-module"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_found_before_the_run(tmp_path, function, why):
    for name, source in {
        "broken.py": "def",
        "crash.py": "raise RuntimeError('at once')",
        "exits.py": "raise SystemExit",
        "good.py": "number = 1",
    }.items():
        (tmp_path / name).write_text(source, "utf-8")
    target = PythonTarget(function=function, cwd=tmp_path)
    said = target.unready()
    assert said == target.unready()
    assert said.startswith(f"{function} cannot be loaded: ")
    assert why in said


@pytest.mark.parametrize(
    "function", ["", "extract", "extract.py", "a:", ":b", "a b:c", "a:1", "a:b c"]
)
def test_a_function_is_written_with_its_home(function):
    with pytest.raises(OptionError) as refused:
        PythonTarget(function=function)
    assert refused.value.option == "function"


def test_the_identity_changes_with_the_file_and_the_configuration(tmp_path):
    file = tmp_path / "extract.py"
    file.write_text("def run(case): return 1", "utf-8")
    target = PythonTarget(function="extract.py:run", cwd=tmp_path)
    first = target.identity()
    assert first == target.identity()
    configured = PythonTarget(function="extract.py:run", cwd=tmp_path, config={"a": 1})
    assert configured.identity() != first
    file.write_text("def run(case): return 2", "utf-8")
    assert target.identity() != first
