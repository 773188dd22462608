"""Every reason code has words."""

import re
from pathlib import Path
from typing import get_args

import pytest

import frontier
from core.capture import Truncation
from crawler.reading.rendered_page import Problem
from crawler.wire import Reason
from extract.soft_error import SOFT_ERRORS
from frontier.lease import FINER, Fault
from pipeline.terminal.reasons import in_words, shown

LUA = (Path(frontier.__file__).parent / "lua" / "state" / "host.lua").read_text()
RESTS = re.findall(r"'(\w+)'", re.search(r"local RESTS = \{(.*?)\}", LUA, re.DOTALL)[1])


@pytest.mark.parametrize(
    "reason",
    sorted(
        {
            *get_args(Reason),
            *(problem for problem in get_args(Problem) if problem),
            *(f"truncated_{why}" for why in get_args(Truncation)),
            *SOFT_ERRORS,
            *map(str, Fault),
            *FINER,
            *RESTS,
            *(f"dead_{reason}" for reason in FINER | {*Fault}),
            "status_500",
        }
    ),
)
def test_every_reason_has_words(reason):
    assert in_words(reason) != reason
    assert shown(reason) == f"{in_words(reason)} ({reason})"


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
    assert in_words(reason) == words
