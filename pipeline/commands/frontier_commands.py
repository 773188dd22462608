"""`thresher frontier`: operator commands to a crawl, while it runs or between two runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thresher.core import InputError
from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    CrawlName,
    DepthOption,
    JsonOption,
    ProjectOption,
    ScopeKind,
    UpdateOption,
    check_name,
    usable_cores,
)
from thresher.pipeline.terminal.output import print_result

if TYPE_CHECKING:
    from thresher.pipeline.crawls.retry import RetrySummary

RankName = Literal["first", "rich", "usual", "last"]
OutcomeName = Literal["fetched", "unchanged", "redirected", "gone", "refused", "failed"]
HostName = Annotated[str, typer.Argument(help="Host name as in its URLs, without port.")]
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command(name="retry")
def retry_command(
    name: CrawlName,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            help="Retry only pages that ended with this reason, as `status --json` names it; repeatable.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", help="Retry only pages of this host, given without port. The default is any."),
    ] = "",
    outcome: Annotated[
        OutcomeName | None,
        typer.Option(
            "--outcome",
            help="Retry only pages with this outcome. The default is failed, or any if --reason is given.",
        ),
    ] = None,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Queue settled pages once more: those that failed, or those that the options select.

    The crawl log says how each page ended. Hosts that were given up are tried once more.

    \b
    Example:
      thresher frontier retry docs
      thresher frontier retry docs --reason status_401 --host intranet.example.org
    """
    from thresher.pipeline.crawls.retry import RetryPlan
    from thresher.pipeline.crawls.retry import add_retries as run_retry
    from thresher.pipeline.open_project import OpenProject

    plan = RetryPlan(
        crawl=check_name(name), reasons=tuple(reason or ()), host=host.lower(), outcome=outcome or ""
    )
    _print_retry(as_json, run_retry(OpenProject.at(project), plan, update=update), f"{name}: ")


def _print_retry(as_json: bool, found: RetrySummary, begin: str) -> None:
    from thresher.pipeline.terminal.reasons import counted

    line = f"{begin}{found.added:,} of {found.pages:,} selected pages wait again"
    if found.known:
        line += f"; {found.known:,} waited already"
    if found.discarded:
        line += f"; not let in: {counted(found.discarded)}"
    print_result(as_json, asdict(found), line)


@app.command(name="rebuild")
def rebuild_command(
    name: CrawlName,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="Delete first what the frontier still has of the crawl."),
    ] = False,
    scope: Annotated[
        ScopeKind | None,
        typer.Option(
            "--scope",
            help="Follow links of archived pages that are in no log within this scope: any, domain, host or prefix. "
            "By default their links are not followed.",
        ),
    ] = None,
    depth: DepthOption = None,
    workers: CoresOption = None,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Rebuild a lost frontier from the archive and the log of its crawl.

    Archived pages are not fetched again. URLs that were found and not fetched wait. If the command is killed, type it
    again: it continues. Seed the same seeds afterwards, because seeds that were not fetched are in no archive.

    \b
    Example:
      thresher frontier rebuild docs && thresher crawl docs
    """
    from thresher.crawler.replay.restore import LinkScope
    from thresher.pipeline.crawls.rebuild_frontier import RebuildPlan
    from thresher.pipeline.crawls.rebuild_frontier import rebuild_frontier as run_rebuild
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress
    from thresher.pipeline.terminal.reasons import counted

    plan = RebuildPlan(crawl=check_name(name), anew=anew, reach=LinkScope(scope=scope, max_depth=depth))
    rebuilt = run_rebuild(
        OpenProject.at(project), plan, workers or usable_cores(), stderr_progress(), update=update
    )
    outcomes = {outcome: count for outcome, count in rebuilt.stats.outcomes.items() if count}
    line = f"{name}: {counted(outcomes) or 'nothing settled'}; {rebuilt.stats.waiting:,} wait"
    if rebuilt.unlogged:
        line += f"; {rebuilt.unlogged:,} archived pages are in no log" + (
            "" if scope else ", and their links are not followed (--scope)"
        )
    print_result(as_json, {**asdict(rebuilt.stats), "no_log": rebuilt.unlogged}, line)


@app.command(name="hold")
def hold_command(
    name: CrawlName,
    host: HostName,
    how_long: Annotated[
        str, typer.Option("--for", help="Send no request for this time, such as 90s, 15m, 1h or 2d.")
    ] = "1h",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Send a host no request for a time.

    \b
    Example:
      thresher frontier hold docs example.org --for 2d
    """
    from thresher.pipeline.crawls import operator_commands
    from thresher.pipeline.open_project import OpenProject

    operator_commands.hold(OpenProject.at(project), name, host, how_long)
    print_result(as_json, {"held": host, "for": how_long}, f"{name}: {host} is held for {how_long}")


