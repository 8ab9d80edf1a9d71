"""The parts of scripts that need no page, tested in Node.js."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import fieldmark as fm

HERE = Path(__file__).parent
SOURCE = Path(fm.__file__).parent
FOLDERS = (SOURCE / "report" / "html" / "assets", SOURCE / "web" / "static", HERE)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """All scripts and their tests in one directory, as the server provides them."""
    directory = tmp_path_factory.mktemp("scripts")
    (directory / "package.json").write_text('{"type": "module"}', "utf-8")
    for path in (path for folder in FOLDERS for path in folder.glob("*.js")):
        shutil.copy(path, directory)
    return directory


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("*.test.js")))
def test_script(scripts, name):
    done = subprocess.run(
        ["node", "--test", name], cwd=scripts, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# tests 0" not in done.stdout
