"""Read `Posts.xml` of a Stack Exchange dump: each question with its answers becomes one page.

1. One record is one question with all its answers: the accepted answer first, then the others by score. No answer is
   left out for its score. Rows that are neither question nor answer, and answers whose question is not in the file,
   become `UnusableRecord`s.
2. Rows are joined in an SQLite database, because the answers to a question may follow years after it. The operating
   system deletes the database when the reader ends, however it ends. Memory holds the database's cache and one
   question. The disk (`TMPDIR`) holds the posts, compressed to less than half of the file's size.
3. The order of the items is: broken rows as they come; then questions by number, and each answer without a question in
   the place of its question; then how the file ended. The file is always read from its beginning; the questions before
   number `first` are joined but not built.
4. Names of people are left out. The licence of the page is the latest version among its posts: each version of CC BY-SA
   permits later versions for adapted works.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from html import escape
from itertools import groupby
from operator import attrgetter
from typing import BinaryIO, NamedTuple, TypeAlias

import zstandard

from thresher.core import Failure, InputError, failure_boundary
from thresher.core.standards.moment import parse_moment
from thresher.storage.inputs.dumps.elements import BROKEN_XML, TOO_LONG, Element, elements, parse, parse_head
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord, guard

MIME = "text/html; charset=utf-8"
HOST = re.compile(
    r"(?<![a-z0-9-])(?<![a-z0-9-]\.)(?:(?:[a-z0-9-]++\.)*(?:stackexchange|stackoverflow)\.com|(?:meta\.)?(?:superuser|serverfault|askubuntu|stackapps)\.com"
    r"|(?:meta\.)?mathoverflow\.net)",
    re.IGNORECASE,
)
"""Host of a site of the network in the name of a dump's folder or file: `unix.stackexchange.com/Posts.xml`."""
LANGUAGES = re.compile(r"(?:meta\.)?(es|ja|pt|ru)\.(?:meta\.)?stackoverflow\.com")
LICENSES = (
    ("2018-05-02", "4.0"),
    ("2011-04-08", "3.0"),
    ("", "2.5"),
)
"""First day of each version of CC BY-SA, and the version (https://stackoverflow.com/help/licensing)."""
VERSION = re.compile(r"CC BY-SA (\d\.\d)", re.ASCII)
MAX_TITLE_LENGTH = 300
"""Characters of a title at most: twice what the site permits."""
QUESTION, ANSWER = "1", "2"
CACHE_KIB = 16 << 10
"""KiB of the database's pages that SQLite keeps in memory."""

_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<posts[\s>]")
_NUMBER = re.compile(r"-?\d{1,18}", re.ASCII)
_TAG = re.compile(r"[^<>|\s]+")
_SETTINGS = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = FILE",
    f"PRAGMA cache_size = -{CACHE_KIB}",
)
_TABLE = (
    "CREATE TABLE posts (question INTEGER, id INTEGER, score INTEGER, accepted INTEGER, title TEXT, tags TEXT,"
    " created TEXT, edited TEXT, version TEXT, body BLOB)"
)
_INDEX = "CREATE INDEX by_question ON posts (question)"
_INSERT = "INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_JOINED = "SELECT * FROM posts ORDER BY question, rowid"


_Make: TypeAlias = "Callable[[int], InputRecord | UnusableRecord]"
"""`make(place)` builds an item; it is called only for the items that the caller asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dump:
    """Facts about the file that apply to all its posts."""

    site: str
    name: str
    limit: int


class _Post(NamedTuple):
    """A row of the file. In the row of a question, `question` is its own `id`."""

    question: int
    id: int
    score: int
    accepted: int
    """Number of the accepted answer; 0 if there is none or the post is an answer."""
    title: str
    tags: str
    created: str
    """`2009-04-30T06:49:01.807`, UTC."""
    edited: str
    version: str
    """Version of its licence, such as `4.0`."""
    body: bytes
    """HTML, compressed with Zstandard."""


def is_dump(head: bytes) -> bool:
    """Return whether an unpacked file with these first bytes is a site's Posts.xml."""
    return _ROOT.match(head) is not None


def read(
    file: BinaryIO, name: str, first: int = 0, *, host: str = "", limit: int = MAX_PAYLOAD_BYTES
) -> Iterator[InputRecord | UnusableRecord]:
    """Yield the items of a Posts.xml, from number `first` on.

    `host` is the host of the site if `name` does not contain it. `limit` bounds the bytes of a row, and of a question
    with its answers. Raise `InputError` if the file is not a Posts.xml, or if its site is unknown.
    """
    found = HOST.search(name)
    site = host or (found[0].lower() if found else "")
    if not site:
        raise InputError(
            f"{name} does not say of which site it is: give --site HOST, or put it into a folder"
            " named like the site, such as unix.stackexchange.com/"
        )
    head, rows = elements(file, name, root="posts", begin=b"<row ", limit=limit)
    if not is_dump(head):
        raise InputError(f"{name} is no Posts.xml of Stack Exchange: it does not begin with <posts>")
    parse_head(head, name, lambda _path, _attributes: None)
    # Without a name the database is a temporary file, which the operating system deletes.
    with closing(sqlite3.connect("", isolation_level=None)) as posts:
        for statement in (*_SETTINGS, _TABLE, "BEGIN"):
            posts.execute(statement)
        for place, make in enumerate(_records(posts, rows, _Dump(site=site, name=name, limit=limit))):
            if place >= first:
                yield guard(place, f"question {place + 1}", partial(make, place))


