"""Search for inputs that crash the functions that read untrusted data: `make fuzz`.

    python scripts/run_fuzz.py [--seconds 60] [TARGET ...]

The targets in tests/fuzz run with atheris, which mutates the stored inputs and keeps inputs that
reach new code. The compiled modules run with generated input under the address and
undefined-behavior sanitizers. An input that fails is saved next to the stored inputs, so that the
tests fail until the bug is fixed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"
COMPILED: Final = {"kernel": "model"}
"""The compiled modules with their packages."""
MAX_BYTES: Final = 4096
UNIT_SECONDS: Final = 20
"""An input that takes longer, also on a busy machine, is a failure."""
MEMORY_MEGABYTES: Final = 2048


def main() -> int:
    """Run the given targets one after the other; return 1 if any failed."""
    sys.path[:0] = [str(TESTS)]
    parser = argparse.ArgumentParser(description="Search for inputs that crash a target.")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="time per target (60)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        _fuzz_inside(given.targets[0], given.seconds)
    from fuzz.fuzz_targets import TARGETS  # type: ignore[import-not-found]

    known = [*TARGETS, *COMPILED]
    unknown = set(given.targets) - set(known)
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    failed = []
    for name in given.targets or known:
        run = _run_sanitized if name in COMPILED else _fuzz
        done = run(name, given.seconds)
        print(f"{name}: {done or 'ok'}", flush=True)
        failed += [name] if done else []
    print(f"{len(failed)} targets failed" if failed else "no target failed")
    return bool(failed)


def _fuzz(name: str, seconds: int) -> str:
    """Fuzz a target in a process of its own; return its failure."""
    command = [sys.executable, __file__, "--inside", "--seconds", str(seconds), name]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")  # noqa: S603
    if done.returncode:
        return f"failed\n{done.stdout}{done.stderr}"
    last = next(line for line in reversed(done.stderr.splitlines()) if "DONE" in line)
    print(" ".join(last.split()))
    return ""


def _fuzz_inside(name: str, seconds: int) -> None:
    """Fuzz a target; ends this process."""
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["fieldmark"]):
        from fuzz.fuzz_targets import CORPUS, TARGETS
    stored = CORPUS / name
    with tempfile.TemporaryDirectory() as found:
        options = [
            f"-max_total_time={seconds}",
            f"-max_len={MAX_BYTES}",
            f"-timeout={UNIT_SECONDS}",
            f"-rss_limit_mb={MEMORY_MEGABYTES}",
            f"-artifact_prefix={stored}/",
        ]
        atheris.Setup([sys.argv[0], *options, found, str(stored)], TARGETS[name])
        atheris.Fuzz()


def _run_sanitized(name: str, seconds: int) -> str:
    """Run a compiled module with one seed after the other; return its failure."""
    from sanitizing import run_sanitized  # type: ignore[import-not-found]

    script = TESTS / "laws" / f"sanitized_{name}.py"
    source = ROOT / "src" / "fieldmark" / COMPILED[name] / f"_{name}.c"
    seed, end = 1, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as directory:
        while time.monotonic() < end:
            seed += 1
            done = run_sanitized(script, source, Path(directory), 500, seed)
            if done.returncode:
                return f"failed with seed {seed}\n{done.stdout}{done.stderr}"
    print(f"{seed - 1} seeds")
    return ""


if __name__ == "__main__":
    sys.exit(main())
