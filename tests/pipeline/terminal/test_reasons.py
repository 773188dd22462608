"""Every reason code has words."""

import re
from pathlib import Path
from typing import get_args

import pytest

from thresher import frontier
from thresher.core.capture import Truncation
from thresher.crawler.reading.rendered_page import RenderProblem
from thresher.crawler.wire import FailureReason
from thresher.extract.soft_error import SOFT_ERRORS
from thresher.frontier.lease import FAULT_DETAILS, Fault
from thresher.pipeline.terminal.reasons import describe, describe_with_code

LUA = (Path(frontier.__file__).parent / "lua" / "state" / "host.lua").read_text()
RESTS = re.findall(r"'(\w+)'", re.findall(r"local RESTS = \{(.*?)\}", LUA, re.DOTALL)[0])


@pytest.mark.parametrize(
    "reason",
    sorted(
        {
            *get_args(FailureReason),
            *(problem for problem in get_args(RenderProblem) if problem),
            *(f"truncated_{why}" for why in get_args(Truncation)),
            *SOFT_ERRORS,
            *map(str, Fault),
            *FAULT_DETAILS,
            *RESTS,
            *(f"dead_{reason}" for reason in FAULT_DETAILS | {*Fault}),
            "status_500",
        }
    ),
)
def test_every_reason_has_words(reason):
    assert describe(reason) != reason
    assert describe_with_code(reason) == f"{describe(reason)} ({reason})"


def test_the_reasons_for_which_hosts_rest_were_found():
    assert {"dns", "tls_self_signed", "operator"} <= {*RESTS}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("tls_self_signed", "certificate not trusted"),
        ("dead_tls_self_signed", "host given up: certificate not trusted"),
        ("status_503", "HTTP 503 Service Unavailable"),
        ("status_999", "HTTP 999"),
        ("nobody_knows", "nobody_knows"),
    ],
)
def test_some_words(reason, words):
    assert describe(reason) == words
