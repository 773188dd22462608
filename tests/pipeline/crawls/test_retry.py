"""Settled pages can be requested again: chosen by outcome or reason, with everything that they were requested with."""

import socket

import pytest

from tests.crawler.server import Server, links, page, redirect
from tests.pipeline.crawl_projects import ask, crawl_in_process, project_at, seed_urls
from thresher.core import InputError
from thresher.frontier import Scope
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline.crawls.operator_commands import drop
from thresher.pipeline.crawls.rescrape import RescrapePlan as Rescrape
from thresher.pipeline.crawls.rescrape import add_rescrapes
from thresher.pipeline.crawls.retry import RetryPlan, add_retries
from thresher.pipeline.crawls.undrop import barred_scopes, undrop
from thresher.storage.crawllog import log_line

REFUSED = page("no", "WWW-Authenticate: Basic", status="401 Unauthorized")
BROKEN = page("broken", status="500 Internal Server Error")


@pytest.fixture
def redis(tmp_path):
    with embedded_server(tmp_path / "redis") as address:
        yield address


@pytest.fixture
def site():
    with Server({"/": links("/open", "/locked"), "/open": page("open")}).in_thread() as server:
        yield server


@pytest.fixture
def project(tmp_path, redis):
    return project_at(tmp_path, redis)


def lines(project, path):
    return [line for line in log_line.lines(project.store, "main") if line.url.endswith(path)]


async def stats(frontier):
    return await frontier.stats()


def test_with_the_right_password_what_was_refused_is_asked_again_and_nothing_else(
    tmp_path, redis, site, project
):
    async def locked(raw, writer):
        writer.write(page("secret") if b"\r\nAuthorization: Basic" in raw else REFUSED)

    site.answers["/locked"] = locked
    seed_urls(project, f"{site.url}/", max_depth=3)
    assert crawl_in_process(project).reasons == {"fetched:status_401": 1}
    auth = '[crawler.auth."127.0.0.1"]\nuser = "u"\npassword = "p"\nhttp = true\n'
    project = project_at(tmp_path, redis, more=auth)
    plan = RetryPlan(crawl="main", reasons=("status_401",))
    found = add_retries(project, plan)
    assert (found.pages, found.added, found.known) == (1, 1, 0)
    assert add_retries(project, plan).known == 1  # typed twice, it waits once
    after = crawl_in_process(project)
    assert (after.outcomes["fetched"], after.waiting) == (4, 0)
    assert site.paths == {"/robots.txt": 1, "/": 1, "/open": 1, "/locked": 2}
    assert add_retries(project, plan).pages == 0
    first, second = lines(project, "/locked")
    assert (first.reason, second.reason) == ("status_401", "")
    asked = {"scope": "domain:127.0.0.1", "depth": 1, "max_depth": 3}
    assert (first.request, second.request) == (asked, {**asked, "generation": first.time_ms})
    assert first.referrer == second.referrer == f"{site.url}/"


def test_what_failed_waits_once_more_each_time_it_fails(site, project):
    site.answers |= {"/locked": BROKEN, "/": links("/open", "/locked", "/gone")}
    seed_urls(project, f"{site.url}/")
    for times in (1, 2):
        assert crawl_in_process(project).reasons == {"failed:status_500": times, "gone:status_404": 1}
        assert [line.outcome for line in lines(project, "/locked")] == ["retry", "retry", "failed"] * times
        assert add_retries(project, RetryPlan(crawl="main")).added == 1
    site.answers["/locked"] = links("/new")
    assert crawl_in_process(project).outcomes["fetched"] == 3
    assert site.paths["/locked"] == 3 + 3 + 1
    assert site.paths["/new"] == 1


def test_a_reason_that_nothing_ended_with_is_refused_and_the_others_are_named(site, project):
    seed_urls(project, f"{site.url}/")
    with pytest.raises(InputError, match="no page is settled yet"):
        add_retries(project, RetryPlan(crawl="main"))
    crawl_in_process(project)
    with pytest.raises(
        InputError, match=r"--reason dns: no page of crawl 'main' ended with it; .*1 gone:status_404"
    ):
        add_retries(project, RetryPlan(crawl="main", reasons=("dns",)))
    with pytest.raises(InputError, match="nothing is seeded"):
        add_retries(project, RetryPlan(crawl="other"))


def test_hosts_outcomes_and_reasons_choose_together(site, project):
    with Server({"/": page("x")}, address="127.0.0.2").in_thread() as other:
        site.answers["/"] = links(f"{other.url}/", f"{other.url}/none", "/none")
        seed_urls(project, f"{site.url}/", scope="any")
        crawl_in_process(project)
        for plan, pages in (
            ({"host": "127.0.0.2"}, 0),
            ({"host": "127.0.0.2", "outcome": "gone"}, 1),
            ({"outcome": "gone"}, 2),
            ({"reasons": ("gone:status_404",)}, 2),
            ({"reasons": ("status_404",), "outcome": "fetched"}, 0),
            ({"outcome": "fetched"}, 2),
        ):
            assert add_retries(project, RetryPlan(crawl="main", **plan)).pages == pages, plan


