"""`thresher frontier`: what an operator tells a crawl, while it runs or between two runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from core import InputError
from pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    DepthOption,
    JsonOption,
    ProjectOption,
    ScopeKind,
    UpdateOption,
    check_name,
    usable_cores,
)
from pipeline.terminal.output import print_result

RankName = Literal["first", "rich", "usual", "last"]
OutcomeName = Literal["fetched", "unchanged", "redirected", "gone", "refused", "failed"]
CrawlName = Annotated[str, typer.Argument(help="The crawl.")]
HostName = Annotated[str, typer.Argument(help="Host name as in its URLs, without port.")]
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command(name="retry")
def retry_command(
    name: CrawlName,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            "--reason", help="Pages that ended for this reason, as `status --json` names it; repeatable."
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Pages of this host, without port.")] = "",
    outcome: Annotated[
        OutcomeName | None,
        typer.Option("--outcome", help="Pages that ended so; failed where no --reason is given either."),
    ] = None,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Let pages that are settled wait once more: those that failed, or that the options choose.

    What became of them is read from the crawl's log. Hosts that were given up are asked once more.

    \b
    Example:
      thresher frontier retry docs
      thresher frontier retry docs --reason status_401 --host intranet.example.org
    """
    from pipeline.crawls.retry import RetryPlan
    from pipeline.crawls.retry import add_retries as run_retry
    from pipeline.project import Project
    from pipeline.terminal.reasons import counted

    plan = RetryPlan(
        crawl=check_name(name), reasons=tuple(reason or ()), host=host.lower(), outcome=outcome or ""
    )
    found = run_retry(Project.at(project), plan, update=update)
    line = f"{name}: {found.added:,} wait again of {found.pages:,} that ended so"
    if found.known:
        line += f"; {found.known:,} waited already"
    if found.discarded:
        line += f"; not let in: {counted(found.discarded)}"
    print_result(as_json, asdict(found), line)


@app.command(name="rebuild")
def rebuild_command(
    name: CrawlName,
    anew: Annotated[
        bool, typer.Option("--anew", help="Forget first what the frontier has of the crawl.")
    ] = False,
    scope: Annotated[
        ScopeKind | None,
        typer.Option(
            "--scope",
            help="Follow links of archived pages that are in no log so far: any, domain, host or prefix; not at all by "
            "default.",
        ),
    ] = None,
    depth: DepthOption = None,
    workers: CoresOption = None,
    update: UpdateOption = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Make a frontier that was lost again, from the archive and the log of its crawl.

    What is archived is not fetched again; what its pages led to and was not fetched waits. Killed and typed again, it goes on
    where it was. Seed the same seeds afterwards: those that were not fetched are in no archive.

    \b
    Example:
      thresher frontier rebuild docs && thresher crawl docs
    """
    from crawler.replay.restore import LinkScope
    from pipeline.crawls.rebuild import RebuildPlan
    from pipeline.crawls.rebuild import rebuild_frontier as run_rebuild
    from pipeline.project import Project
    from pipeline.terminal.progress import stderr_progress
    from pipeline.terminal.reasons import counted

    plan = RebuildPlan(crawl=check_name(name), anew=anew, reach=LinkScope(scope=scope, max_depth=depth))
    made = run_rebuild(Project.at(project), plan, workers or usable_cores(), stderr_progress(), update=update)
    outcomes = {outcome: count for outcome, count in made.stats.outcomes.items() if count}
    line = f"{name}: {counted(outcomes) or 'nothing settled'}; {made.stats.waiting:,} wait"
    if made.unlogged:
        line += f"; {made.unlogged:,} archived pages are in no log" + (
            "" if scope else ", and their links are not followed (--scope)"
        )
    print_result(as_json, {**asdict(made.stats), "no_log": made.unlogged}, line)


@app.command(name="hold")
def hold_command(
    name: CrawlName,
    host: HostName,
    how_long: Annotated[
        str, typer.Option("--for", help="How long: a time such as 90s, 15m, 1h or 2d.")
    ] = "1h",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Ask a host nothing for a time.

    \b
    Example:
      thresher frontier hold docs example.org --for 2d
    """
    from pipeline.crawls import operator_commands
    from pipeline.project import Project

    operator_commands.hold(Project.at(project), name, host, how_long)
    print_result(as_json, {"held": host, "for": how_long}, f"{name}: {host} is asked nothing for {how_long}")


@app.command(name="resume")
def resume_command(
    name: CrawlName, host: HostName, project: ProjectOption = CURRENT_DIRECTORY, as_json: JsonOption = False
) -> None:
    """Ask a host again at once, whatever held it; also one that was given up.

    \b
    Example:
      thresher frontier resume docs example.org
    """
    from pipeline.crawls import operator_commands
    from pipeline.project import Project

    operator_commands.resume(Project.at(project), name, host)
    print_result(as_json, {"resumed": host}, f"{name}: {host} is asked again, at its own pace")


@app.command(name="drop")
def drop_command(
    name: CrawlName,
    scope: Annotated[str, typer.Argument(help="domain:NAME, host:NAME or prefix:URL.")],
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Bar a domain, a host or a URL prefix from a crawl.

    Its pages that wait are refused, and links to it that are found later are not let in.

    \b
    Example:
      thresher frontier drop docs domain:example.org
      thresher frontier drop docs prefix:https://example.org/forum/
    """
    from pipeline.crawls import operator_commands
    from pipeline.project import Project

    dropped = operator_commands.drop(Project.at(project), name, scope)
    later = (
        "; what waits under a prefix is refused when its turn comes" if scope.startswith("prefix:") else ""
    )
    print_result(
        as_json,
        {"barred": scope, "dropped": dropped},
        f"{name}: {scope} is barred, {dropped:,} waiting pages refused{later}",
    )


@app.command(name="prefer")
def prefer_command(
    name: CrawlName,
    domains: Annotated[
        list[str] | None, typer.Argument(help="Registered domains; all of their hosts are meant.")
    ] = None,
    rank: Annotated[RankName, typer.Option("--rank", help="first, rich, usual or last.")] = "first",
    from_report: Annotated[
        bool,
        typer.Option("--from-report", help="Rank each domain by the share of its documents that was kept."),
    ] = False,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Ask the hosts of a domain before others, or after them.

    \b
    Example:
      thresher frontier prefer docs example.org example.com --rank rich
      thresher frontier prefer docs --from-report
    """
    from pipeline.crawls import operator_commands
    from pipeline.project import Project

    if from_report == bool(domains):
        raise InputError("prefer: name domains, or say --from-report, one of the two")
    if from_report:
        ranked = operator_commands.prefer_by_yield(Project.at(project), name)
        told = ", ".join(f"{count:,} {rank}" for rank, count in ranked.items())
        print_result(as_json, {"ranked": ranked}, f"{name}: domains by what was kept of them: {told}")
        return
    assert domains is not None
    operator_commands.prefer(Project.at(project), name, domains, rank)
    print_result(
        as_json, {"rank": rank, "domains": domains}, f"{name}: {len(domains)} domains are ranked {rank}"
    )
