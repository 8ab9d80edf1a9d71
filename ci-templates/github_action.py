"""The steps of the GitHub action: run fieldmark, and comment on the pull request.

`action.yml` calls `run` and then `comment`, with its inputs as environment variables. The variables
and files of GitHub are described in the documentation of its workflows.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Any, Final
from urllib.error import HTTPError, URLError

from fieldmark.analyses.diff import diff
from fieldmark.analyses.report import write_report
from fieldmark.analyses.runs import annotate, remove_run, runs
from fieldmark.errors import FieldmarkError
from fieldmark.report.render import document_markdown
from fieldmark.runs.eval_file import load_eval
from fieldmark.runs.gates import resolve_baseline
from fieldmark.runs.run_options import complete_options
from fieldmark.values.escape import for_markdown, visible

MAX_COMMENT: Final = 65_000
"""GitHub rejects comments of more than 65,536 characters."""
MAX_MESSAGES: Final = 20
TOP: Final = 25
PAGE: Final = 100
SECONDS: Final = 30
SUMMARY: Final = "summary.json"
COMMENT: Final = "comment.md"


class InputError(Exception):
    """An input of the action is invalid."""


def text_input(name: str) -> str:
    """Return an input that must be one line."""
    text = os.environ.get(f"INPUT_{name}", "").strip()
    if "\n" in text or "\r" in text:
        raise InputError(f"input {name.lower()} must be one line")
    return text


def list_input(name: str) -> list[str]:
    """Return the lines of an input."""
    lines = os.environ.get(f"INPUT_{name}", "").splitlines()
    return [line.strip() for line in lines if line.strip()]


def name_input() -> str:
    """Return the name of the comment, the artifact and the cache."""
    name = text_input("NAME")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or not name.strip("."):
        raise InputError(
            f"input name must consist of letters, digits, dots, dashes and underscores: {name!r}"
        )
    return name


def write_output(**values: str) -> None:
    """Set outputs of the step."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name.replace('_', '-')}={value}\n" for name, value in values.items())


# --- the run -------------------------------------------------------------------------------------


def run() -> None:
    """Run the command, write its reports, and tag a run that passed.

    The exit code of the command is an output, so that the reports of a failed run are uploaded.
    """
    name, evaluation, truth = name_input(), text_input("EVAL"), text_input("TRUTH")
    if bool(evaluation) == bool(truth):
        raise InputError("one of the inputs truth and eval is required")
    root = Path(text_input("RUNS"))
    attempt = f"{os.environ['GITHUB_RUN_ID']}-{os.environ['GITHUB_RUN_ATTEMPT']}"
    out = root / f"{name}-{attempt}"
    reports = Path(os.environ["RUNNER_TEMP"]) / f"fieldmark-{name}"
    reports.mkdir(parents=True, exist_ok=True)
    baseline, no_baseline = find_baseline(text_input("BASELINE"), out, evaluation)
    command = [sys.executable, "-m", "fieldmark", *arguments(evaluation, out, baseline)]
    code, messages = run_command(command)
    sections: list[str] = []
    if (out / SUMMARY).is_file():
        annotate(out, name=name)
        sections += write_reports(out, reports, baseline)
    else:
        sections.append(f"### {name}: no result (exit code {code})\n\n{preformatted(messages)}")
    if no_baseline:
        print(f"::notice title=no baseline::{visible(no_baseline)}")
        sections.append(f"No comparison with a baseline: {for_markdown(no_baseline)}")
    comment = "\n\n".join(sections)
    (reports / COMMENT).write_text(comment, "utf-8")
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.write(f"{comment}\n")
    tag = text_input("TAG")
    tagged = bool(tag) and code == 0
    if tagged:
        if text_input("CACHE") == "true":
            # The cache has one run for each tag.
            for entry in runs(root, tags=[tag], archived=True).entries:
                remove_run(entry.id, root)
        annotate(out, add=[tag])
    write_output(
        exit_code=str(code),
        run=str(out) if (out / SUMMARY).is_file() else "",
        reports=str(reports),
        tagged=str(tagged).lower(),
    )


def arguments(evaluation: str, out: Path, baseline: Path | None) -> list[str]:
    """Return the arguments of the command."""
    given = ["--out", str(out), "--format", "markdown"]
    drops, named = list_input("MAX_DROP"), text_input("BASELINE")
    if drops and named:
        # The command says why a baseline cannot be found.
        given += ["--baseline", named if baseline is None else str(baseline)]
    for option, values in (
        ("--rules", [text_input("RULES")]),
        ("--min", list_input("MIN")),
        ("--max", list_input("MAX")),
        ("--max-drop", drops),
    ):
        for value in filter(None, values):
            given += [option, value]
    if text_input("VALUES") == "false":
        given.append("--no-values")
    sources = [evaluation] if evaluation else [text_input("TRUTH"), text_input("PREDICTIONS")]
    command = "eval" if evaluation else "score"
    return [command, *given, *list_input("ARGS"), "--", *filter(None, sources)]


