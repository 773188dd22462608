"""`BehaviourScript`: what a user wants done in the pages of some hosts, from a declarative file. Pure.

The file is TOML. It has scripts; of those that fit a page the first one runs:

    [[script]]
    name = "catalogue"
    hosts = ["shop.example.org"]       # and those under it
    path = "/list/*"                   # every page if it is left out
    steps = [
        {fill = "input[name=q]", text = "lamps"},
        {click = "#all"},
        {wait = ".result"},
        {repeat = 20, steps = [{click = ".next"}, {scroll = "end"}]},
    ]

A step has one action. `click`, `fill` and `scroll` name an element by a CSS selector; `scroll = "end"` goes to the end
of the page. `wait` waits until there is such an element, or so many seconds of the page's clock.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from thresher.core import InputError, Url
from thresher.crawler.reading.rendered_page import BehaviourName
from thresher.frontier.policy import rule_of
from thresher.frontier.urls.host_name import host_name

Action = Literal["click", "fill", "wait", "scroll", "repeat"]
MAX_REPEATS = 1_000
MAX_WAIT_S = 60.0
MAX_DEPTH = 3
"""Repeats within repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a script."""

    action: Action
    selector: str = ""
    """Of the element; `end` for the end of the page; empty if the step needs none."""
    text: str = ""
    """What is filled in."""
    seconds: float = 0.0
    """Of the page's clock, to wait at most."""
    times: int = 1
    steps: tuple["Step", ...] = ()
    """What is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourScript:
    """What is done in the pages of some hosts."""

    name: str
    hosts: tuple[str, ...]
    path: str
    """Pattern of the page's path, with `*` and `?`."""
    steps: tuple[Step, ...]
    digest: str
    """The first digits of the SHA-256 of the steps, so that a record says which version of the script ran."""

    def fits(self, url: Url) -> bool:
        """Return whether the script is for a page."""
        is_host = rule_of(dict.fromkeys(self.hosts, True), url.host, default=False)
        return is_host and fnmatchcase(urlsplit(url.text).path, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviours:
    """What is done in one page."""

    names: tuple[BehaviourName, ...] = ()
    script: BehaviourScript | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is done."""
        return not self.names and self.script is None


def script_for(scripts: Iterable[BehaviourScript], url: Url) -> BehaviourScript | None:
    """Return the script that runs in a page."""
    return next((script for script in scripts if script.fits(url)), None)


def parse_scripts(text: str) -> tuple[BehaviourScript, ...]:
    """Return the scripts of a file. Raise `InputError` if one is wrong, with its name and the step."""
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}") from None
    scripts = body.pop("script", None)
    if body or not isinstance(scripts, list) or not all(isinstance(each, dict) for each in scripts):
        raise InputError("write scripts as tables [[script]], and nothing else")
    return tuple(_script(each, number) for number, each in enumerate(scripts, start=1))


def _script(table: Mapping[str, Any], number: int) -> BehaviourScript:
    name = table.get("name")
    if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
        raise InputError(
            f'script {number}: write a name of letters, digits, "-" and "_", such as name = "list"'
        )
    where = f"script {name}"
    if unknown := set(table) - {"name", "hosts", "path", "steps"}:
        raise InputError(f"{where}: unknown key {min(unknown)}; it has name, hosts, path and steps")
    hosts, path, steps = table.get("hosts"), table.get("path", "*"), table.get("steps")
    if not isinstance(hosts, list) or not hosts or not all(isinstance(host, str) for host in hosts):
        raise InputError(f'{where}: write its hosts, such as hosts = ["shop.example.org"]')
    if not isinstance(path, str) or not path.startswith(("/", "*")):
        raise InputError(f'{where}: path is a pattern that begins with "/", such as "/list/*"')
    return BehaviourScript(
        name=name,
        hosts=tuple(host_name(host, f"{where}: hosts") for host in hosts),
        path=path,
        steps=_steps(steps, where, depth=0),
        digest=sha256(repr(steps).encode()).hexdigest()[:8],
    )


def _steps(steps: object, where: str, *, depth: int) -> tuple[Step, ...]:
    if not isinstance(steps, list) or not steps:
        raise InputError(f'{where}: write its steps, such as steps = [{{click = "#more"}}]')
    if depth > MAX_DEPTH:
        raise InputError(f"{where}: at most {MAX_DEPTH} repeats may lie within each other")
    return tuple(_step(each, f"{where}, step {n}", depth=depth) for n, each in enumerate(steps, start=1))


def _step(table: object, where: str, *, depth: int) -> Step:
    actions = [name for name in get_args(Action) if isinstance(table, dict) and name in table]
    if not isinstance(table, dict) or len(actions) != 1:
        raise InputError(f"{where}: write one action, one of {', '.join(get_args(Action))}")
    action = cast("Action", actions[0])
    more = {"fill": {"text"}, "repeat": {"steps"}}.get(action, set())
    if set(table) != {action, *more}:
        keys = " and ".join((action, *more))
        raise InputError(f"{where}: this step has {keys}, and nothing else")
    value = table[action]
    if action == "repeat":
        if type(value) is not int or not 1 <= value <= MAX_REPEATS:
            raise InputError(f"{where}: repeat is a number from 1 to {MAX_REPEATS}")
        return Step(action=action, times=value, steps=_steps(table["steps"], where, depth=depth + 1))
    if action == "wait" and type(value) in (int, float):
        if not 0 < value <= MAX_WAIT_S:
            raise InputError(f"{where}: wait is a selector, or seconds up to {MAX_WAIT_S:g}")
        return Step(action=action, seconds=float(value))
    text = table.get("text", "")
    if not isinstance(value, str) or not value.strip() or not isinstance(text, str):
        raise InputError(f'{where}: {action} names an element by a CSS selector, such as {action} = "#list"')
    return Step(action=action, selector=value, text=text, seconds=MAX_WAIT_S if action == "wait" else 0.0)
