"""`render`: a page from its template. Every value is made visible (`shown_text.foreign`) and escaped; no template says
otherwise.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from thresher.pipeline.console.web import shown_text
from thresher.pipeline.console.web.sparkline import share_bar, sparkline
from thresher.pipeline.terminal.reasons import describe

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
HEALTH_WORDS = {
    "running": "running",
    "waiting": "waiting",
    "paused": "paused",
    "idle": "no worker runs",
    "drained": "drained",
    "lost": "lost",
}


def render(name: str, /, **values: Any) -> str:
    """Return the page of a template. Raise an error if the template uses a value that is not given."""
    return _environment().get_template(name).render(**values)


def compile_templates() -> None:
    """Compile every template, so that the first page opens as quickly as the others."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(FOLDER / "page_templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_text.foreign,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # an upgrade replaces the files of a console that runs
    )
    found.filters.update(
        number=shown_text.number,
        short=shown_text.short,
        rate=shown_text.rate,
        size=shown_text.size,
        duration=shown_text.duration,
        seconds=shown_text.in_seconds,
        moment=shown_text.moment,
        segment=shown_text.segment,
        long_text=shown_text.long_text,
        web_address=shown_text.web_address,
        describe=lambda reason: shown_text.words(describe(reason)),
        words=shown_text.words,
    )
    found.globals.update(
        share=shown_text.share,
        address=shown_text.address,
        sparkline=sparkline,
        share_bar=share_bar,
        health_words=HEALTH_WORDS,
    )
    return found
