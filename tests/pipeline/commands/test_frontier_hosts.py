"""What `thresher frontier hosts` says of a host."""

from datetime import UTC, datetime

import pytest

from thresher.frontier import Hold, HostState
from thresher.pipeline.commands.frontier_hosts import host_body, host_lines

NOW = datetime(2026, 11, 22, 4, 15, 10, tzinfo=UTC)


def host(*, rest=None, dead="", origins=(), repeats="", templates=0):
    return HostState(
        host="a.test",
        waiting=1,
        open=0,
        delay_ms=1_500,
        rest=rest,
        origins=origins,
        dead_reason=dead,
        repeats=repeats,
        starved_templates=templates,
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (host(), ["a.test: may be asked, 1.5 s apart; 1 page waits"]),
        (
            host(rest=Hold(ms=720_000, reason="tls_self_signed")),
            [
                "a.test: held for 12 min, until 2026-11-22 04:27:10 UTC: certificate not trusted (tls_self_signed); 1 page waits"
            ],
        ),
        (
            host(rest=Hold(ms=0, reason="refused")),
            [
                "a.test: held until the next request, which is a probe: connection refused (refused); 1 page waits"
            ],
        ),
        (
            host(dead="dead_dns"),
            ["a.test: host given up: the host name has no address (dead_dns); 1 page waits"],
        ),
        (
            host(repeats="templates", templates=2),
            [
                "a.test: may be asked, 1.5 s apart; 1 page waits",
                "  2 kinds of URLs say nothing new, so 1 in 64 of its URLs is requested (docs/guides/traps.md)",
            ],
        ),
        (
            host(repeats="domain"),
            [
                "a.test: may be asked, 1.5 s apart; 1 page waits",
                "  the pages of its registered domain say nothing new, so 1 in 64 of its URLs is requested (docs/guides/traps.md)",
            ],
        ),
        (
            host(origins=(("http://a.test:81", Hold(ms=60_000, reason="")),)),
            [
                "a.test: may be asked, 1.5 s apart; 1 page waits",
                "  http://a.test:81: held for 1 min, until 2026-11-22 04:16:10 UTC",
            ],
        ),
    ],
)
def test_a_host_is_described_in_one_line(state, said):
    assert list(host_lines(state, NOW)) == said


def test_programs_read_until_when():
    said = host_body(host(rest=Hold(ms=1_000, reason="refused")), NOW)
    assert (said["state"], said["reason"], said["until"]) == ("held", "refused", "2026-11-22T04:15:11Z")
    assert host_body(host(dead="dead_dns"), NOW)["state"] == "given_up"


def test_programs_read_what_repeats_itself():
    said = host_body(host(repeats="templates", templates=2), NOW)
    assert (said["state"], said["repeats"], said["starved_templates"]) == ("asked", "templates", 2)
