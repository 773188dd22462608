"""`SessionSettings`: at which hosts which crawls are logged in, and with which profiles."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from thresher.core import InputError
from thresher.core.settings import Check, Key
from thresher.crawler.sessions.profile_file import profile_path
from thresher.frontier.urls.host_name import host_name

LOGIN_ENDED = "login_ended"
"""Reason for which the frontier holds a host whose login has ended."""
_KEY = "crawler.sessions"
_LISTS, _TEXTS = ("profiles", "crawls"), ("ended_text", "ended_selector")


def _tables(tables: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return {host_name(name, _KEY): _table(f'{_KEY}."{name}"', table) for name, table in tables.items()}


def _table(where: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    known = (*_LISTS, *_TEXTS)
    if unknown := set(table) - set(known):
        raise InputError(f"{where}: unknown key {min(unknown)!r}; there are {', '.join(known)}")
    for key in _LISTS:
        names = table.get(key)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(f'{where}: {key} must be a list of names, such as ["main"]')
    for name in table["profiles"]:
        profile_path(Path(), name)  # raises if it is the name of no file
    if not all(isinstance(table.get(key, ""), str) for key in _TEXTS):
        raise InputError(f"{where}: {' and '.join(_TEXTS)} must be strings")
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """`sessions` has a table for each host: `profiles`, of which the first is used until it is retired; the names of
    the `crawls` that are logged in; and, if they are needed, `ended_text` or `ended_selector` (CSS), which only pages
    have that the host shows to somebody who is not logged in.
    """

    sessions: Annotated[
        Mapping[str, Mapping[str, Any]],
        Check(_tables),
        Key(
            "logins at that host and those under it: profiles, crawls, ended_text, ended_selector; see the docs",
            example='[crawler.sessions."shop.example.org"]',
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLogin:
    """The login of one crawl at one host. Can be pickled, and holds no secret."""

    host: str
    profiles: tuple[Path, ...]
    """The files of the profiles, in the order of their use."""
    ended_text: str = ""
    ended_selector: str = ""


def host_logins(settings: SessionSettings, crawl: str, directory: Path) -> tuple[HostLogin, ...]:
    """Return the logins of a crawl of the project in `directory`: a crawl that no table names has none."""
    return tuple(
        HostLogin(
            host=host,
            profiles=tuple(profile_path(directory, name) for name in table["profiles"]),
            ended_text=table.get("ended_text", ""),
            ended_selector=table.get("ended_selector", ""),
        )
        for host, table in settings.sessions.items()
        if crawl in table["crawls"]
    )
