import pytest

from thresher.core.standards.moment import parse_moment


@pytest.mark.parametrize("text", ["2024-01-01T24:00", "20240101T2400", "2024-W01-1 24:00:00", "none"])
def test_the_hour_24_is_no_moment(text):
    with pytest.raises(ValueError, match=r"2024|none"):
        parse_moment(text)


@pytest.mark.parametrize("text", ["2024-10-24T00:00:24", "20241024T002400", "2024-10-24", "2024-W24-1"])
def test_other_24s_are(text):
    assert parse_moment(text).year == 2024
