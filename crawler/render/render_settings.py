"""`RenderSettings`: which pages are opened in a browser, which browser, and whether its pictures are archived."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from thresher.core import InputError
from thresher.core.settings import Check, Key
from thresher.frontier.policy import rule_of
from thresher.frontier.urls.host_name import host_name

RenderMode = Literal["never", "auto", "always"]


def _hosts(rules: Mapping[str, RenderMode]) -> Mapping[str, RenderMode]:
    return {host_name(name, "crawler.render_hosts"): mode for name, mode in rules.items()}


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
        Check(_hosts),
        Key("render for that host and those under it", example="[crawler.render_hosts]"),
    ] = field(default_factory=dict)
    browser: Annotated[str, Key("path of Chromium; searched for if not set")] = ""
    browser_sandbox: Annotated[
        bool,
        Key("false renders even if the system does not let Chromium have its sandbox; see docs/security.md"),
    ] = True
    """Without its sandbox, a page that breaks out of the script engine is confined by the outer walls alone."""
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
