"""Find the licence under which a text is offered, as the page states it: in its markup or in its words.

1. A name alone is no statement: articles discuss licences. A name or an address counts if the words before it offer
   *this* text ("This work is licensed under", "Text is available under", "License: MIT"), or if the text of the licence
   itself is there ("Permission is hereby granted, free of charge").
2. A statement about a picture, a song or a program that is only mentioned does not count, nor does one that is denied.
3. Licences have SPDX identifiers (`CC-BY-SA-4.0`, `Apache-2.0`), without a version where the text names none
   (`CC-BY-SA`). `PD` is a dedication to the public domain.
4. Names of Creative Commons licences are read in ten languages; other names, and offers, in the larger European ones.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from thresher.filters.text import AnalyzedText, Finding

LICENSES_VERSION = 1
MAX_NAMES = 200
"""Names of each licence that are looked at in one text; a list of packages has more."""
_BEFORE = 140
"""Characters before a name in which the offer stands."""

_SEPARATOR = r"[\s,:/–—_-]{1,3}"
_ATTRIBUTION = (
    r"attribution|namensnennung|reconocimiento|atribución|atribuição|attribuzione|paternité|naamsvermelding"
    r"|uznanie autorstwa|erkännande|navngivelse|表示|署名"
)
_ELEMENTS: tuple[tuple[str, str], ...] = (
    (
        "NC",
        (
            r"non[\s-]?commercial(?:e)?|nicht[\s-]?kommerziell|no[\s-]?comercial|não[\s-]?comercial"
            r"|niet[\s-]?commercieel"
            r"|pas d['’]utilisation commerciale|użycie niekomercyjne|icke[\s-]?kommersiell|非営利|非商业性使用"
        ),
    ),
    (
        "SA",
        (
            r"share[\s-]?alike|weitergabe unter gleichen bedingungen|compartir[\s-]?igual"
            r"|compartilha[\s-]?igual"
            r"|partage (?:dans les mêmes conditions|à l['’]identique)|condividi allo stesso modo"
            r"|gelijk[\s-]?delen"
            r"|na tych samych warunkach|dela[\s-]?lika|継承|相同方式共享"
        ),
    ),
    (
        "ND",
        (
            r"no[\s-]?deriv(?:ative)?(?:s| works)?|keine[\s-]?bearbeitung(?:en)?|sin[\s-]?obra[\s-]?derivada"
            r"|sem[\s-]?derivações|pas de modification|non opere derivate"
            r"|geen[\s-]?afgeleide[\s-]?werken|改変禁止|禁止演绎"
        ),
    ),
)
_ELEMENT = "|".join(words for _, words in _ELEMENTS)
_VERSION = r"(?:[\s,(]{0,3}(?:version|v\.?|license|licence|lizenz)?[\s,(]{0,2}(?P<VERSION>\d(?:\.\d)?))?"


@dataclass(frozen=True, slots=True)
class Statement:
    """A licence that a text states for itself."""

    license: str
    """SPDX identifier, without a version where none is named."""
    start: int


_CC = re.compile(
    r"creativecommons\.org/(?:licenses/(?P<code>by(?:-nc)?(?:-sa|-nd)?|by-nd-nc)"
    r"|publicdomain/(?P<zero>zero|mark))"
    r"(?:/(?P<v1>\d\.\d))?"
    r"|\bcc[\s-]?(?P<short>by(?:[\s-](?:nc|sa|nd)){0,3})\b(?:[\s-]{1,2}v?\.?(?P<v2>\d\.\d))?"
    r"|\bcc[\s-]?(?P<cc0>0|zero)\b(?:[\s-](?P<v3>1\.0))?"
    rf"|creative commons{_SEPARATOR}(?:licen[sc]e\s"
    rf"|lizenz\s)?[„“\"'(]?(?P<long>(?:{_ATTRIBUTION})(?:{_SEPARATOR}(?:and\s)?"
    rf"(?:{_ELEMENT})){{0,3}})" + _VERSION.replace("VERSION", "v4"),
    re.IGNORECASE,
)
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(f"(?:{pattern})" + _VERSION.replace("VERSION", "version"), re.IGNORECASE))
    for name, pattern in (
        ("Apache", r"\bapache(?:[\s-]software)?(?:\slicen[sc]e)?(?=[\s,-]{1,2}(?:version\s|v\.?)?2|\slicen)"),
        ("AGPL", r"\bgnu affero general public licen[sc]e|\bagpl(?=[\sv-]{0,2}\d|\b)"),
        ("LGPL", r"\bgnu (?:lesser|library) general public licen[sc]e|\blgpl(?=[\sv-]{0,2}\d|\b)"),
        ("GPL", r"\bgnu general public licen[sc]e|(?<![la])\bgpl(?=[\sv-]{0,2}\d|\b)"),
        ("GFDL", r"\bgnu free documentation licen[sc]e|\bgfdl(?=[\sv-]{0,2}\d|\b)"),
        ("MPL", r"\bmozilla public licen[sc]e|\bmpl(?=[\sv-]{0,2}2)"),
        ("EPL", r"\beclipse public licen[sc]e"),
        (
            "MIT",
            (
                r"\bmit(?:/x11)?[\s-]licen[sc]e|\bmit-lizenz|\blicence mit\b|\blicencia mit\b"
                r"|(?<=licensed under )mit\b"
            ),
        ),
        ("ISC", r"\bisc licen[sc]e"),
        (
            "BSD",
            (
                r"\b(?:new |modified |simplified "
                r"|revised )?bsd(?:[\s-](?P<clauses>[0234])[\s-]clause)?(?:[\s-]style)?\s?licen[sc]e"
            ),
        ),
        ("OGL-UK", r"\bopen government licen[sc]e"),
        ("ODbL", r"\bopen (?:data commons open )?database licen[sc]e|\bodbl\b"),
        ("PD", r"\bpublic[\s-]domain\b|\bgemeinfrei\b|\bdomaine public\b|\bdominio público\b"),
    )
)
_LABEL = re.compile(
    r"(?:^|\n)[\s*#>-]{0,4}(?i:licen[sc]e)[\s*:=\"'-]{1,5}(MIT|ISC|0BSD|Unlicense|(?:Apache"
    r"|[AL]?GPL|MPL|EPL|CC|BSD)-[\w.-]{2,30})\b"
)
"""`License: MIT`, `license = "Apache-2.0"`: what package descriptions have."""
_SPDX = re.compile(r"SPDX-License-Identifier:[ \t]{0,4}\(?([A-Za-z0-9.+-]{2,40})")
_LICENSE_TEXTS: tuple[tuple[str, str], ...] = (
    ("MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD", "Redistribution and use in source and binary forms"),
    ("ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"),
    ("Unlicense", "This is free and unencumbered software released into the public domain"),
)
_LITERALS: Mapping[str, tuple[str, ...]] = {
    "GPL": ("general public", "gpl"),
    "LGPL": ("general public", "lgpl"),
    "AGPL": ("affero", "agpl"),
    "GFDL": ("free documentation", "gfdl"),
    "MPL": ("mozilla public", "mpl 2", "mpl-2", "mpl2", "mpl v", "mplv", "mpl-v"),
    "EPL": ("eclipse public",),
    "MIT": ("mit licen", "mit-licen", "mit/x11", "mit-lizenz", "licence mit", "licencia mit", "under mit"),
    "ISC": ("isc licen",),
    "OGL-UK": ("open government",),
    "ODbL": ("database licen", "odbl"),
    "PD": ("public domain", "public-domain", "gemeinfrei", "domaine public", "dominio público"),
}
"""In lower case: a text has one of them if it has the name. The literal of other names is the name itself."""
_CC_LITERALS = (
    "creativecommons",
    "creative commons",
    "cc by",
    "cc-by",
    "ccby",
    "cc\nby",
    "cc0",
    "cc 0",
    "cc-0",
    "cc zero",
    "cc-zero",
    "cczero",
)
_TRIGGERS = (
    *(
        "licen",
        "lizen",
        "creative",
        "cc by",
        "cc-by",
        "cc0",
        "cc zero",
        "public domain",
        "public-domain",
        "gemeinfrei",
    ),
    *("domaine public", "dominio público", "spdx", "gpl", "gfdl", "odbl", "hereby granted", "redistribution"),
)
"""In lower case: a text with none of them states no licence."""

_THIS = re.compile(
    r"\bquest['’]opera\b|\b(?:this|these|our|all|unless|except|diese[rs]?|alle|unsere|ce"
    r"|cette|ces|este|esta|estos|questo"
    r"|questi)\s(?:\S{1,20}\s){0,4}?(?:works?|pages?|sites?|websites?|web ?sites?|contents?"
    r"|texts?|articles?|posts?|blogs?"
    r"|wikis?|documentation|documents?|manuals?|books?|guides?|projects?|software|programs?"
    r"|files?|translations?|courses?"
    r"|lessons?|lectures?|materials?|data ?sets?|databases?|data|repository|source|code"
    r"|library|package|module|paper|report"
    r"|study|chapter|tutorials?|slides|notes|story|stories|essay|encyclopedia|entries|noted"
    r"|werk|inhalte?|text|artikel|seite"
    r"|webseite|dokument|programm|œuvre|oeuvre|contenus?|textes?|obra|contenidos?|textos?"
    r"|artículos?|página|sitio|opera"
    r"|contenuti|testi?|pagina|conteúdos?)\b"
    r"|\b(?:the )?(?:content|contents|text|documentation|lessons|data)\s(?:is|are|on|of|in)\b"
    r"|\b(?:die inhalte|les contenus|los contenidos|i contenuti|os conteúdos)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"licen[sc]ed|re-?licensed|released|available|distributed|published|provided|shared"
    r"|offered|issued|covered|governed"
    r"|dedicated|placed|(?:is|are|falls|fall) (?:hereby )?(?:made |put )?(?:under"
    r"|in(?:to)? the)|subject to|redistribute|reuse"
    r"|lizenziert|steht|stehen|verfügbar|veröffentlicht|freigegeben|unterliegt|(?:mis|mise"
    r"|disponible|distribué|publié)e?s?"
    r"|sous licence|bajo|disponibles?|publicad[oa]s?|distribuid[oa]s?|disponibil[ei]"
    r"|rilasciat[oaie]|distribuit[oaie]|sob a?",
    re.IGNORECASE,
)
_LINE_START = re.compile(
    r"(?:^|\n|[|•·©.]\s?|\d{4}\s)[\s*#>©-]{0,4}(?:"
    r"(?i:(?:content|text|code|documentation|data"
    r"|some rights reserved)[\s:.,]{1,3}(?:\S{1,25}\s){0,4}?(?:is |are )?"
    r"(?:licen[sc]ed|released|available|distributed|published|shared)\s(?:under|as))"
    r"|(?:Licen[sc]ed|LICEN[SC]ED)\s(?:under|as)"
    r"|(?:Lizenziert unter|Sous licence|Bajo licencia)"
    r"|(?:[Ll]icen[sc]e|LICEN[SC]E|Lizenz|Licenza|Licencia)(?:\s?(?:\([^)\n]{0,20}\)"
    r"|information|text|type))?\s?(?::|-|–|\n)"
    r")(?i:\s(?:the|a|an|der|einer|la|une|una|license|terms"
    r"|of)){0,4}[\s:(\"„“'<\[]{0,4}(?:https?://)?(?:www\.)?$"
)
_REDISTRIBUTE = re.compile(r"you (?:can|may) (?:use, )?(?:copy, |redistribute )", re.IGNORECASE)
"""The sentence that the GNU project asks for in each file."""
_DENIED = re.compile(
    r"\b(?:not|never|unlike|instead of|no longer|incompatible|compared|versus|vs|whether"
    r"|if you|should|could|might|would"
    r"|previously|formerly|used to be|was once|nicht|keine|don['’]t|isn['’]t|doesn['’]t"
    r"|cannot|rather than|see also|such as|like the)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:image|images|photo|photos|photograph|photographs|picture|pictures|illustration"
    r"|icon|icons|logo|font|fonts|cover|song"
    r"|music|audio|soundtrack|sample|screenshot|thumbnail|bild|bilder|foto|fotos|imagen"
    r"|imagens|photographie|by \S{2,20} /"
    r"|flickr|wikimedia commons|unsplash|shutterstock)\b",
    re.IGNORECASE,
)


def page_license(url: str) -> str:
    """Return the licence of the URL that a page's markup states; empty if it is none that is known."""
    found = _CC.search(url)
    return "" if found is None else _creative_commons(found)


