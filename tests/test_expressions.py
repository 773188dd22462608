"""Every regular expression takes time in proportion to what it reads: nobody's page, archive or answer can make one look back for ever.

All expressions of all modules are attacked with strings made from their own parse trees (`tests.attacks`). None is left out for being "for our
own text only": what reads our text today reads somebody else's tomorrow.
"""

import ast
import importlib
import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as kind  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.attacks import TRIES, Samples, TooLongError, cpu_limit, nodes, slow_attack
from tests.packages import PACKAGES
from thresher.extract.facts.page_author import MAX_STATEMENT_LENGTH
from thresher.extract.facts.page_facts import MAX_LINE_LENGTH
from thresher.extract.facts.page_title import MAX_TITLE_LENGTH
from thresher.extract.page.cues import MAX_CUE_LENGTH, MAX_JUNK_LENGTH, MAX_NOTICE_LENGTH
from thresher.filters.rules.code_lines import MAX_LOOKED_AT
from thresher.filters.tokens.token_scheme import LONGEST_WHOLE, SCHEMES, TokenScheme, scheme_of
from thresher.filters.word_tokens import MAX_ADDRESS, MAX_AFFIX

ROOT = Path(__file__).parents[1]
TOKEN_SCHEMES: dict[str, TokenScheme] = {
    language: scheme_of(language) for language in ("common", "hi", "ur", *tomllib.loads(SCHEMES.read_text()))
}
METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split"})
FUNCTIONS = METHODS | {"compile"}
BOUNDED = {
    "thresher.extract.facts.page_author._AND": MAX_STATEMENT_LENGTH,
    "thresher.extract.facts.page_author._BY": MAX_STATEMENT_LENGTH,
    "thresher.extract.facts.page_author._END": MAX_STATEMENT_LENGTH,
    "thresher.extract.facts.page_author._SURELY_BY": MAX_LINE_LENGTH,
    "thresher.extract.facts.page_title._SEPARATOR": MAX_TITLE_LENGTH,
    "thresher.extract.page.cues._COMMENTS": MAX_CUE_LENGTH,
    "thresher.extract.page.cues._JUNK": MAX_JUNK_LENGTH,
    "thresher.extract.page.cues._MORE": MAX_CUE_LENGTH,
    "thresher.extract.page.cues._NOTICE": MAX_NOTICE_LENGTH,
    "thresher.filters.rules.code_lines._CODE": MAX_LOOKED_AT,
    "thresher.filters.tokens.english_tokens._ADDRESS": MAX_ADDRESS,
}
"""Expressions that are quadratic, and what they are given is checked for its length first: so many characters."""
HANDED_OVER = {
    "thresher.storage.inputs.arc.BEGIN": {"match"},  # to `storage.warc.members`
    "thresher.storage.warc.members.RECORD_BEGIN": {"match"},
}
"""Expressions that another module calls by another name, and how."""
NOT_IMPORTED = {"thresher.shards.loader.torch_dataset"}
"""Modules that need what the tests do not install, and have no expression."""
WRITTEN_INLINE = {
    "core/unicode14/__init__.py": [],  # bytes with which characters begin: alternatives of a few bytes
    # An expression that is made when the program runs, and one that it may be.
    "extract/wikitext/literals.py": [r"(?i)</ref\s*+>"],
    "storage/inputs/arc.py": [],  # linear for a text without a line feed inside, and a line has none
    "filters/rules/addresses.py": [r"badword|otherword|word"],
    "filters/rules/boilerplate.py": [r"all[^\S\n]+rights[^\S\n]+reserved|read[^\S\n]+more"],
    "filters/rules/c4.py": [r"(?<!\S)\S{1001}"],
    "filters/tokens/token_scheme.py": sorted({scheme.infix.pattern for scheme in TOKEN_SCHEMES.values()}),
    "filters/signals/licenses.py": [],  # `_ELEMENTS`, which are also parts of the module's other expressions
    "pipeline/steps/records/signal_files.py": [],  # an escaped name of a file with one `(\w+)`, on names of stored files
    "shards/chat/conversation_encoder.py": [],  # alternatives of names of special tokens, escaped
    "pipeline/integrity/verify.py": [r"part-w-\d{12}\.json"],
}


def modules(*packages):
    for package in packages or PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.stem != "__main__" and "migrations" not in path.parts:
                yield path


@cache
def tree(path):
    return ast.parse(path.read_text())


@cache
def methods_called():
    """Methods called on names, by file and name."""
    found = {}
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                name = getattr(node.value, "id", None) or getattr(node.value, "attr", None)
                found.setdefault((path, name), set()).add(node.attr)
    return found


def methods(path, module, name):
    if said := HANDED_OVER.get(f"{module}.{name}"):
        return said
    others = {path} if name.startswith("_") else modules()
    found = set().union(*(methods_called().get((other, name), set()) for other in others))
    return found or {"search", "match", "fullmatch"}


