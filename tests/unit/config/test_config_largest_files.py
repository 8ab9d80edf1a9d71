"""`validate` of the largest allowed files needs little memory and time, whatever they contain."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable

import pytest

from published.command_line import COMMAND, ENVIRONMENT

GIGABYTE = 1 << 30
CPU_SECONDS = 60
"""Ten seconds on a common machine; the limit is generous because it must never fail by chance."""


def rules(row: Callable[[int], str], number: int) -> str:
    return "fields:\n" + "".join(f"  {row(place)}\n" for place in range(number))


LONG_STEP = ".".join(["abcdefghij"] * 190)
CONTENT = {
    "rules-many-fields.yaml": rules(lambda n: f"field_number_{n}_abcd: {{match: fuzzy}}", 24_000),
    "rules-path-with-many-steps.yaml": f"fields:\n  - {{path: {'a.' * 450_000}b}}\n",
    "rules-long-path.json": json.dumps({"fields": {"a" * 900_000: {"match": "exact"}}}),
    "rules-many-long-paths.yaml": rules(lambda n: f"- path: {LONG_STEP}{n}", 440),
    "rules-duplicate-paths.yaml": "fields:\n" + "  - {path: a.b, match: exact}\n" * 16_000,
    "rules-unknown-keys.yaml": rules(lambda n: f"f{n}: {{match: exact, treshold{n}: 1}}", 16_000),
    "rules-unknown-comparators.yaml": rules(lambda n: f"f{n}: {{match: fuzy{n}}}", 24_000),
    "rules-long-names.json": json.dumps(
        {"fields": {f"a{n}": {"match": "fuzzy" * 380 + str(n)} for n in range(500)}}
    ),
    "rules-invalid-paths.yaml": rules(lambda n: f"'a..b{n}': {{match: exact}}", 24_000),
    "rules-wildcards.yaml": rules(lambda n: f"'{'**.' * 150}f{n}': {{match: exact}}", 2_000),
    "rules-aliases.yaml": "a: &a [1, 2]\n" + rules(lambda n: f"f{n}: *a", 90),
    "rules-deep.yaml": f"fields: {'{a: ' * 150_000}1{'}' * 150_000}\n",
    "eval-unknown-keys.yaml": "name: x\n" + "".join(f"casez{n}: 1\n" for n in range(45_000)),
    "eval-duplicate-cases.yaml": "tests:\n"
    + "".join(f"  - {{id: c{n % 9}, expected: {{a: 1}}}}\n" for n in range(11_000)),
    "eval-long-path.yaml": "tests: t.jsonl\nevaluators:\n"
    f"  - {{type: line_items, path: {'a.' * 450_000}b}}\n",
}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTE, GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


@pytest.mark.parametrize("name", CONTENT)
def test_validate_is_bounded(tmp_path, name):
    (tmp_path / name).write_text(CONTENT[name])
    assert (tmp_path / name).stat().st_size <= 1_000_000
    done = subprocess.run(
        [COMMAND, "validate", name],
        cwd=tmp_path,
        env=ENVIRONMENT,
        preexec_fn=_limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 2), done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert len(done.stdout) + len(done.stderr) < 20 * len(CONTENT[name]) + 10_000


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("a." * 200 + "b", "more than 200 steps", id="steps"),
        pytest.param("a" * 4_001, "4,001 characters (limit 4,000)", id="characters"),
    ],
)
def test_path_beyond_a_limit_is_an_error_with_its_line(tmp_path, path, problem):
    (tmp_path / "rules.yaml").write_text(f"fields:\n  - {{path: {path}, match: exact}}\n")
    done = subprocess.run(
        [COMMAND, "validate", "rules.yaml"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("rules.yaml:2:12: invalid path 'a")
    assert problem in done.stderr
    assert len(done.stderr) < 500


@pytest.mark.parametrize("path", [".".join(["a"] * 200), "a" * 4_000])
def test_longest_paths_are_valid(tmp_path, path):
    (tmp_path / "rules.yaml").write_text(f"fields:\n  - {{path: {path}, match: exact}}\n")
    done = subprocess.run([COMMAND, "validate", "rules.yaml"], cwd=tmp_path, env=ENVIRONMENT, check=False)  # fmt: skip
    assert done.returncode == 0
