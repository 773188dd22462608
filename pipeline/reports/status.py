"""The status command: the progress of every source, and the state of its frontier."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from thresher.crawler.sessions.session_settings import LOGIN_ENDED
from thresher.frontier import CrawlFigures, FleetState, Frontier, GateState, Outage, Stats
from thresher.isolation import probe_confinement
from thresher.pipeline.engine.quarantine import DIRECTORY
from thresher.pipeline.integrity.reconcile import unlogged_pages
from thresher.pipeline.open_crawl import ask_project
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.reports.disks import disks
from thresher.pipeline.terminal.outage_line import outage_line
from thresher.pipeline.terminal.reasons import counted, describe_with_code
from thresher.pipeline.terminal.script_lines import linkless_line, unrendered_line
from thresher.storage.storage_id import read_storage_id
from thresher.storage.warc.records import page_records

if TYPE_CHECKING:
    from rich.console import Console

USER_DESCRIPTIONS = {
    "nobody": "user nobody",
    "root": "root without capabilities (it cannot become nobody here, or nobody may not read this Python)",
}
"""The user of a worker process that root started."""


def project_status(project: OpenProject) -> dict[str, Any]:
    """Return an entry per source, from the catalog and the frontier, and in `lost` a line per lost frontier."""
    isolation = _isolation(project)  # first: it is found out fast while this process has one thread
    frontiers, elsewhere, lost = _frontiers(project)
    return _status(project, frontiers, elsewhere, lost, isolation, is_frontier_up=True)


def storage_status(project: OpenProject) -> dict[str, Any]:
    """Return what `project_status` returns as far as the storage knows it, when the frontier does not answer."""
    return _status(project, {}, {}, {}, _isolation(project), is_frontier_up=False)


def _status(
    project: OpenProject,
    frontiers: "dict[str, _FrontierState]",
    elsewhere: dict[str, str],
    lost: dict[str, str],
    isolation: dict[str, Any] | None,
    *,
    is_frontier_up: bool,
) -> dict[str, Any]:
    names = sorted({*project.sources(()), *frontiers})
    return {
        "storage": project.store.uri,
        "damage": list(project.damage),
        "frontier_up": is_frontier_up,
        "isolation": isolation,
        "cache": None if (cache := project.cache_stats) is None else asdict(cache),
        "sources": [_source(project, name, frontiers) for name in names],
        "elsewhere": elsewhere,
        "lost": lost,
        "disks": [asdict(disk) for disk in disks(project)],
    }


def render(found: dict[str, Any], console: "Console") -> None:
    """Print the status as a table."""
    from rich.table import Table  # noqa: PLC0415 - `--json` and metrics print none

    table = Table(title=f"storage {found['storage']}", title_justify="left")
    for column in (
        "source",
        "files",
        "archived",
        "processed",
        "kept",
        "quarantined",
        "waiting",
        "leased",
        "fetched",
        "failed",
        "who waits",
    ):
        table.add_column(column, justify="left" if column in ("source", "who waits") else "right")
    for source in found["sources"]:
        frontier = source["frontier"]
        urls = ["-"] * 4
        if frontier:
            outcomes = frontier["outcomes"]
            waiting = frontier["waiting"] + frontier["later"]
            numbers = (waiting, frontier["leased"], outcomes.get("fetched", 0), outcomes.get("failed", 0))
            urls = [f"{number:,}" for number in numbers]
        done = [f"{source[key]:,}" for key in ("files", "archived", "processed", "kept", "quarantined")]
        table.add_row(source["name"], *done, *urls, source["waits"] or "-")
    console.print(table)
    if found["isolation"] is not None:
        console.print(isolation_line(found["isolation"]), highlight=False, soft_wrap=True)
    for source in found["sources"]:
        for line in _source_lines(source):
            console.print(f"{source['name']}: {line}", highlight=False, soft_wrap=True)
    for name, uri in found["elsewhere"].items():
        line = f"{name}: a crawl of this server whose archive is in another storage, {uri}"
        console.print(line, highlight=False, soft_wrap=True)
    for line in found["lost"].values():
        console.print(line, highlight=False, soft_wrap=True)


def _source_lines(source: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the table does not say of a source."""
    if source["frontier"] and (line := frontier_line(source["frontier"])):
        yield line
    for key in ("linkless", "unrendered"):
        if source[key]:
            yield source[key]
    for host in source["ended_logins"]:
        yield (
            f"{host} pauses, because {describe_with_code(LOGIN_ENDED)}, and then run `thresher frontier resume "
            f"{source['name']} {host}`"
        )
    for name, found in source["annotations"].items():
        left = source["parts"] - found["parts"]
        rest = f"; {left:,} of {source['parts']:,} parts have none yet" if left > 0 else ""
        yield f"annotation {name}: {found['annotated']:,} of {found['documents']:,} documents{rest}"
    if source["unlogged"]:
        yield f"{source['unlogged']:,} settled pages are missing in the log of the crawl; run `thresher verify`"


def isolation_line(found: Mapping[str, Any]) -> str:
    """Return what confines the processes that read pages, in one line."""
    walls = [
        *([f"Landlock {found['landlock']}"] if found["landlock"] else []),
        *(["seccomp"] if found["seccomp"] else []),
        *([USER_DESCRIPTIONS[found["user"]]] if found["user"] in USER_DESCRIPTIONS else []),
    ]
    lines = [f"workers are confined by {', '.join(walls) or 'limits alone'}", *found["lacks"]]
    if not found["browser_sandbox"]:
        lines.append("Chromium has no sandbox (crawler.browser_sandbox = false)")
    return f"isolation: {'; '.join(lines)}"


