"""Questions come out with their answers, however far behind them these stand; what does not fit is named."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage import dumps
from tests.storage.dumps import PACKED, posts, row
from thresher.core import InputError
from thresher.storage.inputs.dumps import stackexchange
from thresher.storage.inputs.entry import UnusableRecord

NAME = "dumps/unix.stackexchange.com/Posts.xml"
ROWS = [
    row(4, Title="How to <moor> & go?", Tags="<rope><harbour-2>", AcceptedAnswerId=9, body="<p>How?</p>"),
    row(5, Title="Second"),
    row(6, 4, body="about a tag"),
    row(7, 2, ParentId=4, Score=12, body="<p>Twelve</p>"),
    row(8, 2, ParentId=77, body="<p>lost</p>"),
    row(9, 2, ParentId=4, Score=-1, body="<p>Accepted &amp; low</p>"),
    row(10, 2, ParentId=4, Score=40, body="<p>Forty</p>"),
    row(11, 1, Title="Third"),
    row(12, 2, ParentId=5, body="<p>Late</p>"),
]
DUMP = posts(*ROWS)


def read(data, first=0, name=NAME, **options):
    return dumps.read(stackexchange.read, data, name, first, **options)


def summary(items):
    return [item.reason if isinstance(item, UnusableRecord) else item.facts["id"] for item in items]


@pytest.mark.parametrize("packed", PACKED)
def test_every_row_is_part_of_a_question_or_has_a_reason(packed):
    found = read(PACKED[packed](DUMP))
    assert summary(found) == ["no_question_or_answer", "4", "5", "11", "no_question"]
    assert [item.place for item in found] == list(range(5))


def test_a_question_stands_in_front_of_its_answers_the_accepted_one_first_then_by_score():
    question = read(DUMP)[1]
    assert question.payload.decode() == (
        '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>How to &lt;moor&gt; &amp; go?</title>\n'
        '<meta name="keywords" content="rope, harbour-2">'
        '<link rel="license" href="https://creativecommons.org/licenses/by-sa/4.0"></head>\n'
        "<body><main>\n<h1>How to &lt;moor&gt; &amp; go?</h1>\n"
        '<article class="question">\n<p>How?</p></article>\n'
        '<article class="answer">\n<p>Accepted &amp; low</p></article>\n'
        '<article class="answer">\n<p>Forty</p></article>\n'
        '<article class="answer">\n<p>Twelve</p></article>\n'
        "</main></body></html>\n"
    )


def test_a_question_says_where_it_is_and_of_when():
    question = read(DUMP)[1]
    assert question.uri == "https://unix.stackexchange.com/questions/4"
    assert question.mime == "text/html; charset=utf-8"
    assert question.date_ms == 1588748889123
    assert question.facts == {
        "id": "4",
        "title": "How to <moor> & go?",
        "date": "2020-05-06",
        "license": "https://creativecommons.org/licenses/by-sa/4.0",
        "from": NAME,
    }


@pytest.mark.parametrize(
    ("created", "said", "version"),
    [
        ("2008-09-01T00:00:00.000", {}, "2.5"),
        ("2011-04-07T23:59:59.999", {}, "2.5"),
        ("2011-04-08T00:00:00.000", {}, "3.0"),
        ("2018-05-01T23:59:59.999", {}, "3.0"),
        ("2018-05-02T00:00:00.000", {}, "4.0"),
        ("2008-09-01T00:00:00.000", {"LastEditDate": "2012-01-01T00:00:00.000"}, "3.0"),
        ("2008-09-01T00:00:00.000", {"ContentLicense": "CC BY-SA 4.0"}, "4.0"),
        ("2020-09-01T00:00:00.000", {"ContentLicense": "CC BY-SA 2.5"}, "2.5"),
        ("2020-09-01T00:00:00.000", {"ContentLicense": "all mine"}, "4.0"),
    ],
)
def test_the_licence_is_what_the_post_says_or_what_held_when_it_was_written(created, said, version):
    (question,) = read(posts(row(1, Title="A", created=created, **said)))
    assert question.facts["license"].endswith(f"/by-sa/{version}")


def test_a_page_has_the_latest_licence_of_its_posts():
    old, new = "2009-01-01T00:00:00.000", "2019-01-01T00:00:00.000"
    (question,) = read(posts(row(1, Title="A", created=old), row(2, 2, ParentId=1, created=new)))
    assert question.facts["license"].endswith("/4.0")
    assert question.facts["date"] == "2009-01-01"
    assert question.date_ms == 1546300800000


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("stackoverflow.com/Posts.xml", "stackoverflow.com"),
        ("x/stackoverflow.com-Posts.xml.gz", "stackoverflow.com"),
        ("/data/es.stackoverflow.com/Posts.xml", "es.stackoverflow.com"),
        ("Meta.SuperUser.com/Posts.xml", "meta.superuser.com"),
        ("mathoverflow.net/Posts.xml", "mathoverflow.net"),
    ],
)
def test_the_site_is_in_the_name(name, host):
    (question,) = read(posts(row(1, Title="A")), name=name)
    assert question.uri == f"https://{host}/questions/1"
    assert question.facts.get("language", "") == ("es" if host.startswith("es.") else "")


def test_the_site_may_be_told():
    (question,) = read(posts(row(1, Title="A")), name="Posts.xml", host="qa.example.org")
    assert question.uri == "https://qa.example.org/questions/1"
    with pytest.raises(InputError, match=r"^Posts.xml does not say of which site"):
        read(posts(row(1, Title="A")), name="Posts.xml")


@pytest.mark.parametrize("first", range(7))
def test_reading_goes_on_at_any_question(first):
    assert read(DUMP, first) == read(DUMP)[first:]
    cut = DUMP[: DUMP.index(b"Late")]
    assert read(cut, first) == read(cut)[first:]


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_in_front_of_a_cut_is_read_whereever_it_is(packed):
    data = PACKED[packed](DUMP)
    seen = set()
    for end in range(len(data)):
        try:
            found = read(data[:end])
        except InputError as error:
            assert NAME in str(error)  # noqa: PT017 - a cut in the head may be told or not
            continue
        assert dumps.without_end(found) != found or end > len(data) - 20
        seen.add(
            sum(item.payload.count(b"<article") for item in found if not isinstance(item, UnusableRecord))
        )
    if packed == "plain":
        assert seen == set(range(8))


def test_a_broken_row_costs_itself():
    for harm in ("\0", "<", "&nbsp;", '" Id="3', "\x08"):
        found = read(
            posts(row(1, Title="A"), row(2, body="MARK"), row(3, Title="C")).replace(b"MARK", harm.encode())
        )
        assert summary(found) in (["broken_xml", "1", "3"], ["broken_xml", "broken_xml", "1", "3"]), harm
    for bad in ({"Id": "x"}, {"Id": "9" * 30}, {"PostTypeId": 2}, {"PostTypeId": 2, "ParentId": 1}):
        changed = {"Id": 1, **bad}
        found = read(
            posts(row(changed.pop("Id"), changed.pop("PostTypeId", 1), **changed), row(3, Title="C"))
        )
        assert summary(found) == ["broken_row", "3"]


def test_a_question_that_is_there_twice_is_taken_once():
    found = read(posts(row(1, Title="A"), row(1, Title="B"), row(2, 2, ParentId=1)))
    assert summary(found) == ["same_id", "1"]
    assert found[1].payload.count(b"<article") == 2


def test_what_is_beyond_the_limit_is_passed_over():
    long = posts(row(1, Title="A", body="x" * 2000), row(2), row(3, 2, ParentId=2, body="y" * 700))
    assert summary(read(long, limit=900)) == ["too_long", "2"]
    assert summary(read(long, limit=700)) == ["too_long", "too_long", "2"]
    many = posts(row(1, Title="A"), *(row(n, 2, ParentId=1, body="z" * 300) for n in range(2, 9)), row(9))
    assert summary(read(many, limit=900)) == ["too_long", "9"]


def test_answers_find_their_question_in_any_order_of_rows():
    rows = [row(n, Title=f"Q{n}") for n in range(0, 300, 3)]
    rows += [row(n, 2, ParentId=n // 3 * 3, Score=n % 5, body=f"<p>{n}</p>") for n in range(300) if n % 3]
    straight = read(posts(*rows))
    random.Random(4).shuffle(rows)
    assert read(posts(*rows)) == straight
    assert len(straight) == 100
    assert all(item.payload.count(b"<article") == 3 for item in straight)


@pytest.mark.parametrize("data", [b"", b"<html>", b"<users><row /></users>", b"\x89PNG", b"<posts>\0<row "])
def test_what_is_no_dump_is_refused_by_name(data):
    with pytest.raises(InputError, match=r"dumps/unix.stackexchange.com/Posts.xml is no"):
        read(data)


def test_a_dump_without_posts_has_none():
    assert read(posts()) == []


@given(st.binary(max_size=200), st.integers(0, len(DUMP)), st.integers(0, 40))
def test_nothing_in_a_dump_can_raise_anything_else(noise, at, cut):
    try:
        found = read(DUMP[:at] + noise + DUMP[at + cut :])
    except InputError:
        return
    assert [item.place for item in found] == list(range(len(found)))


def test_a_dump_is_known_by_its_root_element():
    assert stackexchange.is_dump(DUMP[:100])
    assert not stackexchange.is_dump(b'<?xml version="1.0"?><users>')