def statements(text: str) -> list[Statement]:
    """Return the licences that a text states for itself, in order, each licence once."""
    lower = text.lower()
    if not _has(lower, _TRIGGERS):
        return []
    seen: dict[str, Statement] = {}
    for each in sorted(_all(text, lower), key=lambda found: found.start):
        seen.setdefault(each.license, each)
    if "CC0-1.0" in seen:
        seen.pop("PD", None)
    names = set(seen)
    # "the Creative Commons license CC BY 4.0 (CC BY)": the name with a version says more.
    return [
        each
        for name, each in seen.items()
        if not any(other.startswith(f"{name}-") and other[len(name) + 1].isdigit() for other in names)
    ]


def _all(text: str, lower: str) -> Iterator[Statement]:
    yield from _labels(text, lower)
    if _has(lower, _CC_LITERALS):
        for found in islice(_CC.finditer(text), MAX_NAMES):
            if _is_offer(text, found):
                yield Statement(_creative_commons(found), found.start())
    for name, pattern in _NAMES:
        if _has(lower, _LITERALS.get(name, (name.lower(),))):
            for found in islice(pattern.finditer(text), MAX_NAMES):
                if _is_offer(text, found):
                    yield Statement(_versioned(name, found), found.start())


def _labels(text: str, lower: str) -> Iterator[Statement]:
    """Yield what needs no offer: identifiers of SPDX, labels, and the texts of licences."""
    if "spdx-" in lower:
        for found in islice(_SPDX.finditer(text), MAX_NAMES):
            yield Statement(found[1], found.start())
    for found in islice(_LABEL.finditer(text), MAX_NAMES):
        yield Statement(found[1], found.start())
    for name, words in _LICENSE_TEXTS:
        if (at := text.find(words)) >= 0:
            yield Statement(name, at)


