"""Writes docs/reference/commands.md and configuration.md from the code; with --check, fails where they differ."""

import dataclasses
import json
import sys
from pathlib import Path

import click
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipeline import config
from pipeline.cli import app

REFERENCE = Path(__file__).parent / "reference"


def commands() -> str:
    """Every command with its help, as `--help` says it at 96 columns."""
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group)
    context = click.Context(group, info_name="thresher")
    parts = ["# Commands\n", "Generated from the code by `make docs`.\n", _help(group, context)]
    for name in sorted(group.commands):
        command = group.commands[name]
        parts += [f"## {name}\n", _help(command, click.Context(command, info_name=name, parent=context))]
    return "\n".join(parts)


def _help(command: click.Command, context: click.Context) -> str:
    options = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None and isinstance(parameter, click.Argument):
            record = (parameter.make_metavar(context), getattr(parameter, "help", "") or "")
        if record is not None:
            options.append(f"| `{record[0].replace('|', ' ')}` | {' '.join(record[1].split())} |")
    usage = f"```\n{command.get_usage(context)}\n```"
    return "\n".join(
        [" ".join((command.help or "").split()), "", usage, "", "| parameter | |", "|---|---|", *options, ""]
    )


def keys() -> str:
    """Every key of thresher.toml with its default."""
    lines = ["# thresher.toml\n", "Generated from the code by `make docs`. An unknown key is an error.\n"]
    for section, kind in config.SECTIONS.items():
        lines += [
            f"## [{section}]\n",
            f"{' '.join((kind.__doc__ or '').split())}\n",
            "| key | default |",
            "|---|---|",
        ]
        for field in dataclasses.fields(kind):
            lines.append(f"| `{field.name}` | `{json.dumps(field.default)}` |")
        lines.append("")
    lines += ["## As `thresher init` writes it\n", "```toml", config.TEMPLATE.rstrip(), "```", ""]
    return "\n".join(lines)


def main() -> int:
    """Write, or compare."""
    stale = []
    for path, text in ((REFERENCE / "commands.md", commands()), (REFERENCE / "configuration.md", keys())):
        if "--check" in sys.argv:
            stale += [str(path)] if not path.exists() or path.read_text() != text else []
        else:
            path.write_text(text)
    for path in stale:
        sys.stderr.write(f"{path} is not what the code says; run `make docs`\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
