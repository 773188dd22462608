"""Languages of code, as the names of highlighters and the attributes of elements state them. Pure."""

import re
from collections.abc import Mapping

MAX_NAMES_LENGTH = 400
"""Characters of a class that are read."""
LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_LABELLED = re.compile(
    r"(?:\b(?:language|lang|highlight-source|highlight-text|highlight|src|source)-|\bbrush:\s*|\blang:)"
    r"([a-z][\w+#.-]*)"
)
_HOSTS = _words(
    """hljs sourcecode highlight chroma prism-code src code prettyprint codehilite geshi shiki syntax syntaxhighlighter
    crayon-syntax"""
)
"""Names of listings beside which the name of the language may stand alone."""
_LANGUAGES = _words(
    """abap actionscript ada apache applescript asm awk bash basic bat batch c c++ c# clojure cmake cobol coffeescript
    cpp crystal cs csharp css csv cuda cython d dart delphi diff dockerfile elixir elm erlang f# fortran fsharp go
    golang graphql groovy haml handlebars haskell hcl html http ini java javascript js json json5 jsonc jsx julia kotlin
    latex less lisp lua make makefile markdown markup matlab md mermaid nasm nginx nim nix objc objective-c objectivec
    ocaml octave pascal perl php plsql powershell prolog properties protobuf ps1 puppet py py3 pycon python python3 r rb
    ruby rs rust sass scala scheme scss sh shell shell-session solidity sql svelte swift tcl terraform tex toml ts tsx
    typescript vala vb vbnet verilog vhdl vim vue wasm xhtml xml xslt yaml yml zig zsh console ipython3 cfg"""
)
_NO_LANGUAGES = _words(
    """none plain plaintext plain_text text txt nohighlight no-highlight default auto unknown undefined literal block"""
)


def language(names: str) -> str:
    """Return the language of code that the class of an element names, for a fence; return `""` if it names none."""
    names = names[:MAX_NAMES_LENGTH].lower()
    if labelled := _LABELLED.search(names):
        found = labelled[1].rstrip(".;-")
        return "" if found in _NO_LANGUAGES else found
    words = names.split()
    if len(words) > 1 and not _HOSTS.isdisjoint(words):
        return next((word for word in words if word in _LANGUAGES), "")
    return words[0] if len(words) == 1 and words[0] in _LANGUAGES else ""


def known_language(names: str) -> str:
    """Return the language that the class of an element around code names, if it is a known one."""
    found = language(names)
    return found if found in _LANGUAGES else ""


def code_language(attributes: Mapping[str, str]) -> str:
    """Return the language of code that the attributes of its element state; return `""` if they state none."""
    for name in LANGUAGE_ATTRIBUTES:
        if stated := attributes.get(name):
            return language(f"language-{stated}")
    return language(attributes.get("class", ""))
