"""The rules that give the text of a template; `templates.TEMPLATE_RULES` assigns them to names.

A rule shows each argument at most once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from thresher.core.unicode14 import upper
from thresher.extract.notation.formulas import write_formula
from thresher.extract.wikitext.marks import REMOVED_MARK


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCall:
    """`{{name|listed|named=...}}` with its arguments already resolved."""

    name: str
    listed: tuple[str, ...]
    named: Mapping[str, str]

    def argument(self, *names: str) -> str:
        """Return the first of the arguments that is not blank; `1`, `2` and so on are the arguments without a name."""
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
"""Text between the numbers of `{{convert|3|to|5|km}}`."""
UNITS = {
    "km2": "km²", "m2": "m²", "cm2": "cm²", "mm2": "mm²", "m3": "m³", "cm3": "cm³", "km3": "km³", "sqmi": "sq mi",
    "sqkm": "km²",
    "sqft": "sq ft", "sqin": "sq in", "cuft": "cu ft", "cuin": "cu in", "c": "°C", "f": "°F", "acre": "acres",
    "mile": "miles",
    "foot": "feet", "inch": "inches", "impgal": "imp gal", "usgal": "US gal", "km/h": "km/h", "kph": "km/h",
    "m/s": "m/s",
}  # fmt: skip
"""Units that `{{convert}}` shows differently from their name in the argument."""
SMALLER = frozenset(("in", "ft", "yd", "oz", "lb"))
"""Smaller units of a measure with two units: `{{convert|5|ft|6|in|cm}}`."""


def argument(*names: str) -> Rule:
    """Show the first of the named arguments that is not blank."""
    return lambda call: call.argument(*names)


def fixed(text: str) -> Rule:
    """Show `text`."""
    return lambda _: text


def last(call: TemplateCall) -> str:
    """Show the last argument."""
    return call.listed[-1] if call.listed else ""


def joined(between: str) -> Rule:
    """Show all arguments with `between` between them."""
    return lambda call: between.join(filter(None, call.listed))


def as_list(call: TemplateCall) -> str:
    """Show all arguments as items of a list."""
    return "".join(f"\n* {item}" for item in call.listed if item) + "\n"


def with_affixes(before: str = "", after: str = "", *names: str) -> Rule:
    """Show the argument with `before` and `after` around it; show nothing if it is blank."""

    def rule(call: TemplateCall) -> str:
        value = call.argument(*(names or ("1",)))
        return f"{before}{value}{after}" if value else REMOVED_MARK

    return rule


def quote(call: TemplateCall) -> str:
    """Show a quotation as a paragraph, without its author."""
    text = call.argument("text", "quote", "texte", "texto", "testo", "zitat", "1")
    return f"\n\n{text}\n\n" if text else REMOVED_MARK


def inline_quote(call: TemplateCall) -> str:
    """Show a quotation in French; hide the citation of a work in English, which has only named arguments."""
    return f"« {call.listed[0]} »" if call.listed and call.listed[0] and not call.named else REMOVED_MARK


def convert(call: TemplateCall) -> str:
    """Show a measure, or a range of measures, in its own unit."""
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
    """Show a power of ten in English (`×10^5`), a superscript in French (`XIX{{e}}`)."""
    power = call.argument("1")
    return f"×10^{power}" if power.lstrip("-−").isdecimal() else power or "e"


def century(call: TemplateCall) -> str:
    """Show a century in French (`XIXe siècle`), words without line breaks in Russian."""
    words = call.argument("1")
    return f"{words}e siècle" if words and set(words) <= set("IVX") else words


def ship(call: TemplateCall) -> str:
    """Show the name of a ship: `USS Tern (CV-12)`."""
    name, number = call.argument("1"), call.argument("2")
    return f"{upper(call.name.strip())} {name}{f' ({number})' if number else ''}" if name else REMOVED_MARK


def japanese(call: TemplateCall) -> str:
    """Show a word, followed by its Japanese spelling and its reading in parentheses."""
    words, *others = [*filter(None, call.listed[:3]), ""]
    readings = ", ".join(filter(None, others))
    return f"{words} ({readings})" if readings else words


def own_name(call: TemplateCall) -> str:
    """Show the name of the template."""
    return call.name.strip()


def value(call: TemplateCall) -> str:
    """Show a number with its power of ten and its unit."""
    number = call.listed[0] if call.listed else ""
    power, unit = call.argument("e"), call.argument("u", "ul", "up", "upl")
    return f"{number}{f'×10^{power}' if power else ''}{f' {unit}' if unit else ''}"


def as_of(call: TemplateCall) -> str:
    """Show `As of May 1901`."""
    if other := call.argument("alt"):
        return other
    since = "since" in call.named
    words = ("since" if since else "as of") if call.named.get("lc") else ("Since" if since else "As of")
    return f"{words} {_day(*call.listed[:3])}".strip()


def date(call: TemplateCall) -> str:
    """Show the day in the first three arguments."""
    return _day(*call.listed[:3])


def _day(year: str = "", month: str = "", day: str = "") -> str:
    named = (
        MONTHS[int(month) - 1] if month.isdecimal() and len(month) < 3 and 1 <= int(month) <= 12 else month
    )
    return " ".join(filter(None, (day.lstrip("0"), named, year)))


def formula(call: TemplateCall) -> str:
    """Show a formula in TeX between dollar signs."""
    return write_formula(call.argument("1"))


def ruby(call: TemplateCall) -> str:
    """Show a word, followed by its reading in parentheses."""
    word, reading = call.argument("1"), call.argument("2")
    return f"{word}({reading})" if word and reading else word or reading


def fraction(call: TemplateCall) -> str:
    """Show a fraction: `3⁄4`, `1 1⁄2`."""
    parts = [part for part in call.listed[:3] if part]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    whole = f"{parts[0]} " if len(parts) == 3 else ""
    return f"{whole}{'⁄'.join(parts[-2:])}"


def language(call: TemplateCall) -> str:
    """Show the words after the code of their language."""
    return call.argument("2", "text")


def cast(case: Callable[[str], str]) -> Rule:
    """Show the first argument in another case."""
    return lambda call: case(call.listed[0]) if call.listed else ""


def if_function(call: TemplateCall) -> str:
    """Show the result of `{{#if: condition | then | else}}`."""
    return call.argument("2") if call.argument("1") else call.argument("3")


def capitalize_first(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return upper(text[:1]) + text[1:]


def lowercase_first(text: str) -> str:
    """Return the text with its first letter in lower case."""
    return text[:1].lower() + text[1:]