def test_what_the_frontier_refused_by_itself_is_in_the_log_and_waits_again_if_it_may(site, project):
    seed_urls(project, f"{site.url}/open", f"{site.url}/")
    barred = Scope.parse(f"prefix:{site.url}/open")
    ask(project, lambda frontier: frontier.operator.drop(barred))
    assert crawl_in_process(project).reasons == {"gone:status_404": 1, "refused:dropped": 1}
    (line,) = lines(project, "/open")
    assert (line.outcome, line.reason, line.bytes, line.request) == (
        "refused",
        "dropped",
        0,
        {"listed": True, "scope": "domain:127.0.0.1"},
    )
    found = add_retries(project, RetryPlan(crawl="main", reasons=("dropped",)))
    assert (found.pages, found.added, found.discarded) == (1, 0, {"dropped": 1})
    assert barred_scopes(project, "main") == [str(barred)]
    with pytest.raises(InputError, match=rf"host:other.test is not barred; barred are: {barred}"):
        undrop(project, "main", "host:other.test")
    assert undrop(project, "main", str(barred)).added == 1
    assert barred_scopes(project, "main") == []
    assert undrop(project, "main", str(barred)).added == 0, (
        "typed again after it was killed, it adds nothing twice"
    )
    crawl_in_process(project)
    assert lines(project, "/open")[-1].outcome == "fetched"


def test_a_page_that_is_visited_at_intervals_has_one_next_visit_however_often_it_is_retried(site, project):
    seed_urls(project, f"{site.url}/open", max_depth=0, revisit_s=86_400)
    assert crawl_in_process(project).scheduled == 1
    assert add_retries(project, RetryPlan(crawl="main", outcome="fetched")).added == 1
    assert crawl_in_process(project).scheduled == 1


def test_a_scope_under_another_bar_is_not_said_to_be_barred(site, project):
    seed_urls(project, f"{site.url}/open")
    host, prefix = "host:127.0.0.1", f"prefix:{site.url}/"
    for bar in (host, prefix):
        drop(project, "main", bar)
    crawl_in_process(project)
    found = undrop(project, "main", prefix)
    assert (found.pages, found.added, found.discarded) == (1, 0, {"dropped": 1})
    with pytest.raises(InputError, match=f"{prefix} is not barred; barred are: {host}"):
        undrop(project, "main", prefix)


def test_a_page_that_was_had_under_another_spelling_has_not_ended_as_the_first(site, project):
    written, wanted = "/q?b=1&a=2", "/q?a=2&b=1"
    site.answers |= {written: redirect(wanted), wanted: page("there"), "/old": redirect("/open")}
    seed_urls(project, f"{site.url}{written}", f"{site.url}/old", max_depth=0)
    assert crawl_in_process(project).outcomes["redirected"] == 2
    assert add_retries(project, RetryPlan(crawl="main", outcome="redirected")).pages == 1


@pytest.mark.slow
def test_a_host_that_was_given_up_is_asked_once_more(project):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    urls = [f"http://127.0.0.1:{port}/{i}" for i in range(70)]
    seed_urls(project, *urls)
    assert crawl_in_process(project).reasons == {"failed:dead_refused": 70}
    assert {line.url for line in log_line.lines(project.store, "main") if line.kind == "page"} == set(urls)
    found = add_retries(project, RetryPlan(crawl="main", reasons=("dead_refused",)))
    assert (found.added, ask(project, stats).dead) == (70, 0)
    again = seed_urls(project, *urls[:5], again=True)
    assert (again.added, again.known) == (5, 0)


# Seeds


def test_seeds_are_asked_again_only_where_that_is_said(site, project):
    urls = (f"{site.url}/open", f"{site.url}/other")
    seed_urls(project, urls[0])
    crawl_in_process(project)
    assert seed_urls(project, urls[0]).known == 1
    again = seed_urls(project, *urls, urls[0], again=True)
    assert (again.added, again.known) == (2, 1)
    assert crawl_in_process(project).is_drained
    assert (site.paths["/open"], site.paths["/other"]) == (2, 1)
    # What was unknown until then is known by its address.
    assert seed_urls(project, *urls).known == 2


# Re-scrapes


def test_a_page_that_failed_during_a_rescrape_is_asked_again_by_the_next(site, project):
    seed_urls(project, f"{site.url}/open")
    crawl_in_process(project)
    plan = Rescrape(crawl="main")
    site.answers["/open"] = BROKEN
    assert add_rescrapes(project, plan).added == 1
    assert crawl_in_process(project).reasons == {"failed:status_500": 1}
    site.answers["/open"] = page("open again")
    found = add_rescrapes(project, plan)
    assert (found.pages, found.added) == (1, 1)
    assert add_rescrapes(project, plan).known == 1
    assert crawl_in_process(project).outcomes["fetched"] == 2
    assert site.paths["/open"] == 1 + 3 + 1


@pytest.mark.parametrize("path", ["/open", "/q?b=1&a=2"])
def test_a_page_that_could_not_be_reached_during_a_rescrape_is_asked_again_by_the_next(site, project, path):
    site.answers[path] = page("open")
    seed_urls(project, f"{site.url}{path}")
    crawl_in_process(project)

    async def hang_up(_, writer):
        writer.close()

    site.answers[path] = hang_up
    add_rescrapes(project, Rescrape(crawl="main"))
    assert crawl_in_process(project).reasons == {"failed:reset": 1}
    found = add_rescrapes(project, Rescrape(crawl="main"))
    assert (found.pages, found.added) == (1, 1)


@pytest.mark.parametrize("answer", [page("", status="410 Gone"), redirect("http://192.0.2.1/")])
def test_a_page_that_is_gone_or_elsewhere_is_not_asked_again(site, project, answer):
    seed_urls(project, f"{site.url}/open", scope="prefix")
    crawl_in_process(project)
    site.answers["/open"] = answer
    add_rescrapes(project, Rescrape(crawl="main"))
    crawl_in_process(project)
    with pytest.raises(InputError, match="no page of it fits"):
        add_rescrapes(project, Rescrape(crawl="main"))


def test_rules_for_robots_are_no_page(site, project):
    site.answers["/robots.txt"] = page("User-agent: *\nDisallow: /no", kind="text/plain")
    seed_urls(project, f"{site.url}/open")
    crawl_in_process(project)
    assert add_rescrapes(project, Rescrape(crawl="main")).pages == 1
