"""`fieldmark plugins`: list what is registered."""

from __future__ import annotations

import click

from fieldmark.analyses.doctor import plugins
from fieldmark.cli.exit_codes import ExitCode
from fieldmark.cli.help import make_command, option
from fieldmark.cli.options import SuggestingChoice, output_options
from fieldmark.cli.output import OutputOptions, print_document
from fieldmark.cli.streams import print_message
from fieldmark.registry import Plugin


@make_command(
    examples=(
        "fieldmark plugins",
        "fieldmark plugins comparators readers",
        "fieldmark plugins --installed --format json",
    ),
    exit_codes=(ExitCode.OK, ExitCode.BAD_INPUT),
)
@click.argument(
    "kinds", metavar="[KINDS]...", nargs=-1, type=SuggestingChoice([kind.value for kind in Plugin])
)
@option("--installed", is_flag=True, help="List plug-ins only, without what is built in.")
@output_options
def command(kinds: tuple[str, ...], *, installed: bool, output: OutputOptions) -> ExitCode:
    """List comparators, evaluators, readers and others that are registered.

    Shows the package that each comes from, and why a plug-in cannot be used. KINDS are comparators,
    aligners, providers, evaluators, targets, safety, readers or exporters.
    """
    found = plugins(kinds, built_in=not installed)
    print_document(found, output)
    failed = [plugin for plugin in found if plugin.error]
    for plugin in failed if output.hides_failures else ():
        print_message(f"fieldmark: {plugin.error}")
    return ExitCode.BAD_INPUT if failed else ExitCode.OK
