"""What may happen to a crawl, as strategies of Hypothesis: pages, policies, ends of leases, and orders."""

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.frontier.contract import HOUR, MINUTE, SECOND
from thresher.frontier import (
    Discovery,
    Fault,
    HostSwitch,
    Outage,
    Outcome,
    Rank,
    Scope,
    UrlPolicy,
    WorkerFigures,
    WorkerReport,
    canonicalize,
)
from thresher.frontier.request_state import RequestState

WORKERS = ("v", "w")
ORIGINS = ("http://a.test", "https://a.test", "http://b.test:81", "http://www.b.test")
HOSTS = ("a.test", "b.test", "www.b.test", "unknown.test")
DOMAINS = ("a.test", "b.test")
SCOPES = ("host:a.test", "domain:b.test", "prefix:http://b.test:81/x", "host:unknown.test")


def page(origin, path, depth, priority, generation, interval_s, listed, again, notify):
    url = canonicalize(f"{origin}/{path}")
    return Discovery(
        url=url,
        scope=Scope.of("host", url),
        depth=depth,
        priority=priority,
        generation=generation,
        interval_s=interval_s,
        listed=listed,
        again=again,
        state=RequestState(etag=path * depth),
        notify=notify,
    )


rarely = st.sampled_from([0] * 9 + [1])
pages = st.lists(
    st.builds(
        page,
        st.sampled_from(ORIGINS),
        st.sampled_from([*"12345", "x/1", "x/2?b&a=1", "x/2?a=1&b"]),
        st.integers(0, 3),
        st.integers(0, 1),
        rarely,
        st.sampled_from([0, 0, 10_000]),
        st.booleans(),
        rarely,
        st.sampled_from([False, False, True]),
    ),
    max_size=8,
)
switches = st.builds(
    HostSwitch,
    on=st.booleans(),
    hosts=st.sampled_from([{}, {"b.test": False, "www.b.test": True}, {"test": True, "a.test": False}]),
)
policies = st.none() | st.builds(UrlPolicy, traps=switches, query_order=switches)
BEFORE, AT = "the next lease is just before something happens", "the next lease is when something happens"
gaps = st.sampled_from([0, 500, 2 * SECOND, 5 * SECOND, 61 * SECOND, 3 * HOUR, BEFORE, AT, AT])
spans = st.sampled_from([0, SECOND, 7 * SECOND, 30 * SECOND, 61 * SECOND])


@dataclass(frozen=True, kw_only=True)
class End:
    """What a worker does with a lease."""

    released: bool
    elapsed: int | None
    how: str
    outcome: Outcome
    reason: str
    fault: Fault | None
    found: tuple[Discovery, ...]
    wait: int | None
    hold: int
    sketch: int | None
    address: str
    stale: bool
    asked: bool
    delay: int | None
    died: bool


ends = st.builds(
    End,
    released=st.booleans(),
    elapsed=st.sampled_from([None, 0, 400, 3 * SECOND, 10 * MINUTE]),
    how=st.sampled_from(["settle"] * 5 + ["leave", "leave", "retry", "retry", "postpone", "enter", "other"]),
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(["", "r", "refused", "tls_expired"]),
    fault=st.none() | st.none() | st.sampled_from(Fault),
    found=pages.map(tuple),
    wait=st.none() | spans,
    hold=st.just(0) | spans,
    sketch=st.sampled_from([None, 1, 2, 3]),
    address=st.sampled_from(["192.0.2.1", "2001:db8::1"]),
    stale=st.sampled_from([False] * 5 + [True]),
    asked=st.sampled_from([True] * 5 + [False]),
    delay=st.sampled_from([None, 0, 0, 2 * SECOND]),
    died=st.sampled_from([False] * 5 + [True]),
)


def action(verb, *args, **named):
    return st.tuples(st.just(verb), st.tuples(*args), st.fixed_dictionaries(named))


workers = st.sampled_from(WORKERS)
hosts = st.sampled_from(HOSTS)
actions = st.one_of(
    action("workers.reclaim", workers, is_worker_dead=st.booleans(), has_crashed=st.booleans()),
    action("workers.take_over", st.sampled_from([["v"], ["u"], ["v", "u"]])),
    action("operator.hold", hosts, spans),
    action("operator.resume", hosts),
    action(
        "politeness.reserve_turn",
        hosts,
        max_wait_ms=spans,
        delay_ms=st.sampled_from([0, 2 * SECOND]),
        since_ms=st.none() | spans,
        ahead=st.sampled_from([0, 1, 30]),
    ),
    action(
        "politeness.end_turn",
        hosts,
        delay_ms=st.sampled_from([0, 2 * SECOND]),
        has_lease=st.booleans(),
        busy=st.sampled_from(["", "", "status_429"]),
        hold_ms=st.just(0) | spans,
    ),
    action("operator.prefer", st.dictionaries(st.sampled_from(DOMAINS), st.sampled_from(Rank), max_size=2)),
    action("operator.drop", st.sampled_from(SCOPES).map(Scope.parse)),
    action("operator.undrop", st.sampled_from(SCOPES).map(Scope.parse)),
    action(
        "backlog.report",
        follower=st.just("p"),
        backlog=st.integers(0, 12),
        limit=st.just(10),
        ttl_ms=st.sampled_from([SECOND, MINUTE]),
    ),
    action("settle", st.just(()), archived=st.integers(0, 12)),
    action("backlog.withdraw", st.sampled_from(["p", "q"])),
    action(
        "workers.send_heartbeat",
        workers,
        spans,
        stalled_ms=st.none() | spans,
        outage=st.none()
        | st.builds(Outage, why=st.sampled_from(["no name server answers", "é 1 x"]), ms=spans),
        report=st.none()
        | st.builds(
            WorkerReport,
            kind=st.sampled_from(["crawler", "processor"]),
            rss_bytes=st.integers(0, 9),
            figures=st.builds(WorkerFigures, requests=st.integers(0, 9), cpu_us=st.integers(0, 9)),
        ),
    ),
    action("workers.deregister", workers),
    action("add", pages, revive=st.just(True)),
)
