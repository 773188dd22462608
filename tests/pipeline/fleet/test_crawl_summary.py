"""The last lines of a crawl."""

import pytest

from thresher.frontier import Stats
from thresher.pipeline.fleet.crawl_summary import CrawlSummary, body, lines


def stats(*, waiting=0, later=0, leased=0, robots=0, requests=0, **settled):
    outcomes, reasons = {}, {}
    for outcome, counts in settled.items():
        outcomes[outcome] = sum(counts.values()) if isinstance(counts, dict) else counts
        if isinstance(counts, dict):
            reasons |= {f"{outcome}:{reason}": count for reason, count in counts.items() if reason}
    return Stats(
        waiting=waiting,
        leased=leased,
        later=later,
        robots=robots,
        hosts=3,
        outcomes=outcomes,
        reasons=reasons,
        requests=requests,
        seen=waiting + leased + later + sum(outcomes.values()),
    )


NOTHING = stats()
LINKLESS = (
    "  {} fetched pages hold `<a` with an address, and no link was found in them; look at some (thresher log c --reason "
    "no_links): if scripts make their links, set crawler.render; if not, report this with your version of Python"
)


def crawled(after, before=NOTHING, **more):
    return CrawlSummary(before=before, stats=after, **more)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (crawled(stats(fetched=5)), ["c: 5 fetched; the frontier is drained"]),
        (crawled(stats(fetched=1, requests=1)), ["c: 1 fetched (1 request); the frontier is drained"]),
        (
            crawled(stats(fetched=5, unchanged=1, waiting=1)),
            ["c: 5 fetched, 1 unchanged; 1 URL waits, run again to continue"],
        ),
        (
            crawled(stats(fetched=5, waiting=1_200), interrupted=True),
            ["c: 5 fetched; interrupted; 1,200 URLs wait, run again to continue"],
        ),
        (
            crawled(
                stats(
                    fetched={"": 1_200, "status_403": 2},
                    failed={"dead_refused": 3, "timeout_connect": 9},
                    gone={"status_404": 40},
                    refused={"robots": 7},
                )
            ),
            [
                "c: 1,202 fetched, 40 gone, 7 refused, 12 failed; the frontier is drained",
                "  9 failed: no connection in time (timeout_connect)",
                "  3 failed: host given up: connection refused (dead_refused)",
                "  7 refused: forbidden by robots.txt (robots)",
                "  40 gone: HTTP 404 Not Found (status_404)",
            ],
        ),
        (
            crawled(stats(waiting=12), holds={"tls_self_signed": 1}),
            [
                "c: nothing fetched: 1 host held, certificate not trusted; 12 URLs wait, run again to continue",
                "  1 host held: certificate not trusted (tls_self_signed)",
                "  until when: thresher frontier hosts c",
            ],
        ),
        (
            crawled(stats(failed={"dead_tls_self_signed": 3})),
            [
                "c: nothing fetched: 3 failed, host given up: certificate not trusted; the frontier is drained",
                "  3 failed: host given up: certificate not trusted (dead_tls_self_signed)",
            ],
        ),
        (
            # Two outcomes have one reason: both count for the most frequent one.
            crawled(stats(failed={"status_404": 3, "dns": 4}, gone={"status_404": 2})),
            [
                "c: nothing fetched: 7 failed, 2 gone, HTTP 404 Not Found; the frontier is drained",
                "  4 failed: the host name has no address (dns)",
                "  3 failed: HTTP 404 Not Found (status_404)",
                "  2 gone: HTTP 404 Not Found (status_404)",
            ],
        ),
        (
            crawled(
                stats(failed={"tls_self_signed": 2}, waiting=3), holds={"tls_self_signed": 1, "operator": 2}
            ),
            [
                "c: nothing fetched: 2 failed, 3 hosts held, certificate not trusted; 3 URLs wait, run again to continue",
                "  2 failed: certificate not trusted (tls_self_signed)",
                "  2 hosts held: held with `thresher frontier hold` (operator)",
                "  1 host held: certificate not trusted (tls_self_signed)",
                "  until when: thresher frontier hosts c",
            ],
        ),
        (
            crawled(stats(waiting=10), outage="no name server answers (192.0.2.53:53), for 185 s"),
            [
                "c: nothing fetched: no name server answers (192.0.2.53:53), for 185 s; 10 URLs wait, run again to continue",
                "  waited for the web: no name server answers (192.0.2.53:53), for 185 s",
            ],
        ),
        (crawled(NOTHING), ["c: nothing fetched, because nothing waited; the frontier is drained"]),
    ],
)
def test_what_a_crawl_says_at_its_end(found, said):
    assert lines("c", found) == said


def test_only_what_this_command_did_is_counted():
    before = stats(fetched=100, failed={"dns": 7}, waiting=2, requests=5_000)
    after = stats(fetched=101, failed={"dns": 8}, requests=6_234)
    found = crawled(after, before)
    assert lines("c", found)[0] == "c: 1 fetched, 1 failed (1,234 requests); the frontier is drained"
    assert found.failed == 1
    said = body("c", found)
    assert said["run"] == {
        "requests": 1_234,
        "outcomes": {"fetched": 1, "failed": 1},
        "reasons": {"failed:dns": 1},
    }
    assert said["outcomes"] == {"fetched": 101, "failed": 8}
    assert (said["drained"], said["interrupted"], said["holds"]) == (True, False, {})


def test_the_most_frequent_reasons_are_named_and_the_others_counted():
    found = crawled(stats(fetched=1, failed={f"status_{500 + n}": n + 1 for n in range(8)}))
    said = lines("c", found)
    assert said[1] == "  8 failed: HTTP 507 Insufficient Storage (status_507)"
    assert said[-1] == "  6 more for other reasons"
    assert len(said) == 1 + 5 + 1


def test_a_frequent_reason_is_named_before_a_rare_one_of_a_graver_outcome():
    found = crawled(
        stats(fetched=1, failed={f"status_{500 + n}": 1 for n in range(8)}, refused={"robots": 9_000})
    )
    said = lines("c", found)
    assert "  9,000 refused: forbidden by robots.txt (robots)" in said
    assert said[-1] == "  4 more for other reasons"


@pytest.mark.parametrize(
    ("linkless", "others", "said"),
    [(5, 0, "5 of 5"), (1_200, 1_200, "1,200 of 2,400"), (4, 0, ""), (5, 6, ""), (0, 9, "")],
)
def test_lost_links_are_said_if_half_of_the_pages_lost_theirs(linkless, others, said):
    summary = crawled(stats(fetched={"no_links": linkless, "": others}))
    expected = LINKLESS.format(said) if said else ""
    assert lines("c", summary)[1:] == ([expected] if said else [])
    assert body("c", summary)["linkless"] == expected.strip()


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 fetched page says"), (1_200, "1,200 fetched pages say"), (0, "")]
)
def test_pages_whose_scripts_were_not_run_are_said(count, said):
    summary = crawled(stats(fetched={"unrendered": count, "": 9}))
    found = body("c", summary)["unrendered"]
    assert found.startswith(said)
    assert lines("c", summary)[1:] == ([f"  {found}"] if said else [])
