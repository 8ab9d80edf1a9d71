"""The hooks in pre-commit itself, the installation of the action, and the image without Docker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ci.composite_action import load
from distributions.environments import ROOT, run

USER = 65534
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
PAGE = """
import http.client, re, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
token = re.search(r"token=(.+)", server.stderr.readline())[1]
def fetch(host):
    connection = http.client.HTTPConnection("127.0.0.1", 8321, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Host": host}
    connection.request("GET", "/api/health", headers=headers)
    return connection.getresponse()
print(fetch("localhost:8321").read().decode())
print(fetch("evil.test").status)
health = subprocess.run(sys.stdin.read().split("\\0"))
server.terminate()
print(health.returncode, server.wait())
"""

ISOLATED = """
ip link set lo up
if [ -n "$3" ]; then  # other users cannot read the directory of Python
    mount --bind "$2" /media
    mount -t tmpfs -o mode=755 tmpfs "$3"
    mkdir -p "$2"
    mount --bind /media "$2"
fi
mount --bind "$1" /mnt
mount -o remount,bind,ro /
mount -t tmpfs tmpfs /tmp
cd /mnt
shift 3
exec "$@"
"""


@pytest.fixture
def project(tmp_path):
    """A git repository with the files of the starter project, and faulty ones."""
    starter = ROOT / "src/fieldmark/starter"
    for name in ("truth.jsonl", "predictions.jsonl", "rules.yaml", "invoices.eval.yaml"):
        (tmp_path / name).write_bytes((starter / name).read_bytes())
    (tmp_path / "bad-rules.yaml").write_text("fields: [{path: total, match: fuzy}]\n", "utf-8")
    rows = '{"id": 1, "total": 5}\n{"id": 1, "total": "6"}\n'
    (tmp_path / "bad-truth.jsonl").write_text(rows, "utf-8")
    run("git", "init", "--quiet", cwd=tmp_path)
    run("git", "add", ".", cwd=tmp_path)
    return tmp_path


def test_hooks_in_pre_commit(source, tools, project):
    run(tools / "pre-commit", "validate-manifest", source / ".pre-commit-hooks.yaml")
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tools.parent / "pre-commit")}

    def try_repo(*files):
        words = [tools / "pre-commit", "try-repo", source, "--verbose", "--files", *files]
        done = subprocess.run(
            words, cwd=project, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    code, output = try_repo("truth.jsonl", "predictions.jsonl", "rules.yaml", "invoices.eval.yaml")
    assert code == 0, output
    assert "rules.yaml: valid rules file, 6 rules" in output
    assert "invoices.eval.yaml: valid eval file" in output
    assert "no findings in 3 documents" in output
    code, output = try_repo("bad-rules.yaml", "bad-truth.jsonl", "truth.jsonl", "rules.yaml")
    assert code == 1
    assert "did you mean 'fuzzy'?" in output
    assert "1 id is used again" in output


def test_action_installs_itself(source, tmp_path):
    step = next(step for step in load("action.yml")["runs"]["steps"] if step.get("id") == "install")
    (tmp_path / "output").touch()
    environment = {
        **os.environ,
        "PATH": PATH,
        "EXTRAS": "phone",
        "GITHUB_ACTION_PATH": str(source),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path),
    }
    run("bash", "-eo", "pipefail", "-c", step["run"], env=environment, cwd=tmp_path)
    python = (tmp_path / "output").read_text("utf-8").strip().removeprefix("python=")
    found = json.loads(run(python, "-m", "fieldmark", "doctor", "--format", "json", cwd=tmp_path))
    status = {check["name"]: check["status"] for check in found["checks"]}
    assert (status["kernel"], status["extra phone"]) == ("ok", "ok")
    assert str(tmp_path) in run(python, "-c", "import fieldmark; print(fieldmark.__file__)")


@pytest.fixture
def instructions(tools):
    """The instructions of the Dockerfile, by name."""
    parse = "import dockerfile_parse, json, sys; parser = dockerfile_parse.DockerfileParser(sys.argv[1])"
    show = "print(json.dumps([[each['instruction'], each['value']] for each in parser.structure]))"
    listed = json.loads(run(tools / "python", "-c", f"{parse}; {show}", ROOT / "Dockerfile"))
    found: dict[str, list[str]] = {}
    for name, value in listed:
        found.setdefault(name, []).append(value)
    return found


@pytest.fixture
def public():
    """A directory that other users can read, and that is not below /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_image_in_a_plain_directory(source, instructions, public):
    """Build as the Dockerfile does, and start its command as another user.

    The root file system is read-only, except /tmp, and the network is one of its own.
    """
    assert os.geteuid() == 0, "a read-only file system and another user need root"
    context, opt, data = (public / name for name in ("context", "opt", "data"))
    context.mkdir()
    data.mkdir()
    kept = [line[1:] for line in (source / ".dockerignore").read_text().split() if line[0] == "!"]
    copied = [
        name
        for value in instructions["COPY"]
        if not value.startswith("--from")
        for name in value.split()[:-1]
    ]
    assert sorted(copied) == sorted(kept)
    run("cp", "-R", *(source / name for name in copied), context)
    [arguments] = instructions["ARG"]
    install = next(value for value in instructions["RUN"] if "venv" in value)
    environment = {**os.environ, "PATH": PATH, "EXTRAS": arguments.partition("=")[2]}
    command = install.replace("/opt/fieldmark", str(opt)).replace("--no-cache-dir", "")
    run("sh", "-ec", command, cwd=context, env=environment)
    assert instructions["USER"] == ["10001"]
    words = json.loads(instructions["ENTRYPOINT"][0]) + json.loads(instructions["CMD"][0])
    [health] = instructions["HEALTHCHECK"]
    check = json.loads(health.partition(" CMD ")[2])
    base = Path(sys.base_prefix)
    closed = [each for each in base.parents if not each.stat().st_mode & 0o001]
    done = subprocess.run(
        [
            "unshare", "--mount", "--net", "sh", "-ec", ISOLATED, "sh",
            data, base, closed[-1] if closed else "",
            "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
            "python", "-c", PAGE, *words,
        ],
        input="\0".join(check),
        env={"PATH": f"{opt}/bin:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    health, foreign, ended = done.stdout.splitlines()
    assert json.loads(health)["status"] == "ok"
    assert foreign == "403"
    assert ended == "0 0"