def run_command(command: list[str]) -> tuple[int, list[str]]:
    """Run a command; return its exit code and its messages, which are also printed."""
    with subprocess.Popen(  # noqa: S603 - arguments are not passed to a shell
        command, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
    ) as process:
        messages: list[str] = []
        for line in process.stderr or ():
            print(line, end="", file=sys.stderr, flush=True)
            if not line.startswith("::"):  # a command of GitHub, for an annotation
                messages.append(line.rstrip("\n"))
    return process.returncode, messages


def find_baseline(name: str, out: Path, evaluation: str) -> tuple[Path | None, str]:
    """Return the directory of the baseline as the command finds it, or why there is none."""
    if not name:
        return None, ""
    try:
        spec = load_eval(evaluation).name if evaluation else ""
        options = resolve_baseline(complete_options(baseline=name, out=out, file=evaluation), spec)
    except FieldmarkError as error:
        return None, str(error)
    return Path(str(options["baseline"])), ""


def write_reports(out: Path, reports: Path, baseline: Path | None) -> Iterator[str]:
    """Write the reports of a run, and yield the parts of the comment."""
    values = text_input("VALUES") != "false"
    short = write_report(out, reports / "short.md", kind="markdown-short", values=values)
    yield short.read_text("utf-8")
    short.unlink()
    against = None
    if baseline is not None:
        title = f"#### Compared with {for_markdown(text_input('BASELINE'))}\n\n"
        try:
            yield title + document_markdown(diff(baseline, out).document(top=TOP))
            against = baseline
        except FieldmarkError as error:
            yield f"{title}Not compared: {for_markdown(str(error))}"
    write_report(out, reports / "report.html", against=against, values=values)
    write_report(out, reports / "junit.xml", kind="junit", values=values)
    shutil.copytree(out, reports / "run", dirs_exist_ok=True)


def preformatted(messages: list[str]) -> str:
    """Return the last messages as text in which no markup has a meaning."""
    shown = html.escape("\n".join(map(visible, messages[-MAX_MESSAGES:])))
    return f"<pre>\n{shown}\n</pre>"


# --- the comment ---------------------------------------------------------------------------------


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, which would send the token elsewhere."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Let a redirect be an error."""


def comment() -> None:
    """Create the comment on the pull request, or update it if there is one.

    A comment that cannot be written is a warning: the result of the run does not depend on it.
    """
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("no pull request to comment on")
        return
    marker = f"<!-- fieldmark {name_input()} -->"
    text = (Path(os.environ["REPORTS"]) / COMMENT).read_text("utf-8")
    text = text.replace("@", "@\N{ZERO WIDTH SPACE}")  # keys of documents must not notify anyone
    if len(text) > MAX_COMMENT:
        whole = text[:MAX_COMMENT].rpartition("\n")[0]
        text = f"{whole}\n\n… shortened; the summary of the job has the rest"
    body = {"body": f"{marker}\n{text}"}
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    try:
        own = own_comment(f"{repository}/issues/{number}/comments", marker)
        if own is None:
            written = request("POST", f"{repository}/issues/{number}/comments", body)
        else:
            written = request("PATCH", f"{repository}/issues/comments/{own}", body)
    except HTTPError as error:
        hint = ""
        if error.code in {403, 404}:
            hint = "; the job needs the permission 'pull-requests: write'"
            hint += ", which pull requests from forks do not have"
        print(f"::warning title=no comment::GitHub answered {error.code}{hint}")
    except (URLError, TimeoutError, ValueError) as error:
        print(f"::warning title=no comment::{visible(str(error))}")
    else:
        print(f"{'created' if own is None else 'updated'} {visible(str(written['html_url']))}")


def own_comment(url: str, marker: str) -> int | None:
    """Return the id of the comment that starts with the marker and has the author of the token.

    Others could write the same marker, and then edit what is written to their comment.
    """
    query = {"query": "query { viewer { login } }"}
    answer = request("POST", os.environ["GITHUB_GRAPHQL_URL"], query)
    author = account(answer["data"]["viewer"])
    page = 0
    while True:
        page += 1
        found = request("GET", f"{url}?per_page={PAGE}&page={page}")
        for each in found:
            if each["body"].startswith(marker) and account(each["user"]) == author:
                return int(each["id"])
        if len(found) < PAGE:
            return None


def account(user: dict[str, Any] | None) -> str:
    """Return the name of an account, which has a suffix in only one of the interfaces."""
    return "" if user is None else str(user["login"]).removesuffix("[bot]")


def request(method: str, url: str, value: object = None) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON response to a request."""
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {text_input('TOKEN')}",
        "Content-Type": "application/json",
        "User-Agent": "fieldmark",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if value is None else json.dumps(value).encode()
    sent = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - GitHub's URL
    with urllib.request.build_opener(NoRedirect).open(sent, timeout=SECONDS) as response:
        return json.load(response)


if __name__ == "__main__":
    try:
        {"run": run, "comment": comment}[sys.argv[1]]()
    except InputError as problem:
        sys.exit(f"::error title=fieldmark::{visible(str(problem))}")
