"""Assign rules to the templates that contain words of the text. All other templates show nothing.

Citations, infoboxes, navigation, maintenance notes and pronunciations show nothing. Each argument is shown at most
once, so that a page is no longer than its wikitext, except for the words of the rules.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from thresher.extract.notation import superscripts
from thresher.extract.wikitext import template_text
from thresher.extract.wikitext.marks import LINE_BREAK_MARK, REMOVED_MARK
from thresher.extract.wikitext.template_text import Rule, TemplateCall

_ROWS: tuple[tuple[str, Rule], ...] = (
    # Formatted words, and words in one argument.
    (
        (
            "nowrap nobr nobreak nowraplinks small smaller big larger large nobold noitalic bold strong em script "
            "polytonic "
            "unicode abbr abbreviation tooltip abbrlink centre center centered left right middle math mvar var "
            "code "
            "mono "
            "tt kbd samp keypress key_press key plainlist flatlist columns-list div_col interlanguage_link ill vanchor "
            "visible_anchor linktext serif sans-serif smallcaps sc aut allcaps overline underline strike not_a_typo "
            "notatypo "
            "zh runic romaji flag flagcountry flagu number formatnum nts ordinal ord sub "
            "subscript ind indice"
        ),
        template_text.argument("1", "text", "content", "s", "t"),
    ),
    ("sup superscript exp exposant", template_text.with_affixes(superscripts.BEGIN, superscripts.END)),
    ("tmath", template_text.formula),
    ("ruby ruby-ja ruby-zh-b", template_text.ruby),
    ("ipa api transl transliteration tlit", template_text.last),
    ("仮リンク link-en le versalitas esd", template_text.argument("1")),
    ("нп нп5 не_переведено не_переведено_5", template_text.argument("2", "1")),
    ("tsl", template_text.argument("3", "2")),
    ("uss hms ss ms mv rms hmas hmcs usns sms", template_text.ship),
    ("er re ème", template_text.own_name),
    ("gaps", template_text.joined("")),
    ("resize font_color fontcolor color colour background_color", template_text.last),
    ("lang langue native_name язык lengua idioma lingua taal język llang", template_text.language),
    ("nihongo nihongo2 nihongo3", template_text.japanese),
    ("tl tlx template_link", template_text.with_affixes("{{", "}}")),
    ("angbr angle_bracket", template_text.with_affixes("⟨", "⟩")),
    ("bracket brackets", template_text.with_affixes("[", "]")),
    ("su", template_text.joined(" ")),
    ("chem chem2 chemistry", template_text.joined("")),
    # Quotations.
    (
        (
            "quote blockquote cquote quotation block_quote bquote quote_frame rquote centered_pull_quote pull_quote "
            "zitat "
            ""
            "citation_bloc début_citation_bloc cita citaat cytat цитата citat poemquote"
        ),
        template_text.quote,
    ),
    ("citation citation_étrangère", template_text.inline_quote),
    ("guil guillemets", template_text.with_affixes("« ", " »")),
    ("qq double_quote", template_text.with_affixes("“", "”")),
    ("sic", template_text.with_affixes("", " [sic]")),
    # Lists.
    ("ubl vunblist unbulleted_list plain_list bulleted_list blist ulist", template_text.as_list),
    ("hlist flat_list", template_text.joined(", ")),
    ("comma_separated_entries", template_text.joined(", ")),
    # Numbers, measures and days.
    ("convert cvt convertir", template_text.convert),
    ("unité unit nombre", template_text.joined(" ")),
    ("val", template_text.value),
    ("frac fraction sfrac bruch", template_text.fraction),
    ("as_of", template_text.as_of),
    (
        "birth_date birth_date_and_age start_date start_date_and_age end_date film_date bda dts",
        template_text.date,
    ),
    ("death_date death_date_and_age dda", template_text.date),
    ("date", template_text.joined(" ")),
    ("circa c. ca c", template_text.with_affixes("c. ", "", "1")),
    ("floruit fl. fl", template_text.with_affixes("fl. ", "", "1")),
    (
        "reign r.",
        lambda call: "r. " + "–".join(filter(None, call.listed[:2])) if call.listed else REMOVED_MARK,
    ),
    ("s s- siècle", template_text.century),
    ("siglo", template_text.with_affixes("siglo ")),
    ("e", template_text.exponent),
    ("n° numéro", template_text.fixed("n°")),
    ("1er", template_text.fixed("1er")),
    ("1re", template_text.fixed("1re")),
    ("us$ usd", template_text.with_affixes("US$")),
    ("gbp £", template_text.with_affixes("£")),
    ("euro eur €", template_text.with_affixes("€")),
    ("inr ₹", template_text.with_affixes("₹")),
    ("jpy ¥", template_text.with_affixes("¥")),
    # Characters.
    ("! pipe", template_text.fixed("|")),
    ("= equals", template_text.fixed("=")),
    ("!!", template_text.fixed("||")),
    ("(!", template_text.fixed("{|")),
    ("!)", template_text.fixed("|}")),
    ("( ((", template_text.fixed("{")),
    (") ))", template_text.fixed("}")),
    (
        "nbsp space spaces space+ thinsp thin_space hair_space hsp nnbsp figure_space",
        template_text.fixed(" "),
    ),
    ("ndash en_dash endash –", template_text.fixed("–")),
    ("mdash mdashb em_dash emdash —", template_text.fixed("—")),
    ("snd spnd spaced_ndash spaced_en_dash dash -", template_text.fixed(" – ")),
    ("smd spaced_mdash", template_text.fixed(" — ")),
    ("· • middot bull bullet dot", template_text.fixed(" · ")),
    ("' apostrophe apos", template_text.fixed("'")),
    ("'s", template_text.fixed("'s")),
    ("ellipsis ... …", template_text.fixed("…")),
    ("asterisk *", template_text.fixed("*")),
    ("number_sign hash", template_text.fixed("#")),
    ("colon :", template_text.fixed(":")),
    ("dagger †", template_text.fixed("†")),
    ("pi π", template_text.fixed("π")),
    ("times ×", template_text.fixed("×")),
    ("+- ± plusminus", template_text.fixed("±")),
    ("degree °", template_text.fixed("°")),
    ("yes", lambda call: call.argument("1") or "Yes"),
    ("no", lambda call: call.argument("1") or "No"),
    ("check check_mark tick", template_text.fixed("✓")),
    ("br crlf break", template_text.fixed(LINE_BREAK_MARK)),
    ("paragraph_break pb", template_text.fixed("\n\n")),
    # Parser functions; the text after the colon is the first argument.
    ("lc:", template_text.cast(str.lower)),
    ("uc:", template_text.cast(str.upper)),
    ("lcfirst:", template_text.cast(template_text.lowercase_first)),
    ("ucfirst:", template_text.cast(template_text.capitalize_first)),
    ("formatnum: nse: plural: padleft: padright:", template_text.argument("1")),
    ("#if:", template_text.if_function),
)
MAX_NAME_LENGTH = 255
"""Characters of a template's name that are read ($wgMaxTitleLength); a longer name may be a function with its argument.
"""
TEMPLATE_RULES: Mapping[str, Rule] = MappingProxyType(
    {name.replace("_", " "): rule for names, rule in _ROWS for name in names.split()}
)
"""Rules by the name of the template in lower case."""
_NAMESPACE = r"(?:template|vorlage|modèle|plantilla|subst|safesubst|msg)\s*+:\s*+"
_PREFIX = re.compile(rf"{_NAMESPACE}(?:{_NAMESPACE}|)*+", re.IGNORECASE)


def render_template(call: TemplateCall) -> str:
    """Return the text that a template or parser function shows; return `REMOVED_MARK` if it shows nothing."""
    name = call.name[:MAX_NAME_LENGTH].strip().replace("_", " ").lower()
    if rule := TEMPLATE_RULES.get(name):
        return rule(call)
    if name.startswith("lang-"):
        return call.argument("1", "text") or REMOVED_MARK
    name = _PREFIX.sub("", name)
    function, colon, _ = name.partition(":")
    if colon and (rule := TEMPLATE_RULES.get(f"{function}:")):
        argument = call.name.partition(":")[2].strip()
        return rule(TemplateCall(name=name, listed=(argument, *call.listed), named=call.named))
    rule = TEMPLATE_RULES.get(name)
    return rule(call) if rule else REMOVED_MARK
