"""A site that attacks whoever looks at it in the console, and a project that has crawled it.

Every injection would end in a dialog, in a request to `/leak...` of the site, or in a property of the window.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.crawler.server import Server, page
from tests.pipeline.crawl_projects import crawl_in_process, project_at, seed_urls
from thresher.pipeline import recipe
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file

WORDS = (
    "The harbour lay quiet in the morning, and the boats that had come in during the night were tied up along the wall. "
    "A man walked down the steps with a basket, and he spoke to the people who were mending their nets in the sun. "
)
TEXT = "".join(
    f"<p>{WORDS} This is the paragraph number {number} of this story.</p>\n" for number in range(12)
)
MORE_WORDS = (
    "In the valley beyond the hills there is a mill which has not turned for many years, because the river that drove it "
    "was led into the town. Children play on its wheel, and they say that it will turn again when the snow is deep. "
)
MORE_TEXT = "".join(f"<p>{MORE_WORDS} This is part {number} of what they tell.</p>\n" for number in range(12))
SCRIPT = "<script>window.ran=1;alert(1);fetch('/leak-script')</script>"
BREAKOUT = (
    "\"'></title></textarea></pre><script>window.ran=1;alert(1)</script><img src=/leak-img onerror=alert(1)>"
)
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202etxt.exe\u2066"
HOSTILE_PAGE = f"""<!doctype html><html><head><title>{BREAKOUT.replace("</title>", "")}{ESCAPES}</title>
<base href="/leak-base/"><link rel="stylesheet" href="/leak.css"><link rel="preconnect" href="//leak.invalid">
<link rel="icon" href="/leak.ico"><meta http-equiv="refresh" content="0;url=/leak-refresh">
<style>@import url(/leak-import.css); body {{ background: url(/leak-background.png) }}</style></head>
<body onload="window.ran=1;alert(2)">{SCRIPT}<h1 onclick="alert(3)">A story of the harbour {ESCAPES}</h1>
{MORE_TEXT}<img src="/leak-image.png" onerror="alert(4)"><iframe src="/leak-frame"></iframe>
<svg onload="alert(5)"><script>alert(6)</script></svg><object data="/leak-object"></object>
<form action="/leak-form"><button autofocus onfocus="alert(7)">go</button></form>
<a href="javascript:alert(8)">run</a> <a href="data:text/html,<script>alert(9)</script>" target="_top">top</a>
<video src="/leak-video" autoplay></video><audio src="/leak-audio" autoplay></audio></body></html>"""
HOSTILE_PATH = f"/{quote('<script>alert(1)</script>')}/'onmouseover=alert(1)/{quote(chr(34))}?q=<img%20src=x%20onerror=alert(1)>"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'


def answers() -> dict[str, bytes]:
    """The site, by path."""
    hostile = page(
        HOSTILE_PAGE,
        "X-Injected: <script>alert(1)</script>\x1b[31m",
        "Set-Cookie: thresher_console=stolen; Path=/",
        "Content-Security-Policy: default-src * 'unsafe-inline'; script-src *",
    )
    made = {
        "/": page(
            f"<html><head><title>Front</title></head><body>{TEXT}"
            f'<a href="{HOSTILE_PATH.replace(chr(34), "%22")}">x</a>'
            '<a href="/missing">x</a><a href="/svg">x</a><a href="/odd">x</a><a href="/plain">x</a></body></html>'
        ),
        "/svg": page(SVG, kind="image/svg+xml"),
        "/odd": page(SCRIPT, kind='text/html"><script>alert(1)</script>'),
        "/plain": page(f"{SCRIPT}{ESCAPES}", kind="text/plain"),
    }
    return {**made, "hostile": hostile}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledSite:
    project: OpenProject
    server: Server
    hostile_url: str
    """Where the hostile page lies."""

    def leaks(self) -> list[str]:
        return [path for path in self.server.paths if "leak" in path]


@contextmanager
def crawled_site(directory: Path, redis: str):
    """Crawl the site, process, deduplicate and export it, and yield while the site still answers."""
    made = answers()
    hostile = made.pop("hostile")
    server = Server(made)
    server.fallback = lambda path: hostile if "onmouseover" in path else None
    with server.in_thread():
        project = project_at(directory, redis, more='[filters]\npreset = "none"\nlanguages = []')
        seed_urls(project, f"{server.url}/")
        crawl_in_process(project)
        with local_worker_pool(1) as pool:
            progress = LineProgress()
            recipe.process_sources(project, ("main",), pool, progress)
            recipe.find_duplicates(project, ("main",), pool, progress)
            tokenizer = load_tokenizer_file(None)
            recipe.export_dataset(project, ("main",), str(directory / "out"), tokenizer, pool, progress)
        urls = [raw.split(b" ")[1].decode() for raw in server.requests]
        hostile_url = server.url + next(path for path in urls if "onmouseover" in path)
        yield CrawledSite(project=project, server=server, hostile_url=hostile_url)
