"""What a project cost: every second and byte once, shared among sources and domains, at the user's prices."""

import json
from types import SimpleNamespace

import pytest

from tests.crawler.server import Server, page
from tests.pipeline.crawl_projects import project_at, run_crawl, seed_urls
from thresher.core import InputError
from thresher.frontier import CrawlFigures, WorkerFigures, WorkerReport
from thresher.frontier.link.embedded import embedded_server
from thresher.pipeline import configuration
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.prices import Prices
from thresher.pipeline.recipe import process_sources
from thresher.pipeline.reports import cost_table
from thresher.pipeline.reports.cost import Usage, cost_of, domain_costs, money, project_cost
from thresher.pipeline.terminal.output import console
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.manifest import manifests

GIB = 1 << 30
PRICES = Prices(
    cpu_hour=0.36, gib_stored_month=0.02, gib_egress=0.5, gib_ingress=0.1, request_million=4.0, currency="EUR"
)


def run(step, sources, cpu_s, read=0, written=0):
    row = SimpleNamespace(id=step, step=step, started_ms=1, sources=sources, outcome="done")
    return row, SimpleNamespace(cpu_s=cpu_s, bytes_read=read, bytes_written=written)


class Catalog:
    """Archive files of two sources, and the runs over them."""

    def __init__(self, *runs):
        self._runs = runs

    def runs(self):
        return list(self._runs)

    def files(self, source):
        return [SimpleNamespace(bytes={"a": 3 * GIB, "b": GIB}[source])]

    def parts(self, step, source):
        return [SimpleNamespace(bytes=GIB)] if (step, source) == ("process", "a") else []


def project(*runs, prices=PRICES):
    return SimpleNamespace(catalog=Catalog(*runs), config=SimpleNamespace(prices=prices))


def test_money_is_what_the_prices_say():
    usage = Usage(
        cpu_s=7_200,
        bytes_received=10 * GIB,
        bytes_read=2 * GIB,
        bytes_stored=50 * GIB,
        store_calls=500_000,
        bytes_written=9 * GIB,
    )
    found = money(usage, PRICES)
    assert found.once == pytest.approx(0.72 + 1.0 + 1.0 + 2.0)
    assert found.monthly == pytest.approx(1.0)


def test_a_run_over_two_sources_is_shared_by_their_archived_bytes():
    both = run("process", ["a", "b"], 400.0, read=4 * GIB, written=8)
    found = cost_of(project(both, run("dedup", ["b"], 10.0)), ["a", "b"], None, {})
    assert found.sources["a"].cpu_s == pytest.approx(300)
    assert found.sources["b"].cpu_s == pytest.approx(110)
    assert found.sources["a"].bytes_read == pytest.approx(3 * GIB)
    assert found.steps["process"].cpu_s == pytest.approx(400)
    assert found.steps["dedup"].cpu_s == pytest.approx(10)
    assert found.total.cpu_s == pytest.approx(410)
    assert found.sources["a"].bytes_stored == 4 * GIB
    assert [each.step for each in found.runs] == ["dedup", "process"]


def test_of_one_source_only_its_share_counts():
    found = cost_of(project(run("process", ["a", "b"], 400.0), run("dedup", ["b"], 9.0)), ["a"], None, {})
    assert found.total.cpu_s == pytest.approx(200), "of b nothing is known here, so it counts as much as a"
    assert "dedup" not in found.steps


def test_the_figures_of_workers_are_the_cost_of_the_crawl():
    sums = WorkerFigures(
        cpu_us=90_000_000, bytes_received=2 * GIB, bytes_stored=7, store_calls=(1, 2, 0, 0, 0, 0, 1)
    )
    found = cost_of(project(), ["a"], 3_000_000, {"a": CrawlFigures(sums={"crawler": sums})})
    assert found.steps["crawl"] == Usage(
        cpu_s=90, bytes_received=2 * GIB, bytes_written=7, bytes_stored=3 * GIB, store_calls=4
    )
    assert found.per_million_tokens == pytest.approx(money(found.total, PRICES).once / 3)


