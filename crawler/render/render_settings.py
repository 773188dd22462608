"""`RenderSettings`: which pages are opened in a browser, and which browser."""

from dataclasses import dataclass
from typing import Annotated, Literal

from thresher.core.settings import Key

RenderMode = Literal["never", "auto", "always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderSettings:
    """With `render = "auto"` the browser opens only HTML pages that say little without scripts."""

    render: Annotated[
        RenderMode,
        Key('or "auto": a page that says little without scripts is opened in Chromium; or "always"'),
    ] = "never"
    browser: Annotated[str, Key("path of Chromium; searched for if not set")] = ""
    browser_sandbox: Annotated[
        bool,
        Key("false renders even if the system does not let Chromium have its sandbox; see docs/security.md"),
    ] = True
    """Without its sandbox, a page that breaks out of the script engine is confined by the outer walls alone."""
