"""`sketch`: 32 bits of the text of a page, the same for pages with the same text in another layout. Pure.

The sketch depends on the set of words between the tags of a page, without the words that a generator fills in:

1. Markup, attributes (and so link targets), comments, scripts and styles are ignored. So are capitals, and the order
   and the number of words: a list sorted in another way is the same page.
2. A word with a digit is a number, a date, a token or a session: left out. In scripts that do not part words by
   spaces (`2027年3月`) the digits are left out and the rest counts.
3. Names of months and days are left out, in the languages of `_CALENDAR`. In another language an endless calendar
   has twelve texts.
4. Words of the URL are left out, host name and query among them: a page that echoes what it was asked for ("no
   results for x") has one sketch for all x. An honest page has other words as well.
5. A hash chooses every second word of the rest. Pages whose text is chosen from few words (the twelve months of an
   unknown language, the goods of a small shop behind twenty filters) have fewer sketches then, while honest pages
   differ in many words (measured: docs/guides/traps.md).
6. Only the first 1 MB of a page is read, of this the first 128 KB without scripts and styles, and of this the first
   16 KB of text. So the cost is linear and bounded.

A page without words has the sketch 0. Such pages are all alike: the text of the next one shows nothing new. A host with
only such pages (empty shells that a script fills) answers every request with the same page.

Cost: as much as finding the links of the page (measured on 1,000 pages of manuals, 55 KB on average).
"""

import re
from itertools import chain
from urllib.parse import unquote_to_bytes
from zlib import crc32

MAX_BYTES = 1 << 20
"""Bytes of a page that are read. Some pages begin with 300 KB of styles."""
MAX_MARKUP = 128 << 10
"""Bytes of these outside of comments, scripts and styles."""
MAX_PIECES = 4_096
"""Comments, scripts and styles that are removed; nothing behind the last one is read."""
MAX_TEXT = 16 << 10
"""Bytes of text: more than the largest menus."""

MAX_CACHED_WORDS = 32_768
"""Words whose value is cached: some 4 MB."""

EMPTY_SKETCH = 0
"""The sketch of a page without words."""

_HALF = 1 << 20  # a bit that the 16 bits which the frontier keeps do not have
_OPENS = re.compile(rb"<(?:s(?:cript|tyle)\b|!--)")
_CLOSES = {b"<!--": b"-->", b"<script": b"</script", b"<style": b"</style"}
_BETWEEN_TAGS = re.compile(rb">[\t\n\f\r ]*+([^<]++)")
_PUNCTUATION = re.compile(rb"\xe2\x80.|\xe3\x80[\x80-\x82]|\xef\xbc.|\xc2[\xa0-\xbf]", re.DOTALL)
"""Of Unicode: quotes, dashes and spaces of U+2000, U+00A0 and U+3000, and full-width signs and digits, in UTF-8."""
_PLAIN = bytes(
    ord("0") if chr(byte).isdigit() else ord(chr(byte).lower()) if chr(byte).isalpha() else ord(" ")
    for byte in range(128)
) + bytes(range(128, 256))
"""Letters in lower case, a digit is 0, whatever else is ASCII is a space."""

