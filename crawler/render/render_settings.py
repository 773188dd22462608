"""`RenderSettings`: which pages are opened in a browser, which browser, and whether its pictures are archived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from thresher.core import InputError, Url
from thresher.core.settings import Check, Key
from thresher.crawler.reading.rendered_page import BehaviourName
from thresher.crawler.render.behaviours.behaviour_script import Behaviours, BehaviourScript, script_for
from thresher.frontier.policy import rule_of
from thresher.frontier.urls.host_name import host_name

RenderMode = Literal["never", "auto", "always"]


def _by_host(key: str) -> Check:
    """Return the check of a table whose keys name hosts."""
    return Check(lambda rules: {host_name(name, key): rule for name, rule in rules.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSettings:
    """With `render = "auto"` the browser opens only HTML pages that say little without scripts.

    Raise `InputError` if screenshots are wanted and no page is rendered.
    """

    render: Annotated[
        RenderMode,
        Key('or "auto": a page that says little without scripts is opened in Chromium; or "always"'),
    ] = "never"
    render_hosts: Annotated[
        Mapping[str, RenderMode],
        _by_host("crawler.render_hosts"),
        Key("render for that host and those under it", example="[crawler.render_hosts]"),
    ] = field(default_factory=dict)
    browser: Annotated[str, Key("path of Chromium; searched for if not set")] = ""
    browser_sandbox: Annotated[
        bool,
        Key("false renders even if the system does not let Chromium have its sandbox; see docs/security.md"),
    ] = True
    """Without its sandbox, a page that breaks out of the script engine is confined by the outer walls alone."""
    behaviours: Annotated[
        tuple[BehaviourName, ...],
        Key('what is done in a rendered page as a reader would; "autoplay" too; [] for nothing'),
    ] = ("consent", "more", "scroll", "next")
    behaviour_hosts: Annotated[
        Mapping[str, tuple[BehaviourName, ...]],
        _by_host("crawler.behaviour_hosts"),
        Key("behaviours for that host and those under it", example="[crawler.behaviour_hosts]"),
    ] = field(default_factory=dict)
    behaviour_file: Annotated[
        str,
        Key(
            "path of a file with scripts of your own for the pages of some hosts; see docs/guides/rendering.md"
        ),
    ] = ""
    behaviour_scripts: tuple[BehaviourScript, ...] = ()
    """The scripts of that file."""
    screenshot: Annotated[
        bool, Key("true fetches images and fonts of a rendered page, and archives pictures of it")
    ] = False

    def __post_init__(self) -> None:
        if self.screenshot and not self.renders:
            raise InputError(
                'crawler.screenshot = true and crawler.render = "never": no page is opened in a browser; set '
                'crawler.render = "always", or "auto" for pages that need one'
            )

    @property
    def renders(self) -> bool:
        """Whether a page of some host may be rendered."""
        return any(mode != "never" for mode in (self.render, *self.render_hosts.values()))

    def mode(self, host: str) -> RenderMode:
        """Return which pages of a host are rendered."""
        return rule_of(self.render_hosts, host, self.render)

    def behaviours_of(self, url: Url) -> Behaviours:
        """Return what is done in a page that is rendered."""
        return Behaviours(
            names=rule_of(self.behaviour_hosts, url.host, self.behaviours),
            script=script_for(self.behaviour_scripts, url),
        )
