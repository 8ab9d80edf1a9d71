"""What importing the package, and starting commands, loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    "PIL", "aiohttp", "anyio", "babel", "fastapi", "fsspec", "httpx", "mcp", "model2vec", "openpyxl", "pandas",
    "phonenumbers", "polars", "pyarrow", "pydantic", "pypdfium2", "ray", "s3fs", "shapely", "uvicorn",
}  # fmt: skip
"""What optional dependencies provide."""
AT_EXIT = "import atexit, sys; atexit.register(lambda: print('loaded:', *sys.modules))"
COMMAND = "from fieldmark.cli.main import main; sys.argv[1:] = {!r}; main()"


def output_of(program, *options, cwd=None):
    """Return the words that a program prints; it must not print warnings."""
    command = [sys.executable, *options, "-c", program]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_importing_the_package_loads_no_other_module_and_has_no_side_effects():
    program = (
        "import sys; before = {*sys.modules}; import fieldmark; print(*{*sys.modules} - before)"
    )
    loaded = output_of(program, "-I", "-X", "dev", "-W", "error")
    others = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert others == {"fieldmark"}


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        pytest.param(COMMAND.format(["--help"]), {"numpy", "scipy"}, id="help"),
        pytest.param(COMMAND.format(["--version"]), {"numpy", "scipy"}, id="version"),
        pytest.param("import fieldmark as fm; fm.compare({'a': 1}, {'a': 2})", {"scipy"}, id="compare"),
        pytest.param("import fieldmark as fm; fm.score([({'a': 1}, {'a': 2})])", {"scipy"}, id="score-pairs"),
        pytest.param(
            COMMAND.format(["score", "truth.jsonl", "found.jsonl", "--quiet"]), {"scipy"}, id="score-files"
        ),
    ],
)  # fmt: skip
def test_start_loads_no_optional_or_heavy_library_that_it_does_not_use(code, unneeded, tmp_path):
    for name in ("truth", "found"):
        (tmp_path / f"{name}.jsonl").write_text('{"id": "x", "a": 1}\n{"id": "y", "a": 2}\n')
    printed = output_of(f"{AT_EXIT}; {code}", cwd=tmp_path)
    loaded = {*printed[printed.index("loaded:") :]}
    assert "fieldmark" in loaded
    assert not loaded & (EXTRAS | unneeded)