# Unicode CLDR, "wide" and "abbreviated" names of months and days; ASCII letters in lower case, as `_PLAIN` has them.
_CALENDAR = frozenset(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun mo tu we th fr sa su januar februar märz mai juni juli oktober dezember mär mrz okt dez jänner montag
    dienstag mittwoch donnerstag freitag samstag sonnabend sonntag di mi do so janvier février mars avril juin juillet
    août septembre octobre novembre décembre janv févr avr juil déc lundi mardi mercredi jeudi vendredi samedi
    dimanche lun mer jeu ven sam dim enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre
    noviembre diciembre ene abr ago dic lunes martes miércoles jueves viernes sábado domingo mié jue vie sáb dom
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre gen mag giu lug set ott lunedì martedì
    mercoledì giovedì venerdì sabato domenica gio janeiro fevereiro março maio junho julho setembro outubro novembro
    dezembro fev out segunda terça quarta quinta sexta feira seg ter qua qui sex januari februari maart mei augustus
    mrt maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo augusti måndag tisdag onsdag torsdag
    fredag lördag söndag mån tis ons tors lör sön marts maj mandag lørdag søndag desember tirsdag man tir tor fre lør
    søn tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu joulukuu
    maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai styczeń luty marzec kwiecień czerwiec lipiec
    sierpień wrzesień październik listopad grudzień stycznia lutego marca kwietnia maja czerwca lipca sierpnia
    września października listopada grudnia poniedziałek wtorek środa czwartek piątek sobota niedziela leden únor
    březen duben květen červen červenec srpen září říjen prosinec pondělí úterý středa čtvrtek pátek neděle ocak şubat
    nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık pazartesi salı çarşamba perşembe cuma cumartesi pazar
    январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь Январь Февраль Март Апрель Май
    Июнь Июль Август Сентябрь Октябрь Ноябрь Декабрь января февраля марта апреля мая июня июля августа сентября
    октября ноября декабря понедельник вторник среда четверг пятница суббота воскресенье пн вт ср чт пт сб вс Пн Вт Ср
    Чт Пт Сб Вс січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень
    """.encode().split()
)


def sketch(html: str | bytes, url: str) -> int:
    """Return the sketch of the page at `url` (any form of it). Never raise.

    Bytes are read as UTF-8; in another encoding the words still differ where they differ, except in UTF-16.
    """
    markup = html[:MAX_BYTES]
    if isinstance(markup, str):
        markup = markup.encode(errors="replace")
    text = b" ".join(_BETWEEN_TAGS.findall(_visible_markup(b">" + markup.lower())))[:MAX_TEXT]
    words = _words(text)
    words.difference_update(_words(unquote_to_bytes(url)))
    return sum(set(map(_VALUES.__getitem__, words))) & 0xFFFFFFFF


class _Values(dict[bytes, int]):
    """The values of words: a cache, because the pages of a site share words. A look-up takes half as long as in
    `lru_cache`.
    """

    def __missing__(self, word: bytes) -> int:
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()
        value = self[word] = _value(word)
        return value


_VALUES = _Values()


def _value(word: bytes) -> int:
    """Return the value of a word; the sketch is the sum of the distinct values. It is 0 for an ignored word, and 1 for
    a word that the hash does not choose, so that only a page without words has the sketch 0.
    """
    if b"0" in word:
        return 0 if word.isascii() else _value(word.replace(b"0", b""))
    if word in _CALENDAR:
        return 0
    hashed = crc32(word)
    return hashed if hashed & _HALF else 1


def _words(text: bytes) -> set[bytes]:
    words = set(text.translate(_PLAIN).split())
    if b"\xe2\x80" in text or b"\xc2" in text or b"\xe3\x80" in text or b"\xef\xbc" in text:
        foreign = {word for word in words if not word.isascii()}
        words -= foreign
        words.update(chain.from_iterable(_PUNCTUATION.sub(b" ", word).split() for word in foreign))
    return words


def _visible_markup(markup: bytes) -> bytes:
    """Return the markup that a reader sees. An element that is not closed extends to the end, as in a browser."""
    visible: list[bytes] = []
    at = size = 0
    while size < MAX_MARKUP and len(visible) < MAX_PIECES:
        opens = _OPENS.search(markup, at)
        visible.append(markup[at : opens.start() if opens else None])
        size += len(visible[-1])
        if opens is None:
            break
        closes = _CLOSES[opens.group()]
        end = markup.find(closes, opens.end())
        if end < 0:
            break
        at = end + (len(closes) if closes == b"-->" else 0)
    return b" ".join(visible)[:MAX_MARKUP]
