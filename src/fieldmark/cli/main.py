"""The `fieldmark` command: loads subcommands lazily and turns errors into exit codes."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import click

from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.output import output_error, print_message, write_stdout
from fieldmark.errors import FieldmarkError, RunLockedError, StorageError

__all__ = ["main"]

_COMMANDS: Final = {
    "score": ("score", "Compare two data sets and show what is right, wrong, missing or invented."),
    "eval": ("eval", "Run eval files: evaluators, judges, gates."),
    "diff": ("diff", "Compare two runs: what changed, and whether that may be chance."),
    "improve": ("improve", "Say what to fix first in the extraction, and how it goes wrong."),
    "rescore": ("rescore", "Count the outcomes of a run again, without the inputs."),
    "show": ("show", "Show the worst cases of a run, or one case side by side."),
    "report": ("report", "Write a report of a run: HTML, Markdown, JUnit, tables."),
    "runs": ("runs", "List runs, show one, follow a figure over iterations."),
    "infer": ("infer", "Propose a rules file from the data."),
    "validate": ("validate", "Check eval, rules and strategy files."),
    "schema": ("schema", "Print the JSON Schemas that editors check files with."),
    "import": ("import_", "Write the native form of another tool's eval file."),
    "judge": ("judge", "Answer a code judge's request with a built-in evaluator."),
    "calibrate": ("calibrate", "Measure a judge or comparator against human verdicts."),
    "serve": ("serve", "Serve the web application and the HTTP API on this machine."),
    "demo": ("demo", "Score the bundled sample of real documents."),
}
"""Every command with its module and its line in the help, so that none has to be loaded."""

_CODES: Final[Mapping[type[FieldmarkError], ExitCode]] = {
    RunLockedError: ExitCode.LOCKED,
    StorageError: ExitCode.STORAGE,
}
_DEBUG: Final = "FIELDMARK_DEBUG"
_BUG: Final = (
    "this is a bug in fieldmark, not in your data or configuration ({}). "
    f"Set {_DEBUG}=1 to see where, and please report it."
)

_EPILOG: Final = """\b
Start here:
  fieldmark demo
  fieldmark score truth.jsonl candidate.jsonl
  fieldmark score truth/ candidate/ --min macro_f1_by_attribute=0.9

\b
Exit codes of every command: 0 passed or done, 1 a gate failed, 2 bad input or usage,
  3 evaluation errors, 70 a bug in fieldmark (FIELDMARK_DEBUG=1 shows where),
  74 results or output could not be written, 75 the run is being written by another
  process, 130 interrupted.
"""


class _LazyGroup(click.Group):
    """A group that imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"fieldmark.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from fieldmark.values.text import nearest

            close = nearest(args[0], _COMMANDS)
            hint = f"Did you mean {close}?" if close else f"Commands: {', '.join(_COMMANDS)}."
            ctx.fail(f"Unknown command: {args[0]}. {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from fieldmark.version import VERSION

        click.echo(f"fieldmark {VERSION}")
        ctx.exit()


@click.command(
    cls=_LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def fieldmark() -> None:
    """Mark extracted fields against the truth.

    Compares the JSON that was extracted from documents with the JSON that a person verified, and
    says field by field what is right, wrong, missing or invented.
    """


def main() -> None:
    """Run the command line; errors end in one line and an exit code."""
    with _sigterm_interrupts():
        code = _run_and_report()
    sys.exit(code)


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Treat SIGTERM, which schedulers send, as an interrupt, so that the run can be resumed."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # only the main thread receives signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_and_report() -> int:
    try:
        code = _run()
        write_stdout("")
    except FieldmarkError as error:
        print_message(error, prefix="fieldmark: ")
        codes = (code for kind, code in _CODES.items() if isinstance(error, kind))
        return next(codes, ExitCode.BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        print_message("fieldmark: interrupted")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever is left is a bug
        if os.environ.get(_DEBUG):
            import traceback

            print_message("".join(traceback.format_exception(error)).rstrip("\n"))
        summary = f"{type(error).__name__}: {error}".partition("\n")[0]
        print_message(_BUG.format(summary), prefix="fieldmark: ")
        return ExitCode.BUG
    return code


def _run() -> int:
    try:
        code = fieldmark.main(prog_name="fieldmark", standalone_mode=False)
    except click.ClickException as error:
        text = io.StringIO()
        error.show(text)
        print_message(text.getvalue().rstrip("\n"))
        return ExitCode.BAD_INPUT
    except SystemExit:
        # Click exits with 1 when its help is not read to the end, like a failed gate.
        return ExitCode.OK
    except OSError as error:
        # Commands raise named errors; what is left is the help that click prints.
        raise output_error(error) from error
    return code if isinstance(code, int) else ExitCode.OK
