"""What templates show: a table of those that hold words of the text. All others show nothing.

Citations, infoboxes, navigation, maintenance notes and pronunciations are such others. An argument is shown once at most, so that
a page can be no longer than its wikitext but for the words that are here.
"""

import re
from calendar import month_name
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from extract.wikitext.marks import BREAK, GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """`{{name|listed|named=...}}`, what is within already resolved."""

    name: str
    listed: tuple[str, ...]
    named: Mapping[str, str]

    def argument(self, *names: str) -> str:
        """The first of the arguments that is there and not blank: `1` and so on are those without a name."""
        for name in names:
            at = int(name) - 1 if name.isdecimal() else -1
            if value := self.named.get(name) or (self.listed[at] if 0 <= at < len(self.listed) else ""):
                return value
        return ""


Rule = Callable[[Call], str]
MONTHS = tuple(month_name)[1:]
"""In English."""
RANGES = {
    "to": " to ",
    "-": "–",
    "–": "–",
    "and": " and ",
    "or": " or ",
    "by": " by ",
    "x": " × ",
    "×": " × ",
    "+/-": " ± ",
}
"""Between the numbers of `{{convert|3|to|5|km}}`."""
UNITS = {
    "km2": "km²", "m2": "m²", "cm2": "cm²", "mm2": "mm²", "m3": "m³", "cm3": "cm³", "km3": "km³", "sqmi": "sq mi", "sqkm": "km²",
    "sqft": "sq ft", "sqin": "sq in", "cuft": "cu ft", "cuin": "cu in", "c": "°C", "f": "°F", "acre": "acres", "mile": "miles",
    "foot": "feet", "inch": "inches", "impgal": "imp gal", "usgal": "US gal", "km/h": "km/h", "kph": "km/h", "m/s": "m/s",
}  # fmt: skip
"""Units that `{{convert}}` writes otherwise than they are called there."""


def _argument(*names: str) -> Rule:
    return lambda call: call.argument(*names)


def _fixed(text: str) -> Rule:
    return lambda _: text


def _last(call: Call) -> str:
    return call.listed[-1] if call.listed else ""


def _joined(between: str) -> Rule:
    return lambda call: between.join(filter(None, call.listed))


def _listed(call: Call) -> str:
    return "".join(f"\n* {item}" for item in call.listed if item) + "\n"


def _with(before: str = "", after: str = "", *names: str) -> Rule:
    def rule(call: Call) -> str:
        value = call.argument(*(names or ("1",)))
        return f"{before}{value}{after}" if value else GONE

    return rule


def _quote(call: Call) -> str:
    text = call.argument("text", "quote", "texte", "texto", "testo", "zitat", "1")
    return f"\n\n{text}\n\n" if text else GONE


def _inline_quote(call: Call) -> str:
    """In French a quotation, in English a work, which has no argument but named ones."""
    return f"« {call.listed[0]} »" if call.listed and call.listed[0] and not call.named else GONE


def _convert(call: Call) -> str:
    shown, at = "", 0
    while at < len(call.listed) and (value := call.listed[at]):
        shown += value
        if at + 1 < len(call.listed) and (between := RANGES.get(call.listed[at + 1].lower())):
            shown, at = shown + between, at + 2
            continue
        unit = call.listed[at + 1] if at + 1 < len(call.listed) else ""
        return f"{shown} {UNITS.get(unit.lower(), unit)}".strip()
    return shown


def _value(call: Call) -> str:
    number = call.listed[0] if call.listed else ""
    power, unit = call.argument("e"), call.argument("u", "ul", "up", "upl")
    return f"{number}{f'×10^{power}' if power else ''}{f' {unit}' if unit else ''}"


def _as_of(call: Call) -> str:
    if other := call.argument("alt"):
        return other
    since = "since" in call.named
    words = ("since" if since else "as of") if call.named.get("lc") else ("Since" if since else "As of")
    return f"{words} {_day(*call.listed[:3])}".strip()


def _date(call: Call) -> str:
    return _day(*call.listed[:3])


def _day(year: str = "", month: str = "", day: str = "") -> str:
    named = MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month[:4]) <= 12 else month
    return " ".join(filter(None, (day.lstrip("0"), named, year)))