def test_a_processor_that_runs_for_weeks_costs_before_its_run_is_recorded():
    made = WorkerFigures(cpu_us=40_000_000, bytes_read=GIB, bytes_stored=9, parts=3)
    figures = CrawlFigures(
        sums={"processor": WorkerFigures(cpu_us=100_000_000)},
        workers={
            "p1": WorkerReport(kind="processor", rss_bytes=1, figures=made),
            "c1": WorkerReport(kind="crawler", rss_bytes=1, figures=made),
        },
    )
    found = cost_of(project(run("process", ["a"], 60.0)), ["a"], None, {"a": figures})
    assert found.steps["process"] == Usage(cpu_s=100, bytes_read=GIB, bytes_written=9, bytes_stored=GIB)
    assert found.sources["a"].cpu_s == pytest.approx(100)
    assert found.total.cpu_s == pytest.approx(100)


def test_without_prices_or_tokens_there_is_no_price_of_tokens():
    assert cost_of(project(), ["a"], None, {}).per_million_tokens is None
    assert cost_of(project(), ["a"], 0, {}).per_million_tokens is None
    assert cost_of(project(prices=Prices()), ["a"], 10**6, {}).per_million_tokens is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cpu_hour = -1", "prices.cpu_hour"),
        ("cpu_hour = 1e308", "prices.cpu_hour"),
        ("gib_egress = nan", "prices.gib_egress"),
        ('cpu_hour = "cheap"', "prices.cpu_hour"),
        ('currency = ""', "prices.currency"),
        ("cpu_hours = 1", "did you mean 'cpu_hour'"),
    ],
)
def test_a_wrong_price_is_one_line(tmp_path, line, said):
    with pytest.raises(InputError, match=said):
        configuration.parse(f'[project]\ncontact = "mailto:a@example.org"\n[prices]\n{line}\n', tmp_path)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl of one page, processed."""
    with embedded_server(tmp_path_factory.mktemp("redis")) as address, Server().in_thread() as site:
        site.fallback = lambda _: page(f"<p>{'word ' * 3_000}</p>")
        made = project_at(
            tmp_path_factory.mktemp("priced"), address, more='[prices]\ncpu_hour = 1.0\ncurrency = "EUR"'
        )
        seed_urls(made, f"{site.url}/large")
        run_crawl(made)
        with made.worker_pool(1) as pool:
            process_sources(made, ("main",), pool, LineProgress())
        yield made


def test_a_real_crawl_costs_what_its_workers_and_runs_took(crawled, capsys):
    found = project_cost(crawled, ["main"], None)
    assert found.has_crawl_figures
    assert found.steps["crawl"].cpu_s > 0
    assert found.steps["process"].cpu_s > 0
    assert found.total.cpu_s == pytest.approx(sum(usage.cpu_s for usage in found.steps.values()))
    stored = [out.bytes for out in next(manifests(crawled.store, "archive", "main")).outputs]
    assert found.steps["crawl"].bytes_stored in stored, "the index is not counted"
    assert found.steps["crawl"].bytes_received > 10_000
    (one,) = found.runs
    assert (one.step, one.outcome) == ("process", "done")
    json.dumps(found.to_dict())
    cost_table.render(found, console())
    said = capsys.readouterr().out
    assert "Cost (EUR)" in said
    assert "process" in said


def test_domains_share_the_cost_by_the_bytes_that_they_sent(crawled):
    (one,) = domain_costs(crawled, "main")
    whole = project_cost(crawled, ["main"], None).sources["main"]
    assert (one.domain, one.pages) == ("127.0.0.1", 1)
    assert one.usage.cpu_s == pytest.approx(whole.cpu_s)
    assert one.to_dict(crawled.config.prices)["once"] == pytest.approx(whole.cpu_s / 3_600)


def test_a_frontier_that_is_away_leaves_the_rest(crawled):
    text = (crawled.directory / "thresher.toml").read_text().splitlines()
    away = ['redis = "unix:///nowhere/redis.sock"' if line.startswith("redis") else line for line in text]
    found = project_cost(
        OpenProject(config=configuration.parse("\n".join(away), crawled.directory)), ["main"], None
    )
    assert not found.has_crawl_figures
    assert found.steps["process"].cpu_s > 0
    assert found.steps["crawl"].cpu_s == 0
