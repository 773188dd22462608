"""Rates, the survey of hosts, pictures and texts: pure, and of bounded size."""

import pytest

from thresher.frontier import Hold, HostPage, HostState
from thresher.pipeline.console.host_survey import SHOWN, HostSurvey, seconds_to_finish
from thresher.pipeline.console.sampler import HOUR_SAMPLES, CrawlSamples, Sample
from thresher.pipeline.console.web import shown_text
from thresher.pipeline.console.web.page_rendering import render
from thresher.pipeline.console.web.sparkline import POINTS, share_bar, sparkline


def sample(at_s, pages, **more):
    return Sample(
        at_s=at_s, pages=pages, requests=2 * pages, archived_bytes=100 * pages, waiting=7, errors=0, **more
    )


def host(name, *, waiting=0, delay_ms=1000, hold_ms=None, dead=""):
    rest = None if hold_ms is None else Hold(ms=hold_ms, reason="busy")
    return HostState(
        host=name, waiting=waiting, open=0, delay_ms=delay_ms, rest=rest, origins=(), dead_reason=dead
    )


def test_the_speed_is_that_of_the_last_minute():
    assert CrawlSamples().rates is None
    samples = CrawlSamples()
    for number in range(100):
        samples.add(sample(10.0 * number, 10 * number if number < 90 else 900 + 100 * (number - 90)))
    assert samples.rates is not None
    assert samples.rates.pages_per_s == 10.0
    assert samples.rates.requests_per_s == 20.0
    assert samples.rates.bytes_per_s == 1000.0
    assert samples.series()[0].pages_per_s == 1.0


def test_an_hour_is_kept_and_a_crawl_that_was_made_anew_begins_anew():
    samples = CrawlSamples()
    for number in range(HOUR_SAMPLES + 50):
        samples.add(sample(10.0 * number, number))
    assert len(samples.waiting()) == HOUR_SAMPLES
    samples.add(sample(10_000.0, 3))
    assert (samples.waiting(), samples.rates) == ([7], None)


def test_after_a_pause_of_the_console_the_speed_is_that_since_the_last_sample():
    samples = CrawlSamples()
    samples.add(sample(0.0, 0))
    samples.add(sample(600.0, 600))
    assert samples.rates is not None
    assert samples.rates.pages_per_s == 1.0


def test_a_survey_keeps_the_slowest_the_held_and_the_lost_hosts_and_nothing_else():
    survey = HostSurvey()
    many = [host(f"h{number}", waiting=number) for number in range(3 * SHOWN)]
    survey.add(HostPage(hosts=tuple(many[:60]), cursor="0-7"))
    assert (survey.cursor, survey.result.is_whole, survey.result.hosts) == ("0-7", False, 60)
    held, lost = host("held", waiting=5, hold_ms=60_000), host("lost", dead="dead_dns")
    survey.add(HostPage(hosts=(*many[50:], held, lost), cursor=""))
    found = survey.result
    assert found.is_whole
    assert [each.host for each in found.slowest[:2]] == ["h149", "h148"]
    assert len(found.slowest) == SHOWN
    assert (found.held, found.given_up) == ((held,), (lost,))
    assert found.blocked_by_reason == {"busy": 1, "given_up": 1}
    assert found.blocked_pages == 5
    survey.add(HostPage(hosts=(), cursor="0-3"))
    assert survey.result == found


def test_a_hold_and_the_delay_of_each_page_make_the_time_that_a_host_takes():
    assert seconds_to_finish(host("a", waiting=10, delay_ms=500, hold_ms=60_000)) == 65.0
    assert seconds_to_finish(host("a", waiting=10, delay_ms=0)) == 0.0


@pytest.mark.parametrize("values", [[], [0], [1.0], [0, 0, 0], [-1, 5], list(range(1000))])
def test_a_picture_has_a_bounded_number_of_points_within_its_frame(values):
    picture = str(sparkline(values, 'of "<b>"'))
    assert "&lt;b&gt;" in picture
    line = picture.partition("<polyline")[2]
    points = [point.split(",") for point in line.partition('"')[2].partition('"')[0].split()]
    assert len(points) <= POINTS
    assert all(0 <= float(x) <= 240 and 0 <= float(y) <= 36 for x, y in points)


def test_a_share_is_drawn_between_nothing_and_all():
    assert 'width="0.00"' in share_bar(0, 0)
    assert 'width="100.00"' in share_bar(7, 5)
    assert 'width="50.00"' in share_bar(1, 2)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (shown_text.short(999), "999"),
        (shown_text.short(12_345), "12.3 k"),
        (shown_text.short(4_560_000), "4.56 M"),
        (shown_text.size(0), "0 B"),
        (shown_text.size(1_234_567), "1.2 MB"),
        (shown_text.size(None), "–"),
        (shown_text.rate(0.04), "0.0"),
        (shown_text.rate(1234.5), "1,234"),
        (shown_text.duration(2.44), "2.4 s"),
        (shown_text.duration(None), "–"),
        (shown_text.moment(0), "–"),
        (shown_text.moment(1e30), "–"),
        (shown_text.share(1, 0), "–"),
        (shown_text.web_address("javascript:alert(1)"), ""),
        (shown_text.address("/x", u="a b&c=<>"), "/x?u=a+b%26c%3D%3C%3E"),
        (shown_text.segment("../x"), "..%2Fx"),
    ],
)
def test_texts_of_numbers_and_addresses(value, said):
    assert value == said


def test_what_strangers_wrote_is_visible_and_bounded():
    assert shown_text.foreign("a\x1b[2J\u202eb") == "a\\x1b[2J\\u202eb"
    assert len(shown_text.foreign("x" * 10_000)) < 2_200
    assert shown_text.foreign(7) == 7


def test_every_value_of_a_template_is_escaped_even_in_attributes():
    text = render(
        "error.html",
        status_code=400,
        text="\"'><script>alert(1)</script>\x1b",
        who="<b>",
        has_login=False,
        form_number="x",
        path="/",
    )
    assert "<script>alert" not in text
    assert "&#34;&#39;&gt;&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "<b>&lt;b&gt;</b>" in text