def frontier_line(frontier: Mapping[str, Any]) -> str:
    """Return further counts of a frontier in one line, or "" if there are none."""
    numbers = (
        (frontier["held"], "host held", "hosts held"),
        (frontier["dead"], "host dead", "hosts dead"),
        (frontier["tail"], "URL waiting in storage", "URLs waiting in storage"),
        (frontier["scheduled"], "page to be visited again", "pages to be visited again"),
    )
    parts = [f"{number:,} {one if number == 1 else many}" for number, one, many in numbers if number]
    if frontier["discarded"]:
        parts.append(f"not let in: {counted(frontier['discarded'])}")
    return "; ".join(parts)


def _isolation(project: OpenProject) -> dict[str, Any] | None:
    """Return the isolation of this machine. On a cluster each node has its own, so return None."""
    if project.config.project.cluster is not None:
        return None
    return {
        **asdict(probe_confinement()),
        "browser_sandbox": project.config.crawler.rendering.browser_sandbox,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _FrontierState:
    """What the frontier says of one crawl."""

    stats: Stats
    flow: GateState | None
    stalls: list[int]
    outages: dict[str, Outage]
    figures: CrawlFigures
    fleet: FleetState | None
    ended_logins: list[str]
    """The hosts that are held because their login has ended."""


def _frontiers(
    project: OpenProject,
) -> tuple[dict[str, _FrontierState], dict[str, str], dict[str, str]]:
    """Return the state of the crawls of the project's storage, the storage of every other crawl of the server, and the
    error line of every lost crawl.
    """
    storage_id = read_storage_id(project.store)
    elsewhere: dict[str, str] = {}

    async def frontier_state(name: str, frontier: Frontier) -> _FrontierState | None:
        if frontier.crawl.storage is not None and frontier.crawl.storage.id != storage_id:
            elsewhere[name] = frontier.crawl.storage.uri
            return None
        return _FrontierState(
            stats=await frontier.stats(),
            flow=await frontier.backlog.gate_state(),
            stalls=await frontier.workers.stalls(),
            outages=await frontier.workers.outages(),
            figures=await frontier.workers.figures(),
            fleet=await frontier.fleet.state(),
            ended_logins=await _ended_logins(frontier)
            if any(name in table["crawls"] for table in project.config.crawler.sessions.sessions.values())
            else [],
        )

    found = ask_project(project, frontier_state)
    return {name: state for name, state in found.answers.items() if state is not None}, elsewhere, found.lost


async def _ended_logins(frontier: Frontier) -> list[str]:
    held = frontier.inspection.hosts(is_held=True)
    return [host.host async for host in held if host.rest and host.rest.reason == LOGIN_ENDED]


def wait_reason(stats: Stats, flow: GateState | None, stalls: list[int], kept: str = "") -> str:
    """Return who waits for whom among storage, a crawl, its hosts and its follower, or "" if nobody waits.

    `kept` says what keeps workers from the web.
    """
    if kept:
        return f"crawl for the web ({kept})"
    if stalls:
        return f"crawl for storage ({len(stalls)} workers, {max(stalls) / 1000:,.0f} s)"
    if flow is not None and flow.shut:
        return f"crawl for process ({_mebi(flow.estimate)} of {_mebi(flow.limit)} MiB unprocessed)"
    if stats.held and stats.waiting + stats.later and not stats.leased + stats.robots:
        return f"crawl for hosts ({stats.held:,} held: they did not respond, or asked to wait)"
    if flow is not None and flow.backlog == 0 and not stats.is_drained:
        return "process for crawl"
    return ""


def _mebi(size: int) -> str:
    return f"{size / 2**20:,.1f}"


def _annotations(project: OpenProject, source: str) -> dict[str, dict[str, int]]:
    """Return the annotated parts of a source by annotation, with the sums of their counts."""
    found: dict[str, Counter[str]] = {}
    for part in project.catalog.parts("annotate", source):
        counts = found.setdefault(part.part.partition("/")[0], Counter(parts=0, documents=0, annotated=0))
        counts.update({"parts": 1, **part.counts})
    return {name: dict(counts) for name, counts in found.items()}


def _source(project: OpenProject, name: str, frontiers: dict[str, _FrontierState]) -> dict[str, Any]:
    archived = project.catalog.totals("archive", name)
    processed = project.catalog.totals("process", name)
    found = frontiers.get(name)
    stats, flow = (found.stats, found.flow) if found else (None, None)
    stalls, outages = (found.stalls, found.outages) if found else ([], {})
    is_paused = found is not None and found.fleet is not None and found.fleet.wanted.is_paused
    return {
        "name": name,
        "files": len(project.catalog.parts("archive", name)),
        "archived": page_records(archived),
        "processed": sum(count for key, count in processed.items() if key.endswith(".documents")),
        "kept": processed.get("keep.documents", 0),
        "parts": len(project.catalog.parts("process", name)),
        "annotations": _annotations(project, name),
        "quarantined": sum(1 for _ in project.store.list(f"{DIRECTORY}/process/{name}/")),
        "frontier": None if stats is None else {**asdict(stats), "drained": stats.is_drained},
        "linkless": "" if stats is None else linkless_line(name, stats.outcomes, stats.reasons),
        "unrendered": "" if stats is None else unrendered_line(name, stats.reasons),
        "ended_logins": [] if found is None else found.ended_logins,
        "unlogged": 0 if stats is None else unlogged_pages(project, name, stats),
        "flow": None if flow is None else asdict(flow),
        "stalls": stalls,
        "figures": None if found is None else asdict(found.figures),
        "fleet": None if found is None or found.fleet is None else asdict(found.fleet),
        "outages": {worker: asdict(outage) for worker, outage in outages.items()},
        "waits": ""
        if stats is None
        else "crawl for its operator (paused)"
        if is_paused
        else wait_reason(stats, flow, stalls, outage_line(outages)),
    }