def _has(lower: str, literals: Iterable[str]) -> bool:
    return any(literal in lower for literal in literals)


def _is_offer(text: str, found: re.Match[str]) -> bool:
    """Return whether the words before a name offer this text under it."""
    start = found.start()
    before = text[max(0, start - _BEFORE) : start]
    line = _LINE_START.search(before) is not None
    # The sentence that holds the name; a dot within a name or a number ends none.
    sentence = re.split(r"[.!?]\s+(?=[A-ZÀ-Þ])|\n", before)[-1]
    if _DENIED.search(sentence) or _PART.search(sentence):
        return False
    if line:
        return True
    if _REDISTRIBUTE.search(sentence):
        return True
    return _THIS.search(sentence) is not None and _OFFER.search(sentence) is not None


def _creative_commons(found: re.Match[str]) -> str:
    version = found["v1"] or found["v2"] or found["v3"] or found["v4"] or ""
    if found["zero"] or found["cc0"]:
        return "PD" if (found["zero"] or "").lower() == "mark" else "CC0-1.0"
    if found["long"]:
        words = found["long"].lower()
        parts = {name for name, pattern in _ELEMENTS if re.search(pattern, words)}
    else:
        parts = set(re.split(r"[\s-]+", (found["code"] or found["short"]).upper()))
    name = "-".join(["CC-BY", *(part for part in ("NC", "ND", "SA") if part in parts)])
    return f"{name}-{version if '.' in version else version + '.0'}" if version else name


