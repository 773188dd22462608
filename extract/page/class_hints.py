"""`ClassHints`: hints that the class and the id of an element give about its contents. Pure.

Nothing requires such names to mean anything, but people write templates, and most templates use the same words. The
weights and the first two lists of words follow Arc90's Readability (2009) and its successors.
"""

import re
from functools import cache, lru_cache
from typing import NamedTuple

import re2

LONGEST = 400
"""Characters of class and id together that are read in full; of longer ones, the first `LONGEST` of each are read."""

_UNLIKELY = (
    r"-ad-|ai2html|banner|breadcrumb|combx|comment|community|consent|cookie|cover-wrap|disqus|extra|footer|gdpr"
    r"|header|legends|menu|related|remark"
    r"|replies|rss|shoutbox|sidebar|skyscraper|social|sponsor|supplemental|ad-break|agegate|pagination|pager|popup"
    r"|yom-remote"
    r"|tweet|twitter"
    r"|newsletter|sign-?up|swiper|carousel|outbrain|taboola|zergnet|most-?(?:read|popular)|trending|recommend|recirc"
    r"|copyright|inline-?(?:promo|related)|read-?(?:more|next)|also-?read|more-?(?:stories|news|articles)"
    r"|author-?(?:bio|desc|info|box|data|section|about|card|profile)|bio-?box|about-?(?:the-?)?author"
    r"|(?:^|[-_])modal(?:$|[-_])|paywall.|.paywall|end-slate"
)
"""Of the names with `paywall`, only compounds are notices: `paywall` itself marks the text that subscribers read, as in
Google's guide to structured data of paywalled content.
"""
_POST = (
    r"(?:post|message|msg|comment|reply|resp(?:onse)?|subj(?:ect)?|kmsg|topic|answer|js-post)s?[-_]*"
    r"(?:user[-_]?content|body[-_]?copy|body|text|message|contents?|inner[-_]?text)$"
    r"|(?:user-?content|bbwrapper|crawler-post|lia-message-body-content|s-prose|cpost_contentwrap|ipstype_richtext"
    r"|comment__(?:content|body)|post__(?:content|body|text)|message__(?:content|body)|post_message)$"
)
"""Names that the software of forums gives to the body of a post."""
_FOOTER = (
    r"(?:(?:site|page|main|global|doc|top|primary|secondary)[-_]?)?"
    r"(?:footer|nav(?:igation)?(?:[-_]?bar|[-_]?links)?)$"
)
_MAYBE = r"and|article|body|column|content|main|mathjax|shadow"
_POSITIVE = r"article|body|content|entry|hentry|h-entry|main|page|pagination|post|text|blog|story"
_NEGATIVE = (
    r"-ad-|hidden|^hid$|banner|combx|comment|com-|contact|foot|gdpr|masthead|media|meta|outbrain|promo|related"
    r"|scroll|share|shoutbox|sidebar|skyscraper|sponsor|shopping|tags|widget"
)
_COMMENTS = (
    r"(?:^|[_-])(?:comments?|commentlist|commentarea|commentsblock"
    r"|comment[_-]?(?:list|area|section|thread|container|content|wrap|block|box|body|s)\w*|respond|disqus\w*|dsq-\w+"
    r"|replies"
    r"|trackbacks?|pingbacks?|livefyre\w*|echo-\w+|js-kit\w*|idc-\w+|intensedebate\w*|usercomments|readercomments"
    r"|fb-comments"
    r"|commentary-list)(?:$|[_-])|[_-]comments?$"
)
_CAPTION = (
    r"(?:post|entry|article|story)[-_]?author$|caption|photo-?credit|img-?credit|image-?credit|photo-?meta"
    r"|image-?(?:meta|info|text)|byline-img|image-?annotation|img-?legend|(?:^|-)legend$"
)
_SURELY = (
    r"side-?bar|related|foot|menu|widget|promo|sponsor|author|profile|about|bio|slide|gallery|lightbox|legend|banner"
    r"|tags|meta|contact"
    r"|share|social|popup|modal|cookie|gdpr|newsletter|signup|subscri"
)
_VOICES = r"comment|disqus|repl|respon|discuss|remark|combx|shoutbox|feedback|trackback|pingback"
_NEUTRAL = (
    r"(?:[a-z]+[-_]){0,2}(?:comments?|side-?bar|header|footer|menu|nav|banner|modal|popup|cookies?)[-_]"
    r"(?:open(?:ed)?|closed?|enabled|disabled|active|inactive|fixed|sticky|visible|hidden|on|off|allowed)$"
    r"|elementor|(?:has|with|without|no|show|hide)[-_]?(?:side-?bar|skyscraper|banner|header|footer|menu|ads?)"
    r"|overflow-(?:[xy]-)?(?:hidden|scroll|auto|visible|clip)$"
)
"""Names of page builders, and names that state which parts a layout has, in which state they are, or how a box is cut
off.
"""
_CONTENT = (
    r"(?:(?:main|page|body|article|doc|docs|documentation|rst|md|mw|api|wiki|section)[-_]?)?contents?(?:[-_]?(?:text|body|area))?$"
    r"|(?:main|main-?body|body|docs?-body|document|documentation|bodywrapper|theme-doc-markdown|mw-parser-output)$"
    # DocBook's elements.
    r"|(?:book|part|reference|preface|chapter|appendix|refentry|sect[1-5]|section|glossary|bibliography)$"
)
_REFERENCE = (
    r"sphinxsidebar|documentwrapper$|rst-content$|toctree-|theme-doc-|md-content$"  # Sphinx, Docusaurus, MkDocs
    r"|ref(?:entry|sect\d|synopsisdiv)$|nav(?:header|footer)$|memitem$|memproto$"  # DocBook, Doxygen
    r"|rustdoc$|docblock$|apidocs?$|api_stability|directive-section$|subnavlist$"  # and other tools
    r"|(?:member|overview|package)summary$"
    r"|mw-(?:content-text|parser-output)$|qml(?:item|doc|proto)$|cppitem|haddock"
    r"|package-header$|cmt$|fullcomment(?:top)?$|shortcomment$"  # Haddock, Scaladoc
    r"|mkdocs[-_]|simple-toc$|flipmenu$|innertube$"  # MkDocs, Nim, Erlang
    r"|tocset$|sinsetflow$|scodeflow$|mainsection$|nstext$"  # Scribble, Sandcastle
    r"|navlistsearch$|navbarcell1"  # Javadoc, which states no generator before its version 15
)
_LINK_DISCUSSION = r"(?:fatitem|comtr|comments_subtree|nestedlisting)$"
"""Names of Hacker News, Lobsters and Reddit's older pages for a link and the comments on it."""
_NUMBER = re.compile(r"[0-9]{2,}+")
"""Numbers of posts, items and the like. No pattern tells two of them apart, so they share one cache entry."""
(
    _IS_UNLIKELY, _IS_MAYBE, _IS_POSITIVE, _IS_NEGATIVE, _IS_COMMENTS, _IS_CAPTION, _IS_SURE, _IS_VOICES, _IS_CONTENT,
    _IS_REFERENCE, _IS_FOOTER, _IS_POST, _IS_NEUTRAL, _IS_LINK_DISCUSSION,
) = _BITS = tuple(1 << bit for bit in range(14))  # fmt: skip


