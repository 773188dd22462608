"""Choose the authors of a page. Pure.

The first of these that names anybody counts: <meta>s, JSON-LD, elements marked as the author, in a discussion the
first user, links to pages about an author, lines with a name for bylines, and lines that begin like one, beside the
headline first. What software states where nobody has stated a name counts only if nothing else does.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from thresher.core.unicode14 import is_lower, known
from thresher.extract.facts.json_ld import Node, names, names_by_id, of_article, of_type
from thresher.extract.facts.stated import NOTHING, Stated
from thresher.extract.references import unescape

MAX_NAME_LENGTH = 200
"""Characters of an author's name at most."""
MAX_WRITTEN_NAME = 60
"""Characters of a name in a line at most."""
MAX_STATEMENT_LENGTH = 300
"""Characters that are read of what may name authors. Some expressions here are quadratic."""
MAX_AUTHORS = 20
AUTHOR_LINK = "author link"
"""Source of the text of a link to a page about an author."""
STATED_AUTHOR = "itemprop author"
"""Source of the text of an element with this property."""
FIRST_USER = "first user"
"""Source of the name of the first user on a page of a forum."""
MAX_SURNAME_FIRST = 2
"""Parts between commas that may be the surname and the name of one person, at most."""
AUTHORS = (
    "author", "article:author", "dc.creator", "dcterms.creator", "dc.contributor", "citation_author",
    "parsely-author", "sailthru.author", "article.author", "authors", "article_author", "article:author_name",
    "byl", "byline", "rbauthors", "creator", "dc:creator", "cxenseparse:author", "shareaholic:article_author_name",
    "og:author", "og:article:author", "vr:author", "book:author", "dable:author",
)  # fmt: skip
"""Names of a <meta> with an author."""
BYLINE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:author|byline|by-line|writer|autor|auteur|redakteur|journalist|fn|contributor)(?:$|[\s_-])"
    r"|author-?name|article-?author|post-?author|entry-?author",
    re.IGNORECASE,
)
_BY = re.compile(
    r"^\W*(?:(?:view )?(?:all )?(?:posts|articles|stories|more) (?:by|from)|(?:alles|mehr|alle \w+) von"
    r"|(?:written|posted|published|submitted|reported|story|text|words|article|created)?\s*by"
    r"|(?:geschrieben|verfasst|erstellt|gespeichert|eingestellt|veröffentlicht|gepostet)?\s*von"
    r"|(?:écrit|publié|rédigé|posté|proposé)?\s*par|(?:escrito|publicado|redactado|postado)?\s*por"
    r"|(?:scritto|pubblicato|postato)?\s*(?:di|da)|(?:geschreven|geplaatst|gepubliceerd)?\s*door|av|af"
    r"|autor(?:a|in|en)?|author|text|redaktion|über den autor"
    r"|ein (?:beitrag|artikel|kommentar|gastbeitrag) von|przez|автор)\s*:?\s+",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s*(?:[|•·●»/\n(\[<@]|\s[-\u2013\u2014]\s|,\s(?=\d|updated|published|senior|staff|associated|editor|reporter|cnn|bbc)"
    r"|\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s+)?(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?"
    r"|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?,?\s+\d"
    r"|\b(?:am|on|at|vom|veröffentlicht|published|updated|posted|follow|(?-i:il|le|el|em|op|om|in|for|für|um)|dated?)\b|\d|https?:|\S+@).*",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS = re.compile(r"://|\.(?:com|de|org|net)\b/|^www\.")
_LABEL = re.compile(
    r"\W*(?:(?:written |posted )?by|(?:geschrieben |verfasst )?von|(?:écrit |publié )?par|(?:escrito )?por"
    r"|scritto da|geschreven door|author|autor(?:in|en|a)?|auteur)\W*",
    re.IGNORECASE,
)
"""A line that introduces the name in the next one."""
_IN_CHINESE = re.compile(
    r"(?:作者|撰文|记者|記者|責任編輯|责任编辑|編輯|编辑|執筆|著者|文)\s*[:：]\s*"
    r"([\u4e00-\u9fff\u3040-\u30ff·]{2,8})(?:$|[\s/|）)，,])"
)
"""A line that names the author in Chinese or Japanese."""
_NAME = re.compile(
    r"[^\W\d_][\w.'’-]*(?: (?:von|van|de|der|den|di|da|du|la|le|bin|al|[^\W\d_][\w.'’-]*)){1,3}"
)
"""A line that has nothing but a name of two to four words."""
_ORGANISATION = re.compile(
    r"\b(?:e\.\s?V\.|gmbh|inc\b|ltd\b|llc|stiftung|verlag|zeitung|nachrichten|noticias|redaktion|redacci[oó]n|rédaction|redazione|magazin|e-?mail|media|news|press)"
    r"|\.(?:de|com|at|ch|org|net|fr|es|it)\b",
    re.IGNORECASE,
)
"""Parts of names that people do not have."""
_STAFF = re.compile(
    r"\b(?:redaktion|redacci[oó]n|rédaction|redazione|redação|editorial|staff)\b", re.IGNORECASE
)
_SURELY_BY = re.compile(
    r"\W*(?:(?:written|posted|published|reported|story|words)? ?by|author|autor(?:in|en|a)?|von|par|por|text)\s*:?\s+"
    r"(?=(?-i:[A-ZÀ-Ý])\S* (?-i:[A-ZÀ-Ý])|\S+ ?(?:\||$))",
    re.IGNORECASE,
)
_PARTICLES = frozenset(
    ("von", "van", "de", "der", "den", "di", "da", "du", "la", "le", "bin", "al", "el", "dos")
)
_PROFESSION = re.compile(
    r"\b(?:writers?|reporters?|editors?|correspondents?|contributors?|staff|team|times|post)\b", re.IGNORECASE
)
_MAIL = re.compile(r"[^\s@]+@[^\s@]+")
_USER_NAME = re.compile(r"[^\W\d_][\w.'’-]{0,59}")
"""The name of a user, which may have digits and no surname."""
_CONJUNCTION = re.compile(r" (?:&|and|und|et|y|e|i|en|og|och) ", re.IGNORECASE)
_AND = re.compile(r"\s*(?:;|,|&|\b(?:and|und|et|y|e|i|en|og|och)\b)\s+", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"(?:(?:the|this|your) )?(?:admin(?:istrator)?|author|contributor|name|user|webmaster|guest)"
    r"|unknown|none|null|\(.*",
    re.IGNORECASE,
)
"""What software states where nobody has stated a name, and the credit of a picture."""
_NOT_NAMES = re.compile(
    r"admin(?:istrator)?|editor|editorial(?: team| staff)?|redaktion|redaccion|redacción|unknown|none|null|user"
    r"|(?:powered|written|published|reviewed)(?: by)?|webmaster|staff|guest|posted|author|autor|by|team|ap|afp|dpa"
    r"|reuters|comments?|share|print|subscribe|about(?: (?:the )?(?:author|us|me))?|link|staff writer"
    r"|view all.*|.*\b(?:magazine|copyright|rights reserved|inc\.?|gmbh|ltd\.?|posts?|articles?|follow|profile)\b.*"
    r"|.*\bread more\b.*|未知|佚名|匿名",
    re.IGNORECASE,
)


def choose_author(
    metas: Iterable[tuple[str, str]],
    nodes: Sequence[Node],
    marked: Iterable[tuple[str, str]],
    lines: Iterable[tuple[str, str]],
    sites: Iterable[str],
) -> Stated:
    """Return the names, separated by `; `.

    `metas` are names and contents of <meta>s. `marked` are texts of elements that are marked as the author, and `lines`
    those that may be bylines, each with its source. A name in `sites`, those of the site, counts only if there is no
    other.
    """
    names_of_site = {_letters(site) for site in sites}
    rest: list[Stated] = []
    for value, source in _statements(metas, nodes, marked, lines):
        people = [
            name
            for name in value
            if _letters(name) not in names_of_site
            and not _ORGANISATION.search(name)
            and not _PLACEHOLDER.fullmatch(name)
        ]
        # A page that its staff has written may link to the authors of others.
        if people and not (source == AUTHOR_LINK and any(_STAFF.search(each.value) for each in rest)):
            return Stated(_joined(people), source)
        rest.append(Stated(_joined(value), source))
    return next((each for each in rest if each.value), NOTHING)


def _letters(name: str) -> str:
    """Return the letters and digits of a name, because addresses have no spaces."""
    return "".join(filter(str.isalnum, name.casefold()))


def _statements(
    metas: Iterable[tuple[str, str]],
    nodes: Sequence[Node],
    marked: Iterable[tuple[str, str]],
    lines: Iterable[tuple[str, str]],
) -> Iterator[tuple[list[str], str]]:
    """Yield the names of each source, most reliable first."""
    stated = list(metas)
    yield [name for key, text in stated if key in AUTHORS for name in _stated_names(text)], "meta"
    by_id = names_by_id(nodes)
    people = (
        name
        for key in ("author", "creator")
        for node in (*of_article(nodes), *of_type(nodes, "question"))
        for name in names(node.get(key), by_id)
    )
    yield [name for text in people for name in _stated_names(text)], "json-ld author"
    labels = dict(stated)
    if _LABEL.fullmatch(labels.get("twitter:label1", "")):
        yield list(_stated_names(labels.get("twitter:data1", ""))), "meta twitter:data1"
    for value, source in marked:
        if source in {STATED_AUTHOR, FIRST_USER} and _USER_NAME.fullmatch(value.strip()):
            yield [name for name in [value.strip()] if not _PLACEHOLDER.fullmatch(name)], source
        else:
            yield list(_written_names(value, is_marked=True)), source
    introduced = False
    for value, source in lines:
        is_byline = (_SURELY_BY if source == "line" else _BY).match(value) is not None
        named = introduced or source == AUTHOR_LINK or source.startswith("class")
        if is_byline or (
            named and _NAME.fullmatch(_BY.sub("", value.partition(",")[0].partition("|")[0].strip()))
        ):
            yield list(_written_names(value)), source
        elif (
            not value.isascii()
            and (found := _IN_CHINESE.search(value)) is not None
            and not _NOT_NAMES.fullmatch(found[1])
        ):
            yield [found[1]], source
        introduced = source != "line" and _LABEL.fullmatch(value) is not None


def _stated_names(text: str) -> Iterator[str]:
    name = _BY.sub("", known(unescape(" ".join(text.split())[: MAX_STATEMENT_LENGTH + 1])))
    if (
        0 < len(name) <= MAX_NAME_LENGTH
        and not _ADDRESS.search(name)
        and name[0] != "@"
        and not name.isdigit()
        and not _MAIL.fullmatch(name)
    ):
        parts = _AND.split(name) if _CONJUNCTION.search(name) else _at_commas(name)
        yield from parts if parts and all(map(_is_person, parts)) else [name]


def _at_commas(name: str) -> list[str]:
    """Return the parts between commas; of two with a space between them, the first may be a surname."""
    parts = [part.strip() for part in name.split(",")]
    return parts if len(parts) > MAX_SURNAME_FIRST or ", " not in name else [name]


def _is_person(name: str) -> bool:
    """Return whether a name has two to four words, of which none but the particles of surnames is in small letters, and
    none is a profession.
    """
    words = name.split()
    return (
        2 <= len(words) <= 4
        and all(word[0].isupper() or word in _PARTICLES for word in words)
        and not _PROFESSION.search(name)
    )


def _written_names(text: str, *, is_marked: bool = False) -> Iterator[str]:
    """Yield the names in a line as people write it: `By Ann Lee and Bo Li, 12 May 2020`. A marked name may be that of
    a user, which begins with a small letter.
    """
    stated = text.strip()[:MAX_STATEMENT_LENGTH]
    line = _END.sub("", _BY.sub("", stated, count=1)).strip(" ,.:;–-")
    for name in _AND.split(line):
        words = name.split()
        if (
            name
            and len(name) <= MAX_WRITTEN_NAME
            and len(words) <= 5
            and (is_marked or not is_lower(words[0][0]))
            and not _NOT_NAMES.fullmatch(name)
            and not _PLACEHOLDER.fullmatch(name)
        ):
            yield name


def _joined(stated: Iterable[str]) -> str:
    found: dict[str, str] = {}
    for name in stated:
        key = _letters(name)
        if key not in found or (" " in name and " " not in found[key]):
            found[key] = name  # not the form that addresses have
    return "; ".join(list(found.values())[:MAX_AUTHORS])