def _versioned(name: str, found: re.Match[str]) -> str:
    groups = found.groupdict()
    if name == "BSD":
        return f"BSD-{groups['clauses']}-Clause" if groups.get("clauses") else "BSD"
    version = groups.get("version") or ""
    if not version or name in {"PD", "MIT", "ISC"}:
        return name
    return f"{name}-{version if '.' in version else version + '.0'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LicenseRule:
    """Keep only documents that state a licence, and none but `wanted` ones.

    A wanted name without a version, such as `CC-BY`, allows every version; it does not allow `CC-BY-NC`.
    """

    wanted: tuple[str, ...]

    name: ClassVar[str] = "license"
    measures: ClassVar[tuple[str, ...]] = ("license_in_markup", "licenses_in_text", "licenses_unwanted")

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Wanted licences, and the version of the patterns."""
        return {"wanted": list(self.wanted), "version": LICENSES_VERSION}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Drop a document as `no_license` or `unwanted_license`."""
        marked = page_license(text.license)
        stated = [each.license for each in statements(text.known)]
        every = {*stated, *([marked] if marked else [])}
        unwanted = [name for name in every if not self.allows(name)]
        reason = "no_license" if not every else "unwanted_license" if unwanted else None
        measured = {
            "license_in_markup": float(bool(marked)),
            "licenses_in_text": float(len(stated)),
            "licenses_unwanted": float(len(unwanted)),
        }
        return Finding(measurements=measured, reason=reason)

    def allows(self, name: str) -> bool:
        """Return whether a licence is one of the wanted ones."""
        lower = name.lower()
        bare = re.sub(r"-\d+(?:\.\d+)*(?:-(?:or-later|only))?$", "", lower)
        return any(each.lower() in {lower, bare} for each in self.wanted)


def stated_license_url(text: str) -> str:
    """Return the URL of the one licence that a text states for itself; empty if it states none, or several."""
    stated = statements(text)
    if len(stated) != 1:
        return ""
    name = stated[0].license
    if creative := re.fullmatch(r"CC-(BY[A-Z-]*?)(?:-(\d\.\d))?", name):
        code = creative[1].lower().replace("-nd-sa", "-nd")
        return f"https://creativecommons.org/licenses/{code}/{f'{creative[2]}/' if creative[2] else ''}"
    if name == "CC0-1.0":
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    return "" if name == "PD" else f"https://spdx.org/licenses/{name}.html"
