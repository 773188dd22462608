"""The funnel adds up, in filter order, whatever the counts."""

from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.pipeline.funnel import Stage, TokenCounts, make_funnel

RULES = ["language", "gopher_quality", "c4"]
COUNTS = st.fixed_dictionaries(
    {
        f"{fate}.{unit}": st.integers(0, 10**6)
        for fate in ("early/status", "extract/no_text", "language/other", "gopher_quality/few", "c4/curly")
        for unit in ("documents", "payload_bytes", "text_bytes")
    }
)


def kept(documents):
    return {
        "keep.documents": documents,
        "keep.payload_bytes": 10 * documents,
        "keep.text_bytes": 5 * documents,
    }


@given(counts=COUNTS, documents=st.integers(0, 1000), duplicates=st.integers(0, 1000))
def test_what_entered_is_what_left(counts, documents, duplicates):
    duplicates = min(duplicates, documents)
    removed = Stage(
        name="dedup/near", documents=duplicates, payload_bytes=10 * duplicates, text_bytes=5 * duplicates
    )
    found = make_funnel(["main"], counts | kept(documents), RULES, [removed])
    entered = documents + sum(count for key, count in counts.items() if key.endswith(".documents"))
    assert found.records == entered
    assert found.kept.documents == documents - duplicates
    shares = [stage["share"] for stage in expect(list, found.to_dict()["stages"])]
    assert entered == 0 or abs(sum(shares) - 1) < 1e-9


@given(counts=COUNTS)
def test_stages_stand_in_filter_order(counts):
    names = [stage.name.partition("/")[0] for stage in make_funnel(["main"], counts | kept(1), RULES).stages]
    order = ["early", "extract", *RULES, "kept"]
    assert [order.index(name) for name in names] == sorted(order.index(name) for name in names)


def test_tokens_are_exact_where_a_tokenizer_saw_the_text_and_marked_where_not():
    counts = kept(10) | {"c4/curly.documents": 1, "c4/curly.payload_bytes": 9, "c4/curly.text_bytes": 20}
    found = make_funnel(["main"], counts, RULES, tokens=TokenCounts(tokenizer="t", tokens=25, text_bytes=50))
    assert (found.kept.tokens, found.kept.tokens_estimated) == (25, False)
    assert (found.stages[0].tokens, found.stages[0].tokens_estimated) == (10, True)
