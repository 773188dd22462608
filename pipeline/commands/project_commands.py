"""`thresher init`, `login`: create a project and its configuration, and the profiles that its crawls log in with.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    JsonOption,
    ProjectOption,
)
from thresher.pipeline.terminal.output import print_result


def init(
    directory: Annotated[
        Path, typer.Argument(help="Directory of the project. It is created if it does not exist.")
    ] = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write a commented thresher.toml.

    An existing thresher.toml is not changed.

    \b
    Example:
      thresher init my-crawl
    """
    from thresher.pipeline.new_project import create

    path = create(directory)
    print_result(as_json, {"wrote": str(path)}, f"wrote {path}; set project.contact in it before you crawl")


def login(
    url: Annotated[str, typer.Argument(help="Address of the site's login page.")],
    profile: Annotated[
        str,
        typer.Option("--profile", help="Save the login under this name. The default is the host of the URL."),
    ] = "",
    import_: Annotated[
        Path | None,
        typer.Option(
            "--import", help="Take the login from this file, a storage state of Playwright, instead."
        ),
    ] = None,
    form: Annotated[
        bool,
        typer.Option(
            "--form",
            help="Fill in the form of the page: with THRESHER_LOGIN_USER and THRESHER_LOGIN_PASSWORD, or with what you "
            "type.",
        ),
    ] = False,
    headless: Annotated[
        bool, typer.Option("--headless", help="Open no window. Needs --form, because nobody can type.")
    ] = False,
    user_agent: Annotated[
        str,
        typer.Option(
            "--user-agent",
            help="Log in and crawl with this User-Agent. The default is the crawl's own, which names the contact.",
        ),
    ] = "",
    proxy: Annotated[
        str,
        typer.Option(
            "--proxy",
            help="Log in and crawl through this proxy, such as socks5://host:port. env:NAME takes it from that "
            "variable. The default is crawler.proxy.",
        ),
    ] = "",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Save a login at a site as an encrypted profile.

    The profile lies in profiles/ of the project. Its key is THRESHER_PROFILE_KEY, or in the file that
    THRESHER_PROFILE_KEY_FILE names; without either, the command makes a key in your configuration directory.
    See docs/guides/login.md.

    \b
    Example:
      thresher login https://shop.example.org/login
      thresher login https://shop.example.org/login --headless --form
      thresher login https://shop.example.org/login --import state.json
    """
    from thresher.pipeline.login import LoginOptions, save_login
    from thresher.pipeline.open_project import OpenProject

    options = LoginOptions(
        url=url,
        profile=profile,
        imported=import_,
        is_form=form,
        is_headless=headless,
        user_agent=user_agent,
        proxy=proxy,
    )
    saved = save_login(OpenProject.at(project).config, options)
    print_result(as_json, saved.body, "\n".join(saved.lines))
