"""`thresher help`: the guides and the help of commands, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from thresher.core import InputError
from thresher.pipeline.commands.about.completion import complete_topics
from thresher.pipeline.terminal.output import echo


def help_command(
    context: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            help="Topic of a guide, or a command. The default lists the topics.",
            autocompletion=complete_topics,
        ),
    ] = None,
) -> None:
    """Show a guide, or the help of a command.

    If a command and a guide have the same name, both are shown. A terminal shows a guide page by page, with the
    program that PAGER names; the default is less.

    \b
    Example:
      thresher help
      thresher help first-crawl
      thresher help frontier hosts
    """
    import difflib

    from thresher.pipeline.commands.about.guides import read_guide, topics
    from thresher.pipeline.terminal.markdown_output import print_markdown

    root = context.find_root()
    known = topics()
    if not topic:
        echo("\n".join(_list(known)))
        return
    name = " ".join(topic)
    found = _command_help(root, topic)
    if found is not None:
        echo(found)
    if name in known:
        if found is not None:
            echo("")
        print_markdown(read_guide(name))
    elif found is None:
        (nearest,) = difflib.get_close_matches(name, [*known, *_command_names(root)], n=1, cutoff=0)
        raise InputError(
            f"help {name}: neither a guide nor a command has this name; the nearest is `thresher help {nearest}`, and "
            "`thresher help` lists all guides"
        )


def _list(known: dict[str, str]) -> Iterator[str]:
    width = max(map(len, known))
    yield "Guides; `thresher help TOPIC` shows one:\n"
    yield from (f"  {topic:{width}}  {title}" for topic, title in known.items())
    yield "\n`thresher help COMMAND` shows the options of a command; `thresher --help` lists the commands."


def _command_help(root: Any, words: list[str]) -> str | None:
    """Return what `--help` of a command prints; None if there is no such command."""
    context, command = root, root.command
    for word in words:
        command = command.get_command(context, word) if isinstance(command, TyperGroup) else None
        if command is None:
            return None
        context = command.context_class(command, info_name=word, parent=context)
    text: str = command.get_help(context)
    return text


def _command_names(root: Any) -> Iterator[str]:
    for name, command in root.command.commands.items():
        yield name
        if isinstance(command, TyperGroup):
            yield from (f"{name} {below}" for below in command.commands)
