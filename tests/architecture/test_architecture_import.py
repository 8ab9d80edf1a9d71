"""Importing the package is quick and has no side effects."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def finished(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "heavy", ["jinja2", "numpy", "pandas", "polars", "rich", "ruamel", "scipy", "yaml"]
)
def test_importing_the_package_loads_nothing_heavy(heavy):
    probe = f"import sys, fieldmark; print({heavy!r} in sys.modules)"
    python = finished(sys.executable, "-I", "-c", probe)
    assert (python.stdout.strip(), python.stderr) == ("False", "")


def test_importing_the_package_has_no_side_effects():
    python = finished(sys.executable, "-I", "-X", "dev", "-W", "error", "-c", "import fieldmark")
    assert (python.returncode, python.stdout, python.stderr) == (0, "", "")


def test_help_loads_little_more_than_click():
    code = (
        "import sys, click; before = set(sys.modules); import fieldmark.cli.main; "
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = done.stdout.split()
    assert len(loaded) <= 16
    assert not [name for name in loaded if re.search("metrics|orjson|kernel|pathlib", name)]


def test_scoring_a_small_pair_loads_only_what_it_uses():
    code = (
        "import sys, fieldmark as fm; fm.score([({'a': 1, 'l': [{'b': 2}]}, {'a': 1, 'l': []})]); "
        "print(*(name for name in sys.modules if name.startswith('fieldmark')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = done.stdout.split()
    assert len(loaded) <= 110
    assert not [name for name in loaded if re.search("detection|coco|server|cli", name)]


def test_comparing_a_pair_loads_nothing_of_runs():
    code = "import sys, fieldmark as fm; fm.compare({'a': 1}, {'a': 2}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = done.stdout.split()
    assert len([name for name in loaded if name.startswith("fieldmark")]) <= 85
    unneeded = "numpy|rapidfuzz|statistics|fractions|random|summary|layout|gates"
    assert not [name for name in loaded if re.search(rf"(^|\.)({unneeded})$", name)]


def test_scoring_small_files_by_command_loads_only_what_it_uses(tmp_path):
    for name in ("truth", "found"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "x", "a": 1}\n{"id": "y", "a": 2}\n')
    code = (
        "import sys; from fieldmark.cli.main import main\n"
        "sys.argv = ['fieldmark', 'score', 'truth.jsonl', 'found.jsonl']\n"
        "try: main()\n"
        "finally: print('loaded:', *sys.modules)\n"
    )
    # With these, also if readline sets them in this process, rich prints the table.
    styling = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")
    environment = {name: each for name, each in os.environ.items() if name not in styling}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, check=True, text=True
    )
    loaded = done.stdout.rpartition("loaded:")[2].split()
    assert len([name for name in loaded if name.startswith("fieldmark")]) <= 135
    unneeded = (
        "csv|fractions|numpy.random|random|rapidfuzz|rich|ruamel|scipy|statistics|"
        "fieldmark.cli.github|fieldmark.data.(directories|json_documents|remote_files)|"
        "fieldmark.evaluators|fieldmark.metrics.slices|"
        "fieldmark.report.text_tables|fieldmark.run.remote_runs|fieldmark.store.(notes|reader)"
    )
    assert not [name for name in loaded if re.fullmatch(unneeded, name)]
