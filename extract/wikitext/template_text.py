"""How a template's words are shown: what the rows of `templates.SHOWN` are made of.

An argument is shown once at most.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from extract.wikitext.marks import REMOVED_MARK


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCall:
    """`{{name|listed|named=...}}`, what is within already resolved."""

    name: str
    listed: tuple[str, ...]
    named: Mapping[str, str]

    def argument(self, *names: str) -> str:
        """The first of the arguments that is there and not blank: `1` and so on are those without a name."""
        for name in names:
            at = int(name) - 1 if name.isdecimal() and len(name) < 6 else -1
            if value := self.named.get(name) or (self.listed[at] if 0 <= at < len(self.listed) else ""):
                return value
        return ""


Rule = Callable[[TemplateCall], str]
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
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
SMALLER = frozenset(("in", "ft", "yd", "oz", "lb"))
"""Second units of one measure: `{{convert|5|ft|6|in|cm}}`."""


def argument(*names: str) -> Rule:
    """The first of the arguments of those names that is not blank."""
    return lambda call: call.argument(*names)


def fixed(text: str) -> Rule:
    """The text itself."""
    return lambda _: text


def last(call: TemplateCall) -> str:
    """The last argument."""
    return call.listed[-1] if call.listed else ""


def joined(between: str) -> Rule:
    """All arguments, with the text between them."""
    return lambda call: between.join(filter(None, call.listed))


def as_list(call: TemplateCall) -> str:
    """All arguments, an item each."""
    return "".join(f"\n* {item}" for item in call.listed if item) + "\n"


def with_affixes(before: str = "", after: str = "", *names: str) -> Rule:
    """The argument with something before and behind it; nothing without it."""

    def rule(call: TemplateCall) -> str:
        value = call.argument(*(names or ("1",)))
        return f"{before}{value}{after}" if value else REMOVED_MARK

    return rule


def quote(call: TemplateCall) -> str:
    """A quotation as a paragraph, without who said it."""
    text = call.argument("text", "quote", "texte", "texto", "testo", "zitat", "1")
    return f"\n\n{text}\n\n" if text else REMOVED_MARK


def inline_quote(call: TemplateCall) -> str:
    """In French a quotation, in English a work, which has no argument but named ones."""
    return f"« {call.listed[0]} »" if call.listed and call.listed[0] and not call.named else REMOVED_MARK


def convert(call: TemplateCall) -> str:
    """A measure, or a range of measures, in the unit in which it is given."""
    shown, at = "", 0
    while at < len(call.listed) and (value := call.listed[at]):
        shown += value
        if at + 1 < len(call.listed) and (between := RANGES.get(call.listed[at + 1].lower())):
            shown, at = shown + between, at + 2
            continue
        unit = call.listed[at + 1] if at + 1 < len(call.listed) else ""
        smaller = call.listed[at + 2 : at + 4]
        rest = f" {' '.join(smaller)}" if len(smaller) == 2 and smaller[1] in SMALLER else ""
        return f"{shown} {UNITS.get(unit.lower(), unit)}{rest}".strip()
    return shown


def exponent(call: TemplateCall) -> str:
    """In English `×10^5`, in French what stands high: `XIX{{e}}`."""
    power = call.argument("1")
    return f"×10^{power}" if power.lstrip("-−").isdecimal() else power or "e"


def century(call: TemplateCall) -> str:
    """In French `XIXe siècle`, in Russian words that are not broken."""
    words = call.argument("1")
    return f"{words}e siècle" if words and set(words) <= set("IVX") else words


def ship(call: TemplateCall) -> str:
    """`USS Tern (CV-12)`."""
    name, number = call.argument("1"), call.argument("2")
    return f"{call.name.strip().upper()} {name}{f' ({number})' if number else ''}" if name else REMOVED_MARK


def japanese(call: TemplateCall) -> str:
    """A word, and behind it in parentheses how it is written and read."""
    words, *others = [*filter(None, call.listed[:3]), ""]
    said = ", ".join(filter(None, others))
    return f"{words} ({said})" if said else words


def own_name(call: TemplateCall) -> str:
    """What the template is called."""
    return call.name.strip()


def value(call: TemplateCall) -> str:
    """A number with its power of ten and its unit."""
    number = call.listed[0] if call.listed else ""
    power, unit = call.argument("e"), call.argument("u", "ul", "up", "upl")
    return f"{number}{f'×10^{power}' if power else ''}{f' {unit}' if unit else ''}"


def as_of(call: TemplateCall) -> str:
    """`As of May 1901`."""
    if other := call.argument("alt"):
        return other
    since = "since" in call.named
    words = ("since" if since else "as of") if call.named.get("lc") else ("Since" if since else "As of")
    return f"{words} {_day(*call.listed[:3])}".strip()


def date(call: TemplateCall) -> str:
    """The day of the first three arguments."""
    return _day(*call.listed[:3])


def _day(year: str = "", month: str = "", day: str = "") -> str:
    named = (
        MONTHS[int(month) - 1] if month.isdecimal() and len(month) < 3 and 1 <= int(month) <= 12 else month
    )
    return " ".join(filter(None, (day.lstrip("0"), named, year)))


def fraction(call: TemplateCall) -> str:
    """`3⁄4`, `1 1⁄2`."""
    parts = [part for part in call.listed[:3] if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    whole = f"{parts[0]} " if len(parts) == 3 else ""
    return f"{whole}{'⁄'.join(parts[-2:])}"


def language(call: TemplateCall) -> str:
    """The words behind the code of their language."""
    return call.argument("2", "text")


def cast(case: Callable[[str], str]) -> Rule:
    """The first argument in other letters."""
    return lambda call: case(call.listed[0]) if call.listed else ""


def if_function(call: TemplateCall) -> str:
    """`{{#if: condition | then | else}}`."""
    return call.argument("2") if call.argument("1") else call.argument("3")


def capitalize_first(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


def lowercase_first(text: str) -> str:
    """Without one."""
    return text[:1].lower() + text[1:]
