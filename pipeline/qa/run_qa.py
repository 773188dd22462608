"""`run_qa`: the command `thresher qa`, on a WACZ file or on the archive of a project."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from thresher.core import InputError, Unavailable
from thresher.crawler.render.chromium.program import find_browser
from thresher.crawler.render.render_settings import RenderSettings
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.terminal.output import echo, print_json
from thresher.pipeline.terminal.progress import stderr_progress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.pipeline.wacz.wacz_list import LIST_SUFFIX, listed_files

if TYPE_CHECKING:
    from thresher.pipeline.qa.examination import QaResult

SHOWN = 10
"""Pages below the threshold that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QaOptions:
    """The options of the command."""

    threshold: float
    max_pages: int | None
    html: Path | None


def run_qa(archive: str, project: Path, options: QaOptions, as_json: bool) -> None:
    """Compare an archive, and print the result. End the command with exit code 1 if a page is below the threshold."""
    if options.html is not None and (options.html.is_dir() or not options.html.parent.is_dir()):
        raise InputError(f"--html {options.html}: give a file in a directory that exists")
    if archive.endswith((".wacz", LIST_SUFFIX)):
        path = Path(archive)
        if not path.is_file():
            raise InputError(f"{archive}: there is no such file; give a WACZ file, or the name of a crawl")
        if path.suffix == LIST_SUFFIX and not listed_files(path):
            raise InputError(f"{archive} is no list of WACZ files; give a WACZ file, or such a list")
        is_project = (project / "thresher.toml").is_file()
        result = _examine(
            path, _settings(OpenProject.at(project)) if is_project else RenderSettings(), options
        )
    else:
        opened = OpenProject.at(project)
        with TemporaryDirectory(prefix="thresher-qa-") as directory:
            path = Path(directory) / f"{archive}.wacz"
            export_wacz(opened.store, archive, path, "", stderr_progress())
            result = _examine(path, _settings(opened), options)
    if options.html is not None:
        _write_page(options.html, archive, result)
    if as_json:
        print_json({"archive": archive, **result.body()})
    else:
        _print_lines(archive, result)
    if result.below:
        raise typer.Exit(1)


def _settings(project: OpenProject) -> RenderSettings:
    return project.config.crawler.rendering


def _examine(path: Path, settings: RenderSettings, options: QaOptions) -> "QaResult":
    find_browser(settings.browser)
    from thresher.pipeline.qa.examination import examine_wacz  # noqa: PLC0415 - Playwright is an extra

    return asyncio.run(
        examine_wacz(
            path, settings, stderr_progress(), max_pages=options.max_pages, threshold=options.threshold
        )
    )


def _write_page(path: Path, name: str, result: "QaResult") -> None:
    from thresher.pipeline.qa.qa_report import qa_page  # noqa: PLC0415 - as above

    try:
        path.write_text(qa_page(name, result), encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{path} cannot be written ({error.strerror}); give another file") from error


def _print_lines(archive: str, result: "QaResult") -> None:
    below = result.below
    for page in below[:SHOWN]:
        echo(f"{page.comparison.score:.2f}  {page.url}  {', '.join(page.comparison.faults)}")
    if len(below) > SHOWN:
        echo(f"and {len(below) - SHOWN:,} more; --json or --html has all")
    echo(
        f"{archive}: {len(result.pages):,} of {result.listed:,} pages compared, {len(below):,} below "
        f"{result.threshold:g}"
    )
