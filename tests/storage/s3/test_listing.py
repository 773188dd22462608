"""Names come in byte order, whatever the order of the server, page by page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Unavailable
from thresher.storage.s3.listing import names

part = st.text("ab-.0", min_size=1, max_size=3)
keys = st.sets(st.lists(part, min_size=1, max_size=3).map("/".join), max_size=20)


def server(stored, size, order):
    """Pages of `size` of the entries of one level, in the order of S3 (bytes) or of directories."""

    def page(prefix, token):
        found = set()
        for key in stored:
            if key.startswith(prefix):
                rest = key.removeprefix(prefix)
                found.add(prefix + rest[: rest.index("/") + 1] if "/" in rest else key)
        entries = sorted(found, key=order)
        first = int(token or 0)
        shown = entries[first : first + size]
        return {
            "Contents": [{"Key": entry} for entry in shown if not entry.endswith("/")],
            "CommonPrefixes": [{"Prefix": entry} for entry in shown if entry.endswith("/")],
            "IsTruncated": first + size < len(entries),
            "NextContinuationToken": str(first + size),
        }

    return page


ORDERS = {"bytes": str.encode, "directories": lambda entry: entry.removesuffix("/").encode()}


@pytest.mark.parametrize("order", ORDERS)
@given(stored=keys, prefix=st.text("ab-./", max_size=3), size=st.integers(1, 5))
def test_listing_is_sorting_and_filtering(order, stored, prefix, size):
    page = server({f"root/{name}" for name in stored}, size, ORDERS[order])
    visible = {name for name in stored if not any(part.startswith(".") for part in name.split("/"))}
    assert list(names(page, "root/", prefix)) == sorted(
        (name for name in visible if name.startswith(prefix)), key=str.encode
    )


def test_an_order_that_is_neither_is_refused():
    page = server({"a", "b", "c"}, 1, lambda entry: -ord(entry[0]))
    with pytest.raises(Unavailable, match="in no order that is known"):
        list(names(page, "", ""))


def test_it_is_a_stream():
    asked = []
    inner = server({f"{number:03d}" for number in range(100)}, 10, str.encode)

    def page(prefix, token):
        asked.append(token)
        return inner(prefix, token)

    assert next(names(page, "", "")) == "000"
    assert len(asked) == 1
