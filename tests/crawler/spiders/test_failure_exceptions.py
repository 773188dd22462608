"""The exception for every reason by which a page may fail is the one that the guide gives."""

import re
from typing import get_args

import pytest
import scrapy.exceptions
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError

from tests.end_to_end.conftest import ROOT
from thresher.core.capture import Truncation
from thresher.crawler.reading.outcome import judge_failure
from thresher.crawler.spiders.spider_exceptions import spider_exception, truncation_exception
from thresher.crawler.wire import FailureReason
from thresher.frontier import Fault, Outcome
from thresher.frontier.lease import FAULT_DETAILS

GUIDE = (ROOT / "docs/guides/spiders.md").read_text(encoding="utf-8")
DEAD = {
    f"dead_{kind}"
    for kind in {*FAULT_DETAILS, *(Fault.DNS, Fault.CONNECT, Fault.RESET, Fault.TIMEOUT, Fault.TLS)}
}


def table():
    """Return the exceptions that the guide gives for each reason; a reason may have several."""
    rows = re.findall(r"^\| (`[^|]+) \| [^|]+ \| `(\w+)`[^|]* \|$", GUIDE, re.MULTILINE)
    assert len(rows) == 12
    found = {}
    for reasons, name in rows:
        kind = HttpError if name == "HttpError" else getattr(scrapy.exceptions, name)
        for reason in re.findall(r"`([a-z_.]+)`", reasons):
            found.setdefault(reason, set()).add(kind)
    return found


@pytest.mark.parametrize("reason", get_args(FailureReason))
def test_failures_of_the_wire_have_the_exceptions_of_the_guide(reason):
    assert table()[reason] == {type(spider_exception(judge_failure(reason).outcome, reason))}


@pytest.mark.parametrize(
    "reason", sorted({*DEAD, "robots_unreachable", "lease_expired", "parser_crash", "reading"})
)
def test_pages_that_are_given_up_have_the_exceptions_of_the_guide(reason):
    assert table()[reason] == {type(spider_exception(Outcome.FAILED, reason))}


@pytest.mark.parametrize("truncated", get_args(Truncation))
def test_incomplete_bodies_have_the_exceptions_of_the_guide(truncated):
    assert table()[f"truncated_{truncated}"] == {type(truncation_exception(truncated))}


def test_the_guide_lists_no_other_reasons():
    known = {*get_args(FailureReason), *DEAD, *(f"truncated_{why}" for why in get_args(Truncation))}
    others = {reason for reason, kinds in table().items() if kinds == {IgnoreRequest}}
    rest = {"robots_unreachable", "lease_expired", "parser_crash", "reading", "middleware"}
    answers = {"status_...", "no_location", "bad_location", "block_page"}
    assert set(table()) == known | others | rest | answers


def test_the_text_of_an_exception_begins_with_the_reason():
    assert str(spider_exception(Outcome.FAILED, "dns", "NXDOMAIN")) == "dns: NXDOMAIN"
    assert str(spider_exception(Outcome.REFUSED, "robots")) == "robots"
    assert str(truncation_exception("length")).startswith("truncated_length: ")
