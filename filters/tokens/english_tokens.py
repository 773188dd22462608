"""The scheme of English: contractions, abbreviations, and dashes behind digits."""

import re
import string

from thresher.filters.tokens.token_scheme import (
    ADDRESS,
    CURRENCY,
    ELLIPSIS,
    MAY_JOIN,
    QUOTES,
    SUFFIX_ENDS,
    SYMBOL,
    UNITS,
    TokenScheme,
)

_LETTER = r"[^\W\d_]"
_INFIX = re.compile(
    rf"{ELLIPSIS}"
    r"|(?<=[0-9])[+\-*^](?=[0-9-])"
    rf"|(?:(?<={_LETTER})|(?<=[{QUOTES}]))(?P<dot>\.)(?={_LETTER}|[{QUOTES}])"
    rf"|(?<={_LETTER}),(?={_LETTER})"
    rf"|(?<=[^\W_])(?:-{{1,3}}|–|—{{1,2}}|~)(?={_LETTER})"
    rf"|(?<=[^\W_])[:<>=/](?={_LETTER})"
    rf"|{SYMBOL}"
)
_SUFFIX = re.compile(rf"(?:['’][sS]|(?<=[0-9])(?:[+{CURRENCY}%]|{'|'.join(UNITS.split())}))\Z")
_WHO, _THIS = "[Ww]ho|[Ww]hat|[Ww]hen|[Ww]here|[Ww]hy|[Hh]ow|[Tt]here", "[Tt]hat|[Tt]his"
_THESE, _WE = "[Tt]hese|[Tt]hose", "[Yy]ou|[Ww]e|[Tt]hey"
_HE = "[Hh]e|[Ss]he|[Ii]t"
_CONTRACTION = re.compile(
    r"([Ii])(['’]?m)(a)?"
    rf"|([Ii]|{_HE}|{_WE}|{_WHO}|{_THIS}|{_THESE})(['’]?(?:ll|d))(['’]?ve)?"
    rf"|([Ii]|{_WE}|{_WHO}|{_THESE})(['’]?ve)"
    rf"|({_WE}|{_WHO}|{_THESE})(['’]?re)"
    rf"|({_HE}|{_WHO}|{_THIS})(['’]?s)"
    r"|([Cc]a|[Cc]ould|[Dd]o|[Dd]oes|[Dd]id|[Hh]ad|[Mm]ay|[Mm]ight|[Mm]ust|[Nn]eed|[Oo]ught|[Ss]ha|[Ss]hould|[Ww]o"
    r"|[Ww]ould)(n['’]?t)(['’]?ve)?"
    r"|([Aa]i|[Aa]re|[Ii]s|[Ww]as|[Ww]ere|[Hh]ave|[Hh]as|[Dd]are)(n['’]?t)"
    r"|([Cc]ould|[Mm]ight|[Mm]ust|[Ss]hould|[Ww]ould|[Nn]ot)(['’]?ve)"
    r"|([Cc]an)(not)|([Gg]on)(na)|([Gg]ot)(ta)|([Ll]et)(['’]s)|([Cc]['’]m)(on)|(y['’]?)(all)"
    r"|([Hh]ow)(['’]d)(['’]y)|(1[0-2]|[1-9])([ap]m|[ap]\.m\.)"
)
_NO_CONTRACTION_LIST = "ill its hell shell shed were well whore"
_ABBREVIATION_LIST = (
    "'S 's ‘S ‘s 're ’re 'd ’d 'll ’ll 'em ’em and/or w/o ma'am Ma'am ma’am Ma’am o'clock O'clock o’clock O’clock C++"
    " 'Cause 'cause 'Cos 'cos 'Coz 'coz 'Cuz 'cuz 'bout 'nuff ’Cause ’cause ’Cos ’cos ’Coz ’coz ’Cuz ’cuz ’bout ’nuff"
    " lovin' havin' doin' goin' nothin' nuthin' ol' somethin' lovin’ havin’ doin’ goin’ nothin’ nuthin’ ol’ somethin’"
    " Lovin' Havin' Doin' Goin' Nothin' Nuthin' Ol' Somethin' Lovin’ Havin’ Doin’ Goin’ Nothin’ Nuthin’ Ol’ Somethin’"
    " Mt. Ak. Ala. Apr. Ariz. Ark. Aug. Calif. Colo. Conn. Dec. Del. Feb. Fla. Ga. Ia. Id. Ill. Ind. Jan. Jul. Jun."
    " Kan. Kans. Ky. La. Mar. Mass. Mich. Minn. Miss. N.C. N.D. N.H. N.J. N.M. N.Y. Neb. Nebr. Nev. Nov. Oct. Okla."
    " Ore. Pa. S.C. Sep. Sept. Tenn. Va. Wash. Wis. a.m. Adm. Bros. co. Co. Corp. D.C. Dr. e.g. E.g. E.G. Gen. Gov."
    " i.e. I.e. I.E. Inc. Jr. Ltd. Md. Messrs. Mo. Mont. Mr. Mrs. Ms. p.m. Ph.D. Prof. Rep. Rev. Sen. St. vs. v.s."
    " ä. ö. ü. '' ’’ \\n \\t \\\") <space>"
)

_KNOWN = (
    *f"{_ABBREVIATION_LIST} {_NO_CONTRACTION_LIST} {_NO_CONTRACTION_LIST.title()}".split(),
    *(f"{letter}." for letter in string.ascii_lowercase),
)

_ADDRESS = re.compile(ADDRESS.replace("@TOP", r"[^\W\d_A-Z]"))
_MAY_JOIN = re.compile(MAY_JOIN.replace("@SIGNS", "'’"))

ENGLISH = TokenScheme(
    infix=_INFIX,
    suffix=_SUFFIX,
    suffix_ends=frozenset(SUFFIX_ENDS),
    final_dot=None,
    known={text: (text,) for text in _KNOWN},
    contraction=_CONTRACTION,
    longest_known=12,
    address=_ADDRESS,
    may_join=_MAY_JOIN,
)
"""The scheme of English, which texts of unknown language have too."""
