"""What templates show: a table of those that hold words of the text. All others show nothing.

Citations, infoboxes, navigation, maintenance notes and pronunciations are such others. An argument is shown once at most, so that
a page can be no longer than its wikitext but for the words that are here.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from extract.wikitext import show
from extract.wikitext.marks import BREAK, GONE
from extract.wikitext.show import Call, Rule

_ROWS: tuple[tuple[str, Rule], ...] = (
    # Words that are only dressed up, and words of one argument.
    (
        (
            "nowrap nobr nobreak nowraplinks small smaller big larger large nobold noitalic bold strong em script polytonic "
            "unicode abbr abbreviation tooltip abbrlink centre center centered left right middle math mvar tmath var code mono "
            "tt kbd samp keypress key_press key plainlist flatlist columns-list div_col interlanguage_link ill vanchor "
            "visible_anchor linktext serif sans-serif smallcaps sc aut allcaps overline underline strike not_a_typo notatypo "
            "zh runic romaji flag flagcountry flagu number formatnum nts ordinal ord sup superscript exp exposant sub "
            "subscript ind indice ruby ruby-ja"
        ),
        show.argument("1", "text", "content", "s", "t"),
    ),
    ("ipa api transl transliteration tlit", show.last),
    ("仮リンク link-en le versalitas esd", show.argument("1")),
    ("нп нп5 не_переведено не_переведено_5", show.argument("2", "1")),
    ("tsl", show.argument("3", "2")),
    ("uss hms ss ms mv rms hmas hmcs usns sms", show.ship),
    ("er re ème", show.own_name),
    ("gaps", show.joined("")),
    ("resize font_color fontcolor color colour background_color", show.last),
    ("lang langue native_name язык lengua idioma lingua taal język llang", show.language),
    ("nihongo nihongo2 nihongo3", show.japanese),
    ("tl tlx template_link", show.framed("{{", "}}")),
    ("angbr angle_bracket", show.framed("⟨", "⟩")),
    ("bracket brackets", show.framed("[", "]")),
    ("su", show.joined(" ")),
    ("chem chem2 chemistry", show.joined("")),
    # Quotations.
    (
        (
            "quote blockquote cquote quotation block_quote bquote quote_frame rquote centered_pull_quote pull_quote zitat "
            "citation_bloc début_citation_bloc cita citaat cytat цитата citat poemquote"
        ),
        show.quote,
    ),
    ("citation citation_étrangère", show.inline_quote),
    ("guil guillemets", show.framed("« ", " »")),
    ("qq double_quote", show.framed("“", "”")),
    ("sic", show.framed("", " [sic]")),
    # Lists.
    ("ubl vunblist unbulleted_list plain_list bulleted_list blist ulist", show.as_list),
    ("hlist flat_list", show.joined(", ")),
    ("comma_separated_entries", show.joined(", ")),
    # Numbers, measures and days.
    ("convert cvt convertir", show.convert),
    ("unité unit nombre", show.joined(" ")),
    ("val", show.value),
    ("frac fraction sfrac bruch", show.fraction),
    ("as_of", show.as_of),
    ("birth_date birth_date_and_age start_date start_date_and_age end_date film_date bda dts", show.date),
    ("death_date death_date_and_age dda", show.date),
    ("date", show.joined(" ")),
    ("circa c. ca c", show.framed("c. ", "", "1")),
    ("floruit fl. fl", show.framed("fl. ", "", "1")),
    ("reign r.", lambda call: "r. " + "–".join(filter(None, call.listed[:2])) if call.listed else GONE),
    ("s s- siècle", show.century),
    ("siglo", show.framed("siglo ")),
    ("e", show.exponent),
    ("n° numéro", show.fixed("n°")),
    ("1er", show.fixed("1er")),
    ("1re", show.fixed("1re")),
    ("us$ usd", show.framed("US$")),
    ("gbp £", show.framed("£")),
    ("euro eur €", show.framed("€")),
    ("inr ₹", show.framed("₹")),
    ("jpy ¥", show.framed("¥")),
    # Characters.
    ("! pipe", show.fixed("|")),
    ("= equals", show.fixed("=")),
    ("!!", show.fixed("||")),
    ("(!", show.fixed("{|")),
    ("!)", show.fixed("|}")),
    ("( ((", show.fixed("{")),
    (") ))", show.fixed("}")),
    ("nbsp space spaces space+ thinsp thin_space hair_space hsp nnbsp figure_space", show.fixed(" ")),
    ("ndash en_dash endash –", show.fixed("–")),
    ("mdash mdashb em_dash emdash —", show.fixed("—")),
    ("snd spnd spaced_ndash spaced_en_dash dash -", show.fixed(" – ")),
    ("smd spaced_mdash", show.fixed(" — ")),
    ("· • middot bull bullet dot", show.fixed(" · ")),
    ("' apostrophe apos", show.fixed("'")),
    ("'s", show.fixed("'s")),
    ("ellipsis ... …", show.fixed("…")),
    ("asterisk *", show.fixed("*")),
    ("number_sign hash", show.fixed("#")),
    ("colon :", show.fixed(":")),
    ("dagger †", show.fixed("†")),
    ("pi π", show.fixed("π")),
    ("times ×", show.fixed("×")),
    ("+- ± plusminus", show.fixed("±")),
    ("degree °", show.fixed("°")),
    ("yes", lambda call: call.argument("1") or "Yes"),
    ("no", lambda call: call.argument("1") or "No"),
    ("check check_mark tick", show.fixed("✓")),
    ("br crlf break", show.fixed(BREAK)),
    ("paragraph_break pb", show.fixed("\n\n")),
    # Functions of the parser; what stands behind the colon is the first argument.
    ("lc:", show.cast(str.lower)),
    ("uc:", show.cast(str.upper)),
    ("lcfirst:", show.cast(show.small)),
    ("ucfirst:", show.cast(show.capital)),
    ("formatnum: nse: plural: padleft: padright:", show.argument("1")),
    ("#if:", show.either),
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