def _automaton(anywhere: tuple[str, ...], at_start: tuple[str, ...]) -> re2.Set:
    """Return patterns as one automaton that reads a name once; patterns have their numbers in the given order."""
    automaton = re2.Set.SearchSet()
    for pattern in anywhere:
        automaton.Add(pattern)
    for pattern in at_start:
        automaton.Add(f"^(?:{pattern})")
    automaton.Compile()
    return automaton


# The patterns have the order of their bits. Two thirds of all names match none, for which RE2 reads the name once.
_PATTERNS = _automaton(
    (_UNLIKELY, _MAYBE, _POSITIVE, _NEGATIVE, _COMMENTS, _CAPTION, _SURELY, _VOICES),
    (_CONTENT, _REFERENCE, _FOOTER, _POST, _NEUTRAL, _LINK_DISCUSSION),
)
ALWAYS_UNLIKELY = 2.0
DOUBTFUL, LIKELY = 0.3, 0.8


class ClassHints(NamedTuple):
    """The hints of an element's class and id together."""

    weight: int
    """Above 0 if the names suggest content, below 0 if they suggest other parts of the page."""
    unlikely: float
    """If the names suggest parts around the content: the share of the page's text from which on they are ignored;
    otherwise 0.
    """
    comments: bool
    """Whether the names suggest readers' comments."""
    is_boilerplate: bool
    """Whether the names suggest a part that is hardly ever content, whatever it contains."""
    is_content: bool
    """Whether a name is one that templates give to the element with the content."""
    is_reference: bool
    """Whether a name is one that tools for documentation and wikis give."""
    is_post: bool
    """Whether a name is one that the software of forums gives to the body of a post."""
    is_link_discussion: bool
    """Whether a name is one that sites give to the comments on a link."""


