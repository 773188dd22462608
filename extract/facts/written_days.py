"""Recognise a day in a line of text, as people write it, in some twenty languages. Pure."""

import re
from datetime import date

MIN_YEAR, MAX_YEAR = 1990, 2099
"""Years of days that pages state as days of publication."""

_MONTHS = (
    (
        "jan januar january janvier janv enero ene gennaio gen janeiro januari stycznia styczen sty янв "
        "января січня leden ledna ocak ianuarie tammikuuta ιανουαρίου januára január"
    ),
    (
        "feb februar february février févr fév febrero febbraio fevereiro fev februari lutego luty lut "
        "фев февраля лютого února únor şubat februarie helmikuuta φεβρουαρίου február"
    ),
    (
        "mar märz mär mrz march mars marzo março maart mrt marca marzec марта мар березня března březen "
        "mart martie maaliskuuta μαρτίου marts március"
    ),
    (
        "apr april avril avr abril abr aprile kwietnia kwi апр апреля квітня dubna nisan aprilie "
        "huhtikuuta απριλίου április"
    ),
    "may mai mayo maggio mag maio mei maja maj мая травня května mayıs toukokuuta μαΐου május",
    (
        "jun juni june juin junio giugno giu junho czerwca cze июн июня червня června haziran iunie "
        "kesäkuuta ιουνίου június"
    ),
    (
        "jul juli july juillet juil julio luglio lug julho lipca lip июл июля липня července temmuz "
        "iulie heinäkuuta ιουλίου július"
    ),
    (
        "aug august août aout agosto ago augustus augusti sierpnia sie авг августа серпня srpna ağustos "
        "elokuuta αυγούστου augusztus"
    ),
    (
        "sep sept september septembre septiembre setiembre settembre set setembro września wrz сен "
        "сентября вересня září eylül septembrie syyskuuta σεπτεμβρίου szeptember"
    ),
    (
        "oct oktober okt october octobre octubre ottobre ott outubro out października paź окт октября "
        "жовтня října ekim octombrie lokakuuta οκτωβρίου október"
    ),
    (
        "nov november novembre noviembre novembro listopada lis ноя ноября листопада listopadu kasım "
        "noiembrie marraskuuta νοεμβρίου"
    ),
    (
        "dec dez dezember december décembre déc diciembre dic dicembre dezembro grudnia gru дек декабря "
        "грудня prosince aralık decembrie joulukuuta δεκεμβρίου"
    ),
)
_NUMBER = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME = "|".join(sorted(_NUMBER, key=len, reverse=True))
_LIKE_A_DAY = re.compile(r"(?:19|20)\d\d|\d[./]\d")
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_FORMS = (
    re.compile(rf"(?<!\d){_YEAR}\s?[-/.]\s?(?P<m>\d{{1,2}})\s?[-/.]\s?(?P<d>\d{{1,2}})(?!\d)"),
    re.compile(rf"(?<!\d){_YEAR}\s?[年년]\s?(?P<m>\d{{1,2}})\s?[月월]\s?(?P<d>\d{{1,2}})\s?[日일]"),
    re.compile(
        rf"(?<!\d)(?P<d>\d{{1,2}})(?:\.|st|nd|rd|th|er|º|ª)?[\s\-]*(?:of |de |d’|d')?(?P<n>{_NAME})\b\.?,?[\s\-]*"
        rf"(?:de |del )?{_YEAR}(?!\d)"
    ),
    re.compile(rf"\b(?P<n>{_NAME})\b\.?\s*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+{_YEAR}(?!\d)"),
    re.compile(rf"(?<!\d)(?P<a>\d{{1,2}})\s?(?P<s>[./-])\s?(?P<b>\d{{1,2}})\s?[./-]\s?{_YEAR}(?!\d)"),
    re.compile(r"(?<!\d)(?P<a>\d{1,2})(?P<s>[./])(?P<b>\d{1,2})[./](?P<y>\d\d)(?![\d.])"),
)  # fmt: skip


def written_day(text: str, *, month_first: bool = False) -> str:
    """Return the first day in the text in ISO 8601; return `""` if it has none.

    Of two numbers with a slash the first is the month if `month_first` is set; otherwise it is the day.
    """
    if _LIKE_A_DAY.search(text) is None:
        return ""
    lower = text.lower()
    found = sorted(
        (match for form in _FORMS if (match := form.search(lower))), key=lambda match: match.start()
    )
    return next(filter(None, (_day(match, month_first=month_first) for match in found)), "")


def _day(match: re.Match[str], *, month_first: bool) -> str:
    groups = match.groupdict()
    year = int(groups["y"]) + (2000 if len(groups["y"]) == 2 else 0)
    if "a" in groups:
        one, two = int(groups["a"]), int(groups["b"])
        is_american = (month_first and groups["s"] == "/" and one <= 12) or two > 12
        month, number = (one, two) if is_american else (two, one)
    else:
        month = _NUMBER[groups["n"]] if "n" in groups else int(groups["m"])
        number = int(groups["d"])
    if not MIN_YEAR <= year <= MAX_YEAR:
        return ""
    try:
        return date(year, month, number).isoformat()
    except ValueError:
        return ""