def within(value, deep=4):
    """The expressions in a module's variable, however it holds them."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__
    elif deep and isinstance(value, dict):
        yield from within([*value, *value.values()], deep - 1)
    elif deep and isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from within(each, deep - 1)


def expressions(package):
    """Each with its name and how it is called. A module that imports one from another does not repeat it."""
    known = set()
    for path in modules(package):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts if parts[0] == "thresher" else ("thresher", *parts)).removesuffix(".__init__")
        if module in NOT_IMPORTED:
            assert "import re\n" not in path.read_text()
            continue
        for name, value in vars(importlib.import_module(module)).items():
            for pattern in () if name.startswith("__") else within(value):
                if pattern not in known:
                    known.add(pattern)
                    yield pattern, methods(path, module, name), f"{module}.{name}"
        for number, (pattern, called) in enumerate(inline(path)):
            if pattern not in known:
                known.add(pattern)
                yield pattern, called, f"{module}:{number}"


def inline(path):
    """Expressions written where they are used, and not in a variable of the module."""
    for node in made_in_functions(path):
        if isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str | bytes):
            yield re.compile(node.args[0].value), {node.func.attr}
    for written in WRITTEN_INLINE.get(path.relative_to(ROOT).as_posix(), ()):
        yield re.compile(written), {"search"}


def made_in_functions(path):
    """Calls of functions of `re` that are not of the module's own level."""
    inner = {
        node
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    return [
        node
        for node in inner
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in FUNCTIONS
        and getattr(node.func.value, "id", "") == "re"
    ]


def attack_in_bound(pattern, longest):
    """An attack of so many characters that takes more than 50 ms, or None."""
    for attack in Samples(pattern).attacks():
        if all(takes_too_long(pattern, attack.of(longest)) for _ in range(TRIES)):
            return attack
    return None


def takes_too_long(pattern, text):
    try:
        with cpu_limit(0.05):
            pattern.fullmatch(text)
            pattern.search(text)
    except TooLongError:
        return True
    return False


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.slow
def test_an_expression_takes_time_in_proportion(package):
    slow = {}
    for pattern, called, name in expressions(package):
        longest = BOUNDED.get(name)
        found = attack_in_bound(pattern, longest) if longest else slow_attack(pattern, called)
        if found is not None:
            slow[name] = found
    assert slow == {}


@pytest.mark.parametrize("language", TOKEN_SCHEMES)
@pytest.mark.slow
def test_an_expression_of_a_language_is_fast_in_its_bound(language):
    scheme = TOKEN_SCHEMES[language]
    bounded = {scheme.prefix: MAX_AFFIX, scheme.suffix: MAX_AFFIX, scheme.whole: LONGEST_WHOLE}
    for pattern, longest in bounded.items():
        assert pattern is None or attack_in_bound(pattern, longest) is None


def reads_on(pattern):
    """Whether CPython before 3.11.5 reads on behind a failed repetition of a possessive group (gh-106052, gh-100061)."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    bodies = [node[1][2] for node in nodes(tree) if node[0] is kind.POSSESSIVE_REPEAT]
    return not all(compiler._simple(body) or cannot_fail(body) for body in bodies)


def cannot_fail(body):
    return len(body) == 1 and body[0][0] is kind.BRANCH and not body[0][1][1][-1]


@pytest.mark.slow
def test_an_expression_matches_the_same_on_every_python():
    """A possessive quantifier stands after one character or a group with an empty last alternative: `(?:...|)*+`, or `(?>(?:...)+)` if short."""
    assert [
        name for package in PACKAGES for pattern, _, name in expressions(package) if reads_on(pattern)
    ] == []


def test_what_an_old_python_matches_wrongly_is_found():
    assert reads_on(re.compile(r"(?:<(?!/b)[^<]*+)*+"))
    assert reads_on(re.compile(r"a(?:b(?:[.,]\d++)?+)"))
    assert not reads_on(re.compile(r"(?:<(?!/b)[^<]*+|)*+(?>[.,]\d++|)(?>(?:ab)+)[ab]++"))


def test_none_is_made_that_the_tests_do_not_know():
    """An expression made of others when the program runs is in a variable of its module, or named here."""
    made = set()
    for path in modules():
        if any(not isinstance(node.args[0], ast.Constant) for node in made_in_functions(path)):
            made.add(path.relative_to(ROOT).as_posix())
    assert made == WRITTEN_INLINE.keys()


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (rb"(?s)\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", "match"),  # exponential
        (r"(?:a+)+b", "match"),
        (r"(?:\w+\s?)*$", "match"),
        (r"(?:a|a)*b", "match"),
        (r"\s*,\s*;", "search"),
        (r"x*\s*y*\s*z", "match"),
        (r"<title[^>]*>", "search"),  # begins anew at each
        (r"\d+$", "search"),
    ],
)
def test_the_attacks_find_what_is_not_linear(expression, method):
    assert slow_attack(re.compile(expression), {method})


@pytest.mark.parametrize(
    ("expression", "method"),
    [
        (rb"(?s)\s*+(?:<!--.*?-->\s*+|)*+<(?:!doctype\s+html|html)\b", "match"),
        (r"(?:a++|)*+b", "match"),
        (r"<title[^<>]*+>", "search"),
        (r"(?<!\d)\d++$", "search"),
    ],
)
def test_the_attacks_leave_alone_what_is(expression, method):
    assert slow_attack(re.compile(expression), {method}) is None
