"""`examine_wacz`: replay the pages of a WACZ, and compare each with what its crawl recorded."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Error

from thresher.core import Unavailable
from thresher.crawler.reading.rendered_page import ScreenshotKind
from thresher.crawler.render.chromium.browser import Browser, start_browser
from thresher.crawler.render.chromium.program import MAX_TABS, find_browser
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.render.tab import BrowserGoneError
from thresher.extract.charset import decode
from thresher.pipeline.qa.comparison import Comparison, Observations, compare
from thresher.pipeline.qa.examiner import Examiner, open_examiner
from thresher.pipeline.qa.replay_tab import CRASHED, PAGE_S, RecordedView, ReplayedPage, replay_page
from thresher.pipeline.qa.wacz_archive import DOM_WINDOW_MS, WaczArchive
from thresher.pipeline.qa.wacz_lines import ListedPage
from thresher.pipeline.terminal.progress import Progress
from thresher.storage.warc.records import ArchivedRecord

PAGES_A_BROWSER = 200
"""Pages after which the browser is replaced."""
MAX_ATTEMPTS = 2
MAX_LOST = 20
"""URLs of lost parts that the result of a page names."""
TEXTS_OF_OTHERS = frozenset({"text", "pages"})
"""Sources of a text that may begin with the title of the page."""
PICTURES: tuple[ScreenshotKind, ...] = ("fullPage", "view")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The comparison of one page."""

    url: str
    date_ms: int
    comparison: Comparison
    text_source: str
    """What the text was compared with: `dom`, `text` (a record of browsertrix-crawler), `pages` or `html`; empty if the
    page ended its browsers.
    """
    picture_source: str
    """`fullPage`, `view`, or empty."""
    parts: dict[str, dict[str, int]]
    """Number of parts by kind and fate."""
    lost: tuple[str, ...]
    """URLs of parts that are missing or broken."""

    def body(self) -> dict[str, Any]:
        """Return the result for programs."""
        found = self.comparison
        return {
            "url": self.url,
            "date_ms": self.date_ms,
            "score": found.score,
            "scores": {"text": found.text, "picture": found.picture, "parts": found.parts},
            "faults": list(found.faults),
            "text_source": self.text_source,
            "picture_source": self.picture_source,
            "parts": self.parts,
            "lost": list(self.lost),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QaResult:
    """The comparison of an archive."""

    pages: tuple[PageResult, ...]
    listed: int
    """Pages in the list of the archive."""
    bad_index_lines: int
    browser: str
    threshold: float

    @property
    def below(self) -> list[PageResult]:
        """Pages below the threshold, the worst first."""
        bad = [page for page in self.pages if page.comparison.score < self.threshold]
        return sorted(bad, key=lambda page: page.comparison.score)

    def body(self) -> dict[str, Any]:
        """Return the result for programs."""
        scores = [page.comparison.score for page in self.pages]
        faults = Counter(fault for page in self.pages for fault in page.comparison.faults)
        return {
            "browser": self.browser,
            "threshold": self.threshold,
            "listed": self.listed,
            "compared": len(scores),
            "below": len(self.below),
            "mean_score": round(sum(scores) / len(scores), 4) if scores else None,
            "faults": dict(faults.most_common()),
            "bad_index_lines": self.bad_index_lines,
            "pages": [page.body() for page in self.pages],
        }


async def examine_wacz(
    path: Path, settings: RenderSettings, progress: Progress, *, max_pages: int | None, threshold: float
) -> QaResult:
    """Return the comparison of a WACZ, of at most `max_pages` pages that are spread over its list.

    Raise `InputError` if it is no valid WACZ or lists no pages, or if there is no browser.
    """
    program = find_browser(settings.browser)
    with TemporaryDirectory(prefix="thresher-qa-") as directory:
        archive = WaczArchive(path, Path(directory))
        try:
            run = _Run(archive, program, settings, progress)
            pages = await run.examine(spread(archive.page_count, max_pages))
            return QaResult(
                pages=tuple(pages),
                listed=archive.page_count,
                bad_index_lines=archive.bad_lines,
                browser=run.browser_name,
                threshold=threshold,
            )
        finally:
            archive.close()


class _Run:
    def __init__(
        self, archive: WaczArchive, program: str, settings: RenderSettings, progress: Progress
    ) -> None:
        self._archive, self._program, self._settings = archive, program, settings
        self._progress = progress
        self.browser_name = ""

    async def examine(self, numbers: Sequence[int]) -> list[PageResult]:
        self._progress.start("qa", total=len(numbers))
        results: list[PageResult] = []
        for first in range(0, len(numbers), PAGES_A_BROWSER):
            pages = [self._archive.page(number) for number in numbers[first : first + PAGES_A_BROWSER]]
            results += await self._examine_some(pages)
        self._progress.stop()
        return results

    async def _examine_some(self, pages: Sequence[ListedPage]) -> list[PageResult]:
        """Compare pages in one browser, and go on in another if it ends or no longer answers. The pages that were open
        then are compared again, one at a time; one that is open `MAX_ATTEMPTS` times at such an end has crashed.
        Raise `Unavailable` if a browser ends before its first page.
        """
        results: dict[int, PageResult] = {}
        attempts = Counter[int]()
        while len(results) < len(pages):
            before = attempts.total()
            browser = await start_browser(self._program, sandbox=self._settings.browser_sandbox)
            self.browser_name = browser.name
            browser.open_pages = 1  # watches its memory
            unfinished = [at for at in range(len(pages)) if at not in results]
            suspects = [at for at in unfinished if attempts[at]]
            waiting = iter(suspects or unfinished)
            tasks: list[asyncio.Task[None]] = []
            try:
                examiner = await open_examiner(browser)
                tasks = [
                    asyncio.create_task(self._work(browser, examiner, pages, waiting, attempts, results))
                    for _ in range(1 if suspects else MAX_TABS)
                ]
                await asyncio.gather(*tasks)
            except (BrowserGoneError, TimeoutError):
                pass
            except Error:
                if browser.is_alive:
                    raise
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await browser.stop()
            if attempts.total() == before:
                raise Unavailable(
                    f"{browser.name} ended before it opened a page; try again, or look at its memory"
                )
        return [results[at] for at in range(len(pages))]

    async def _work(
        self,
        browser: Browser,
        examiner: Examiner,
        pages: Sequence[ListedPage],
        waiting: Iterator[int],
        attempts: Counter[int],
        results: dict[int, PageResult],
    ) -> None:
        for at in waiting:
            attempts[at] += 1
            if attempts[at] > MAX_ATTEMPTS:
                results[at] = _crashed(pages[at])
            else:
                replayed = await self._replay(browser, pages[at])
                async with asyncio.timeout(PAGE_S):
                    results[at] = await self._result(examiner, pages[at], replayed)
            self._progress.advance(pages[at].url)

    async def _replay(self, browser: Browser, page: ListedPage) -> ReplayedPage:
        view = RecordedView(
            has_picture=self._picture(page) is not None,
            shows_frames=self._archive.dom(page.url, page.date_ms) is None,  # our browser loads none
            behaviours=self._archive.behaviours(page.url, page.date_ms),
        )
        return await replay_page(browser, page, self._archive.find, view)

    async def _result(self, examiner: Examiner, page: ListedPage, replayed: ReplayedPage) -> PageResult:
        picture = self._picture(page)
        differing = None
        if picture is not None and not replayed.problem:
            differing = await examiner.difference(picture[1].payload, _screenshot(replayed, picture[0]))
        source, recorded = await self._recorded_text(examiner, page)
        shown = await examiner.text(replayed.html.decode(errors="replace"))
        if source in TEXTS_OF_OTHERS and replayed.title and recorded.lstrip().startswith(replayed.title):
            shown = f"{replayed.title}\n{shown}"
        observations = Observations(
            problem=replayed.problem,
            recorded_text=recorded,
            is_whole_text=source != "html",
            replayed_text=shown,
            differing=differing,
            fates=replayed.fates,
            tiny=replayed.tiny,
        )
        parts: dict[str, dict[str, int]] = {}
        for (kind, _), fate in sorted(replayed.fates.items()):
            counts = parts.setdefault(kind, {})
            counts[fate] = counts.get(fate, 0) + 1
        lost = [url for (_, url), fate in sorted(replayed.fates.items()) if fate in ("missing", "broken")]
        return PageResult(
            url=page.url,
            date_ms=page.date_ms,
            comparison=compare(observations),
            text_source=source,
            picture_source="" if picture is None else picture[0],
            parts=parts,
            lost=tuple(lost[:MAX_LOST]),
        )

    def _picture(self, page: ListedPage) -> tuple[ScreenshotKind, ArchivedRecord] | None:
        for kind in PICTURES:
            found = self._note(f"urn:{kind}:{page.url}", page)
            if found is not None:
                return kind, found
        return None

    def _note(self, uri: str, page: ListedPage) -> ArchivedRecord | None:
        found = self._archive.find(uri, page.date_ms)
        return None if found is None or abs(found.date_ms - page.date_ms) > DOM_WINDOW_MS else found

    async def _recorded_text(self, examiner: Examiner, page: ListedPage) -> tuple[str, str]:
        """Return what the text is compared with, and that text."""
        dom = self._archive.dom(page.url, page.date_ms)
        if dom is not None:
            return "dom", await examiner.text(dom.decode(errors="replace"))
        text = self._note(f"urn:text:{page.url}", page)
        if text is not None:
            return "text", text.payload.decode(errors="replace")
        if page.text:
            return "pages", page.text
        found = self._archive.find(page.url, page.date_ms)
        html = "" if found is None else decode(found.payload, found.header("content-type")).text
        return "html", await examiner.text(html)


def _crashed(page: ListedPage) -> PageResult:
    """Return the result of a page that ended its browsers. Nothing of it is read again."""
    nothing = Observations(
        problem=CRASHED, recorded_text="", is_whole_text=False, replayed_text="", differing=None, fates={}
    )
    return PageResult(
        url=page.url,
        date_ms=page.date_ms,
        comparison=compare(nothing),
        text_source="",
        picture_source="",
        parts={},
        lost=(),
    )


def _screenshot(replayed: ReplayedPage, kind: ScreenshotKind) -> bytes:
    """Return the picture of the replay that is to be compared with one of that kind."""
    pictures = {each.kind: each.data for each in replayed.screenshots}
    return pictures.get(kind) or pictures.get("view") or b""


def spread(total: int, most: int | None) -> list[int]:
    """Return the numbers of at most `most` of `total` pages, spread over all of them. Pure."""
    count = total if most is None else min(most, total)
    return [number * total // count for number in range(count)]