NO_HINTS = ClassHints(0, 0.0, False, False, False, False, False, False)


def class_hints(class_: str, id_: str) -> ClassHints:
    """Return the hints of a class and an id; return the object `NO_HINTS` if they give none."""
    if len(class_) + len(id_) <= LONGEST:
        return _hints(class_, id_)
    return _hints(class_[:LONGEST], id_[:LONGEST])


@lru_cache(maxsize=1 << 14)
def _hints(class_: str, id_: str) -> ClassHints:
    weight, every = 0, 0
    for attribute in (class_, id_):
        if not attribute:
            continue
        found = 0
        is_first = True
        for name in _NUMBER.sub("00", attribute.lower()).split():
            found |= _name(name, is_first)
            is_first = False
        if found:
            weight += 25 * (found & _IS_POSITIVE > 0) - 25 * (found & _IS_NEGATIVE > 0)
            every |= found
    if not every:
        return NO_HINTS
    return _hints_of_bits(weight, every)


@cache
def _hints_of_bits(weight: int, every: int) -> ClassHints:
    """Return the hints that bits stand for. There are few sets of bits, so many names share one object."""
    if every & _IS_REFERENCE and every & _IS_VOICES:
        every &= ~(_IS_VOICES | _IS_COMMENTS | _IS_UNLIKELY)  # comments of source code
    sure = every & (_IS_SURE | _IS_VOICES) > 0
    unlikely = 0.0
    if every & (_IS_CAPTION | _IS_FOOTER) or (every & _IS_UNLIKELY and not every & _IS_MAYBE):
        unlikely = ALWAYS_UNLIKELY if every & (_IS_VOICES | _IS_FOOTER) else LIKELY if sure else DOUBTFUL
    hints = ClassHints(
        weight,
        unlikely,
        comments=every & _IS_COMMENTS > 0,
        is_boilerplate=sure,
        is_content=every & _IS_CONTENT > 0,
        is_reference=every & _IS_REFERENCE > 0,
        is_post=every & _IS_POST > 0,
        is_link_discussion=every & _IS_LINK_DISCUSSION > 0,
    )
    return hints if any(hints) else NO_HINTS


@lru_cache(maxsize=1 << 15)
def _name(name: str, first: bool) -> int:
    """Return the hints of one name as bits. They are cached by name, because there are far fewer names than sets of
    names.
    """
    if "[" in name or "]" in name or ":" in name:
        # Tailwind's names with selectors, values and conditions say nothing, such as [&_figcaption]:mt-0 and md:hidden.
        return 0
    found = 0
    for index in _PATTERNS.Match(name) or ():
        found |= _BITS[index]
    if found & _IS_NEUTRAL:
        return 0
    if first and name.startswith("comment") and not name.startswith(("commentary", "commenton")):
        found |= _IS_COMMENTS
    return found
