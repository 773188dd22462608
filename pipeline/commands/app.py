"""All commands of `thresher`, in the order in which a project needs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from thresher.core import InputError
from thresher.pipeline.commands import catalog_commands, fleet_commands, frontier_commands
from thresher.pipeline.commands.about.help_command import help_command
from thresher.pipeline.commands.about.version_option import show_version
from thresher.pipeline.commands.annotations.annotate_command import annotate_command
from thresher.pipeline.commands.crawl_commands import crawl, refetch, rescrape, seed
from thresher.pipeline.commands.exports.export_commands import export, export_wacz_command
from thresher.pipeline.commands.frontier_hosts import hosts_command
from thresher.pipeline.commands.ingest_command import ingest
from thresher.pipeline.commands.log import log_command
from thresher.pipeline.commands.options import PROJECT_VARIABLE, GroupedOptions
from thresher.pipeline.commands.project_commands import init, login
from thresher.pipeline.commands.report_commands import (
    qa_command,
    report_command,
    status_command,
    verify_command,
)
from thresher.pipeline.commands.run_command import run
from thresher.pipeline.commands.serve_command import serve_command
from thresher.pipeline.commands.show import show_command
from thresher.pipeline.commands.step_commands import (
    dedup_command,
    judge_command,
    process,
)
from thresher.pipeline.commands.training import train_command
from thresher.pipeline.telemetry.json_log import LOG_FORMAT_VARIABLE, LogFormat
from thresher.pipeline.telemetry.trace_context import command_telemetry
from thresher.pipeline.terminal.output import run_command

PYDANTIC = "Value error, "
"""What Pydantic, with which Typer reads options, puts before the message of a value that is not one of some words."""


class Commands(TyperGroup):
    """All commands, with messages about wrong options as they are meant."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Required by Typer: run the command that was typed."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(PYDANTIC)
            raise


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def thresher(
    context: typer.Context,
    project: Annotated[
        Path | None,
        typer.Option("--project", help="Use the thresher.toml in this directory, for any command."),
    ] = None,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(
            "--log-format",
            envvar=LOG_FORMAT_VARIABLE,
            help="Write log lines on stderr as text, or as one JSON object a line. The default is text.",
        ),
    ] = None,
    as_json: Annotated[  # read before `--version`, wherever the two stand
        bool, typer.Option("--json", is_eager=True, help="With --version: print one JSON object.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool,
        typer.Option(
            "--version",
            callback=show_version,
            help="Show the versions of the program, its formats and its steps, and exit.",
        ),
    ] = False,
) -> None:
    """Turn a list of URLs into training tokens.

    \b
    Example:
      thresher init && thresher run seeds.txt --out out --tokenizer tokenizer.json

    \b
    Exit codes:
      0    done
      1    failed: stored data is damaged, or a result cannot be made
      2    wrong input or configuration, or a server that does not respond; one line says what to do
      3    the crawl is drained, and some of its pages failed
      130  interrupted (Ctrl-C or SIGTERM)
    """
    if as_json:
        raise InputError(f"--json belongs behind the command: thresher {context.invoked_subcommand} --json")
    if project is not None:
        os.environ[PROJECT_VARIABLE] = str(project)
    if log_format is not None:
        os.environ[LOG_FORMAT_VARIABLE] = log_format
    context.with_resource(command_telemetry(context.invoked_subcommand or ""))


app.command(name="init")(init)
app.command(name="seed")(seed)
app.command(name="login")(login)
app.command(name="crawl")(crawl)
app.command(name="rescrape")(rescrape)
app.command(name="refetch")(refetch)
app.command(name="ingest", cls=GroupedOptions)(ingest)
app.command(name="process")(process)
app.command(name="annotate")(annotate_command)
app.command(name="judge")(judge_command)
app.command(name="dedup")(dedup_command)
app.command(name="export")(export)
app.command(name="export-wacz")(export_wacz_command)
app.command(name="qa")(qa_command)
app.command(name="run")(run)
app.command(name="report")(report_command)
app.command(name="status")(status_command)
app.command(name="serve")(serve_command)
app.command(name="verify")(verify_command)
app.command(name="log")(log_command)
app.command(name="show")(show_command)
app.command(name="help")(help_command)
frontier_commands.app.command(name="hosts")(hosts_command)
app.add_typer(
    frontier_commands.app,
    name="frontier",
    help="Change or show what a crawl fetches next.",
)
app.add_typer(
    fleet_commands.app,
    name="fleet",
    help="Run the workers of a crawl, on one machine or on many.",
)
app.add_typer(
    train_command.app,
    name="train",
    help="Train models of quality, languages and perplexity.",
)
app.add_typer(
    catalog_commands.app,
    name="catalog",
    help="Manage the catalog, a cache of the storage.",
)


def main() -> NoReturn:
    """Run a command. Turn every error into one line and an exit code."""
    run_command(app)