def _records(
    posts: sqlite3.Connection, rows: Iterator[Element | UnusableRecord], dump: _Dump
) -> Iterator[_Make]:
    """Yield what builds each item of the file, in the order of rule 3."""
    ends: list[UnusableRecord] = []
    packer = zstandard.ZstdCompressor(level=1)
    for row in rows:
        if isinstance(row, UnusableRecord):
            ends.append(row)
            continue
        try:
            with failure_boundary("record"):
                post = _post(row, packer)
        except Failure as failure:
            post = failure.reason, f"row {row.number + 1}: {failure}"
        if isinstance(post, _Post):
            posts.execute(_INSERT, post)
        else:
            yield partial(_unusable, *post)
    posts.execute(_INDEX)
    for number, group in groupby(map(_Post._make, posts.execute(_JOINED)), attrgetter("question")):
        yield from _joined(number, group, dump)
    for end in ends:
        yield partial(_unusable, end.reason, end.detail)


def _joined(number: int, group: Iterable[_Post], dump: _Dump) -> Iterator[_Make]:
    """Yield what builds one question with its answers; if the question is not in the file, what builds each answer."""
    question: _Post | None = None
    answers: list[_Post] = []
    size = 0
    for post in group:
        if post.id == number:
            if question is not None:
                yield partial(_unusable, "same_id", f"question {number} is there twice")
                continue
            question = post
        size += zstandard.frame_content_size(post.body)
        if size <= dump.limit and post is not question:
            answers.append(post)
        elif question is None:
            yield partial(_unusable, TOO_LONG, f"answer {post.id} to question {number}")
    if question is None:
        for answer in answers:
            yield partial(_unusable, "no_question", f"answer {answer.id} to question {number}")
    elif size > dump.limit:
        yield partial(_unusable, TOO_LONG, f"question {number} with its answers: {size} bytes")
    else:
        answers.sort(key=lambda answer: (answer.id != question.accepted, -answer.score, answer.id))
        yield partial(_entry, (question, *answers), dump)


def _unusable(reason: str, detail: str, place: int) -> UnusableRecord:
    return UnusableRecord(place=place, reason=reason, detail=detail)


def _post(row: Element, packer: zstandard.ZstdCompressor) -> _Post | tuple[str, str]:
    """Return the post of a row; or the reason code and the place of a row that is passed over."""
    where = f"row {row.number + 1}, at byte {row.offset} unpacked"
    if not row.xml:
        return TOO_LONG, where
    fields: dict[str, str] = {}

    def start(path: tuple[str, ...], attributes: Mapping[str, str]) -> None:
        if path == ("row",):
            fields.update(attributes)

    if wrong := parse(row.xml.rstrip(), start):
        return BROKEN_XML, f"{where}: {wrong}"
    kind, own, parent = fields.get("PostTypeId"), _number(fields.get("Id")), _number(fields.get("ParentId"))
    if kind not in (QUESTION, ANSWER):
        return "no_question_or_answer", f"{where}: PostTypeId {kind}"
    if own is None or (kind == ANSWER and parent in (None, own)):
        return "broken_row", f"{where}: no Id, or an answer without ParentId"
    version = VERSION.fullmatch(fields.get("ContentLicense", ""))
    created, edited = fields.get("CreationDate", ""), fields.get("LastEditDate", "")
    return _Post(
        question=parent if kind == ANSWER and parent is not None else own,
        id=own,
        score=_number(fields.get("Score")) or 0,
        accepted=_number(fields.get("AcceptedAnswerId")) or 0,
        title=fields.get("Title", ""),
        tags=", ".join(_TAG.findall(fields.get("Tags", ""))),
        created=created,
        edited=edited or created,
        version=version[1] if version else _version(edited or created),
        body=packer.compress(fields.get("Body", "").encode()),
    )


def _number(written: str | None) -> int | None:
    return int(written) if written is not None and _NUMBER.fullmatch(written) else None


def _version(day: str) -> str:
    """Return the version of the licence of a post written on `day`. Both `day` and `LICENSES` are in UTC."""
    return next(version for since, version in LICENSES if day >= since)


def _entry(posts: tuple[_Post, ...], dump: _Dump, place: int) -> InputRecord:
    question = posts[0]
    license_ = f"https://creativecommons.org/licenses/by-sa/{max(post.version for post in posts)}"
    language = LANGUAGES.fullmatch(dump.site)
    return InputRecord(
        place=place,
        uri=f"https://{dump.site}/questions/{question.id}",
        mime=MIME,
        payload=_page(posts, license_).encode(),
        date_ms=max(_milliseconds(post.edited) for post in posts),
        facts={
            "id": str(question.id),
            "license": license_,
            "from": dump.name,
            **({"title": question.title[:MAX_TITLE_LENGTH]} if question.title else {}),
            **({"date": question.created[:10]} if _milliseconds(question.created) else {}),
            **({"language": language[1]} if language else {}),
        },
    )


def _page(posts: tuple[_Post, ...], license_: str) -> str:
    title, tags = escape(posts[0].title), escape(posts[0].tags)
    articles = "".join(
        f'<article class="{"answer" if number else "question"}">\n{_unpacked(post)}</article>\n'
        for number, post in enumerate(posts)
    )
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="keywords" content="{tags}"><link rel="license" href="{license_}"></head>\n'
        f"<body><main>\n<h1>{title}</h1>\n{articles}</main></body></html>\n"
    )


def _unpacked(post: _Post) -> str:
    return zstandard.ZstdDecompressor().decompress(post.body).decode()


def _milliseconds(written: str) -> int:
    try:
        when = parse_moment(written).replace(tzinfo=UTC)
    except ValueError:
        return 0
    return max(0, round(when.timestamp() * 1000))
