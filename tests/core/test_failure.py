"""An exception over somebody else's bytes has a name and a place; one that they cannot cause goes on as it is."""

import pytest

from thresher.core import CorruptData, Failure, failure_boundary


def test_a_failure_names_the_step_the_exception_and_the_place_in_one_printable_line():
    with pytest.raises(Failure) as raised, failure_boundary("extract"):
        raise ValueError("bad \x1b[2J\nbytes " + "x" * 10_000)
    assert raised.value.reason == "failed:extract:ValueError"
    text = str(raised.value)
    assert text.isprintable()
    assert len(text) < 400
    assert text.startswith("extract: ValueError: bad  [2J bytes x")
    assert "test_failure.py:" in text
    assert isinstance(raised.value.__cause__, ValueError)
    assert 'test_failure.py", line' in raised.value.traceback
    assert raised.value.traceback.endswith("x" * 100)
    assert len(raised.value.traceback) < 2_000


def test_the_innermost_step_is_the_one_that_is_named():
    with pytest.raises(Failure) as raised, failure_boundary("page"), failure_boundary("links"):
        raise RecursionError
    assert raised.value.reason == "failed:links:RecursionError"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        CorruptData("x is not as it was sealed"),
        OSError(28, "No space left"),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_what_the_bytes_cannot_cause_is_no_failure(error):
    with pytest.raises(type(error)) as raised, failure_boundary("extract"):
        raise error
    assert raised.value is error


def test_an_error_of_a_decoder_is_one_though_it_is_called_an_oserror():
    with pytest.raises(Failure, match="bad block"), failure_boundary("http"):
        raise OSError("bad block")


class Wordless(Exception):
    """Cannot say what it is."""

    def __str__(self):
        raise ValueError("no words")


def test_an_exception_that_cannot_be_printed_is_a_failure_too():
    with pytest.raises(Failure, match="spider: Wordless: ") as raised, failure_boundary("spider"):
        raise Wordless
    assert raised.value.reason == "failed:spider:Wordless"