@app.command(name="resume")
def resume_command(
    name: CrawlName, host: HostName, project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """End every hold of a host at once. A host that was given up is tried again too.

    \b
    Example:
      thresher frontier resume docs example.org
    """
    from thresher.pipeline.crawls import operator_commands
    from thresher.pipeline.open_project import OpenProject

    operator_commands.resume(OpenProject.at(project), name, host)
    print_result(as_json, {"resumed": host}, f"{name}: {host} is crawled again, at its own pace")


@app.command(name="drop")
def drop_command(
    name: CrawlName,
    scope: Annotated[str, typer.Argument(help="Scope to bar: domain:NAME, host:NAME or prefix:URL.")],
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Bar a domain, a host or a URL prefix from a crawl.

    Waiting pages of the scope are refused, and links to it that are found later are not added. `frontier undrop` takes
    it back.

    \b
    Example:
      thresher frontier drop docs domain:example.org
      thresher frontier drop docs prefix:https://example.org/forum/
    """
    from thresher.pipeline.crawls import operator_commands
    from thresher.pipeline.open_project import OpenProject

    dropped = operator_commands.drop(OpenProject.at(project), name, scope)
    later = (
        "; pages that wait under a prefix are refused when their turn comes"
        if scope.startswith("prefix:")
        else ""
    )
    print_result(
        as_json,
        {"barred": scope, "dropped": dropped},
        f"{name}: {scope} is barred, {dropped:,} waiting pages refused{later}",
    )


@app.command(name="undrop")
def undrop_command(
    name: CrawlName,
    scope: Annotated[
        str | None, typer.Argument(help="Scope to bar no longer. Without it, the barred scopes are listed.")
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Bar a scope no longer, or list what is barred.

    Pages that were refused because of it wait again. Links to it that were found meanwhile come back when a page that
    has them is fetched again.

    \b
    Example:
      thresher frontier undrop docs
      thresher frontier undrop docs domain:example.org
    """
    from thresher.pipeline.crawls import undrop
    from thresher.pipeline.open_project import OpenProject

    opened = OpenProject.at(project)
    if scope is None:
        barred = undrop.barred_scopes(opened, check_name(name))
        print_result(as_json, {"barred": barred}, "\n".join(barred) or f"{name}: nothing is barred")
        return
    found = undrop.undrop(opened, check_name(name), scope)
    _print_retry(as_json, found, f"{name}: {scope} is barred no longer, ")


@app.command(name="prefer")
def prefer_command(
    name: CrawlName,
    domains: Annotated[
        list[str] | None, typer.Argument(help="Registered domains; the rank holds for all of their hosts.")
    ] = None,
    rank: Annotated[
        RankName, typer.Option("--rank", help="Give the domains this rank: first, rich, usual or last.")
    ] = "first",
    from_report: Annotated[
        bool,
        typer.Option("--from-report", help="Rank every domain by the share of its documents that was kept."),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Crawl the hosts of a domain before others, or after them.

    \b
    Example:
      thresher frontier prefer docs example.org example.com --rank rich
      thresher frontier prefer docs --from-report
    """
    from thresher.pipeline.crawls import operator_commands
    from thresher.pipeline.open_project import OpenProject

    if from_report == bool(domains):
        raise InputError("prefer: give either names of domains or --from-report")
    if from_report:
        ranked = operator_commands.prefer_by_yield(OpenProject.at(project), name)
        counts = ", ".join(f"{count:,} {rank}" for rank, count in ranked.items())
        print_result(
            as_json, {"ranked": ranked}, f"{name}: domains by their share of kept documents: {counts}"
        )
        return
    assert domains is not None
    operator_commands.prefer(OpenProject.at(project), name, domains, rank)
    print_result(
        as_json, {"rank": rank, "domains": domains}, f"{name}: {len(domains)} domains are ranked {rank}"
    )


@app.command(name="set")
def set_command(
    name: CrawlName,
    min_delay: Annotated[
        float | None,
        typer.Option("--min-delay", min=0, help="Wait this many seconds between two requests to one host."),
    ] = None,
    min_ip_delay: Annotated[
        float | None,
        typer.Option(
            "--min-ip-delay", min=0, help="Wait this many seconds between two requests to one IP address."
        ),
    ] = None,
    max_pages_per_host: Annotated[
        int | None,
        typer.Option(
            "--max-pages-per-host", min=0, help="Let in at most N URLs of one host; 0 for no limit."
        ),
    ] = None,
    max_pages_per_domain: Annotated[
        int | None,
        typer.Option(
            "--max-pages-per-domain",
            min=0,
            help="Let in at most N URLs of one registered domain; 0 for no limit.",
        ),
    ] = None,
    max_hosts_per_domain: Annotated[
        int | None,
        typer.Option(
            "--max-hosts-per-domain", min=1, help="Let in at most N host names of one registered domain."
        ),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Change the delays and budgets of a crawl, for all of its workers, while it runs or between two runs.

    Write the same values into thresher.toml: the next `thresher crawl` is refused if its file differs.

    \b
    Example:
      thresher frontier set docs --min-delay 2 --max-pages-per-host 5000
    """
    from thresher.pipeline.crawls import operator_commands
    from thresher.pipeline.open_project import OpenProject

    change = operator_commands.SettingsChange(
        min_delay_s=min_delay,
        min_ip_delay_s=min_ip_delay,
        max_pages_per_host=max_pages_per_host,
        max_pages_per_domain=max_pages_per_domain,
        max_hosts_per_domain=max_hosts_per_domain,
    )
    if change == operator_commands.SettingsChange():
        raise InputError("set: give a setting to change, such as --min-delay 2")
    changed = operator_commands.change_settings(OpenProject.at(project), check_name(name), change)
    print_result(as_json, {"changed": changed}, f"{name}: {'; '.join(changed)}")
