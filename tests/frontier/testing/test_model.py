"""Whatever happens in whatever order, the server and the model in memory tell the same story."""

import asyncio
import time
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from tests.frontier.contract import HOUR
from tests.frontier.fixed_clock import Clock, memory_crawl, server_crawl
from tests.frontier.testing.crawl_examples import policies
from tests.frontier.testing.twin_crawls import ALL, ALWAYS, Machine, plain
from thresher.frontier import Discovery, Kind, Outcome, Scope, Settlement, canonicalize

_serial = count()

said = st.lists(
    st.tuples(
        st.integers(1, 20), st.sampled_from(["same", "same", "new", "rarely new", "silent"]), st.booleans()
    ),
    min_size=8,
    max_size=20,
)
MAZES = ("http://a.test/maze/%d", "http://a.test/%d?page=1", "http://www.a.test/%d", "http://b.test/%d")


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(said=said, partitions=st.sampled_from([1, 4]), policy=policies)
def test_the_server_and_the_model_starve_the_same(address, said, partitions, policy):
    """Pages of four templates, three hosts and two domains, which say something new or not, and lead on or not."""

    async def run():
        clock = Clock(int(time.time() * 1000))
        real = await server_crawl(
            address, f"traps-{next(_serial)}", clock, partitions=partitions, policy=policy
        )
        model = await memory_crawl(clock, policy=policy)
        sketches, pages = count(100), count()
        try:
            for number, says, leads_on in said:
                found = [page_of(maze % next(pages)) for _ in range(number) for maze in MAZES]
                found[0] = replace(found[0], listed=True)
                assert await real.frontier.add(found) == await model.frontier.add(found)
                granted = []
                for crawl in (real, model):
                    for _ in range(2):
                        leases = await crawl.frontier.lease(ALL, worker="w", lease_ms=HOUR)
                        for lease in leases:
                            if lease.kind is Kind.ROBOTS:
                                await crawl.frontier.origins.settle_robots(
                                    lease, rule="allow", body=b"", ttl_ms=ALWAYS, delay_ms=None
                                )
                            else:
                                granted.append(lease)
                half = len(granted) // 2
                assert plain(granted[:half]) == plain(granted[half:])
                spoken = {}
                for i, lease in enumerate(granted[:half]):
                    new = says == "new" or (says == "rarely new" and i % 12 == 0)
                    spoken[lease.url] = None if says == "silent" else next(sketches) if new else 7
                for crawl, half_of in ((real, granted[:half]), (model, granted[half:])):
                    ended = [
                        Settlement(
                            lease=lease,
                            outcome=Outcome.FETCHED,
                            sketch=spoken[lease.url],
                            discoveries=tuple(found[:1]) if leads_on else (),
                        )
                        for lease in sorted(half_of, key=lambda lease: lease.url.text)
                    ]
                    assert await crawl.frontier.settle(ended) == half
                assert await real.frontier.stats() == await model.frontier.stats()
        finally:
            await real.aclose()

    asyncio.run(run())


def page_of(text):
    url = canonicalize(text)
    return Discovery(url=url, scope=Scope.of("host", url))


def examine(address, partitions, examples, steps):
    machine = type("Examined", (Machine,), {"address": address, "partitions": partitions})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("partitions", [1, 4])
def test_the_server_and_the_model_agree_after_every_step(address, partitions):
    examine(address, partitions, examples=5, steps=10)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("partitions", [1, 4])
def test_the_server_and_the_model_agree_after_very_many_steps(address, partitions):
    examine(address, partitions, examples=100, steps=25)