def _fraction(call: Call) -> str:
    parts = [part for part in call.listed[:3] if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    whole = f"{parts[0]} " if len(parts) == 3 else ""
    return f"{whole}{'⁄'.join(parts[-2:])}"


def _language(call: Call) -> str:
    return call.argument("2", "text")


def _cast(case: Callable[[str], str]) -> Rule:
    return lambda call: case(call.listed[0]) if call.listed else ""


def _if(call: Call) -> str:
    """`{{#if: condition | then | else}}`."""
    return call.argument("2") if call.argument("1") else call.argument("3")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


_ROWS: tuple[tuple[str, Rule], ...] = (
    # Words that are only dressed up, and words of one argument.
    (
        (
            "nowrap nobr nobreak nowraplinks small smaller big larger large nobold noitalic bold strong em script polytonic "
            "unicode abbr abbreviation tooltip abbrlink centre center centered left right middle math mvar tmath var code mono "
            "tt kbd samp keypress key_press key plainlist flatlist columns-list div_col interlanguage_link ill vanchor "
            "visible_anchor linktext serif sans-serif smallcaps sc aut allcaps overline underline strike not_a_typo notatypo "
            "zh runic romaji flag flagcountry flagu number formatnum nts ordinal ord sup superscript e exp exposant sub "
            "subscript ind indice ruby ruby-ja"
        ),
        _argument("1", "text", "content", "s", "t"),
    ),
    ("ipa api", _last),
    ("resize font_color fontcolor color colour background_color", _last),
    ("lang langue native_name язык lengua idioma lingua taal język transl transliteration tlit", _language),
    ("nihongo nihongo2 nihongo3", _argument("1", "2", "3")),
    ("tl tlx template_link", _with("{{", "}}")),
    ("angbr angle_bracket", _with("⟨", "⟩")),
    ("bracket brackets", _with("[", "]")),
    ("su", _joined(" ")),
    ("chem chem2 chemistry", _joined("")),
    # Quotations.
    (
        (
            "quote blockquote cquote quotation block_quote bquote quote_frame rquote centered_pull_quote pull_quote zitat "
            "citation_bloc début_citation_bloc cita citaat cytat цитата citat poemquote"
        ),
        _quote,
    ),
    ("citation citation_étrangère", _inline_quote),
    ("guil guillemets", _with("« ", " »")),
    ("qq double_quote", _with("“", "”")),
    ("sic", _with("", " [sic]")),
    # Lists.
    ("ubl vunblist unbulleted_list plain_list bulleted_list blist ulist", _listed),
    ("hlist flat_list", _joined(", ")),
    ("comma_separated_entries", _joined(", ")),
    # Numbers, measures and days.
    ("convert cvt convertir", _convert),
    ("unité unit nombre", _joined(" ")),
    ("val", _value),
    ("frac fraction sfrac bruch", _fraction),
    ("as_of", _as_of),
    ("birth_date birth_date_and_age start_date start_date_and_age end_date film_date bda dts", _date),
    ("death_date death_date_and_age dda", _date),
    ("date", _joined(" ")),
    ("circa c. ca c", _with("c. ", "", "1")),
    ("floruit fl. fl", _with("fl. ", "", "1")),
    ("reign r.", lambda call: "r. " + "–".join(filter(None, call.listed[:2])) if call.listed else GONE),
    ("s s- siècle", _with("", "e siècle")),
    ("n° numéro", _fixed("n°")),
    ("1er", _fixed("1er")),
    ("1re", _fixed("1re")),
    ("us$ usd", _with("US$")),
    ("gbp £", _with("£")),
    ("euro eur €", _with("€")),
    ("inr ₹", _with("₹")),
    ("jpy ¥", _with("¥")),
    # Characters.
    ("! pipe", _fixed("|")),
    ("= equals", _fixed("=")),
    ("!!", _fixed("||")),
    ("(!", _fixed("{|")),
    ("!)", _fixed("|}")),
    ("( ((", _fixed("{")),
    (") ))", _fixed("}")),
    ("nbsp space spaces space+ thinsp thin_space hair_space hsp nnbsp figure_space", _fixed(" ")),
    ("ndash en_dash endash –", _fixed("–")),
    ("mdash mdashb em_dash emdash —", _fixed("—")),
    ("snd spnd spaced_ndash spaced_en_dash dash -", _fixed(" – ")),
    ("smd spaced_mdash", _fixed(" — ")),
    ("· • middot bull bullet dot", _fixed(" · ")),
    ("' apostrophe apos", _fixed("'")),
    ("'s", _fixed("'s")),
    ("ellipsis ... …", _fixed("…")),
    ("asterisk *", _fixed("*")),
    ("number_sign hash", _fixed("#")),
    ("colon :", _fixed(":")),
    ("dagger †", _fixed("†")),
    ("pi π", _fixed("π")),
    ("times ×", _fixed("×")),
    ("+- ± plusminus", _fixed("±")),
    ("degree °", _fixed("°")),
    ("yes", lambda call: call.argument("1") or "Yes"),
    ("no", lambda call: call.argument("1") or "No"),
    ("check check_mark tick", _fixed("✓")),
    ("br crlf break", _fixed(BREAK)),
    ("paragraph_break pb", _fixed("\n\n")),
    # Functions of the parser; what stands behind the colon is the first argument.
    ("lc:", _cast(str.lower)),
    ("uc:", _cast(str.upper)),
    ("lcfirst:", _cast(_small)),
    ("ucfirst:", _cast(_capital)),
    ("formatnum: nse: plural: padleft: padright:", _argument("1")),
    ("#if:", _if),
)
LONGEST_NAME = 255
"""Of a template ($wgMaxTitleLength); what is longer is called by its beginning, as functions are."""
SHOWN: Mapping[str, Rule] = MappingProxyType(
    {name.replace("_", " "): rule for names, rule in _ROWS for name in names.split()}
)
"""By name, in lower case."""
_PREFIX = re.compile(
    r"(?:(?:template|vorlage|modèle|plantilla|subst|safesubst|msg)\s*+:\s*+)++", re.IGNORECASE
)


def shown(call: Call) -> str:
    """What the template or function shows on a page."""
    name = call.name[:LONGEST_NAME].strip().replace("_", " ").lower()
    if rule := SHOWN.get(name):
        return rule(call)
    if name.startswith("lang-"):
        return call.argument("1", "text") or GONE
    name = _PREFIX.sub("", name)
    function, colon, _ = name.partition(":")
    if colon and (rule := SHOWN.get(f"{function}:")):
        argument = call.name.partition(":")[2].strip()
        return rule(Call(name=name, listed=(argument, *call.listed), named=call.named))
    rule = SHOWN.get(name)
    return rule(call) if rule else GONE
