"""Replace templates and links by the text that they show, from inside out, in one pass with a stack.

1. A template or link that is not closed is text. A link that is not closed within a template ends with the template.
2. Braces and brackets nested deeper than `DEEPEST` are text.
"""

import re
from dataclasses import dataclass, field

from thresher.extract.wikitext.names import link_text
from thresher.extract.wikitext.quotes import strip_emphasis
from thresher.extract.wikitext.template_text import TemplateCall
from thresher.extract.wikitext.templates import render_template

DEEPEST = 100
"""Levels of nested templates and links at most, as MediaWiki limits templates ($wgMaxTemplateDepth)."""
_TOKEN = re.compile(r"\{\{++|\}\}++|\[\[|\]\]|\|")


@dataclass(slots=True)
class _Open:
    """A template (`braces` is 2 or more) or a link (`braces` is 0) that is not closed yet."""

    braces: int
    parts: list[list[str]] = field(default_factory=lambda: [[]])
    named: list[int] = field(default_factory=lambda: [-1])
    """Position of `=` in the first text of each part; -1 if the part has no name."""

    def text(self) -> str:
        """Return the template or link as it was written."""
        return ("{" * self.braces or "[[") + "|".join(map("".join, self.parts))

    def add(self, raw: str) -> None:
        """Add text of the page itself, in contrast to text that a template or link shows."""
        if not self.parts[-1]:
            self.named[-1] = raw.find("=")
        self.parts[-1].append(raw)


def resolve_templates(text: str) -> str:
    """Return the page with all templates and links replaced."""
    stack = [_Open(0)]
    templates = at = 0
    for token in _TOKEN.finditer(text):
        top = stack[-1]
        if token.start() > at:
            top.add(text[at : token.start()])
        at = token.end()
        mark = token[0]
        if mark == "|" and len(stack) > 1:
            top.parts.append([])
            top.named.append(-1)
        elif mark in ("[[", "{{", "{{{") and len(stack) <= DEEPEST:
            stack.append(_Open(len(mark) if mark[0] == "{" else 0))
            templates += mark[0] == "{"
        elif mark == "]]" and len(stack) > 1 and not top.braces:
            stack.pop()
            stack[-1].parts[-1].append(_alone(link_text(["".join(part) for part in top.parts])))
        elif mark[0] == "}" and templates:
            while not stack[-1].braces:
                _leave_open(stack)
            templates -= _close(stack, len(mark))
        elif mark[0] == "{" and len(stack) <= DEEPEST:
            stack.append(_Open(len(mark)))
            templates += 1
        else:
            top.add(mark)
    stack[-1].add(text[at:])
    while len(stack) > 1:
        _leave_open(stack)
    return "".join(stack[0].parts[0])


def _leave_open(stack: list[_Open]) -> None:
    text = stack.pop().text()
    stack[-1].parts[-1].append(text)


def _close(stack: list[_Open], braces: int) -> int:
    """Close templates with `braces` closing braces, as far as they suffice. Return the number of templates closed."""
    done = 0
    while braces > 1 and stack[-1].braces:
        inner = stack.pop()
        taken = 3 if min(inner.braces, braces) > 2 else 2
        text = _default(inner) if taken == 3 else _alone(render_template(_call(inner)))
        braces -= taken
        left = inner.braces - taken
        if left > 1:
            stack.append(_Open(left, [[text]]))
        else:
            stack[-1].parts[-1].append("{" * left + text)
            done += 1
    if braces:
        stack[-1].add("}" * braces)
    return done


def _alone(text: str) -> str:
    """Return the shown text without emphasis, so that its quotes do not combine with quotes around it."""
    return strip_emphasis(text) if text.startswith("''") or text.endswith("''") else text


def _default(parameter: _Open) -> str:
    """Return the default of a parameter, which MediaWiki shows if no other page calls this one."""
    return "".join(parameter.parts[1]) if len(parameter.parts) > 1 else ""


def _call(template: _Open) -> TemplateCall:
    name, *parts = map("".join, template.parts)
    listed: list[str] = []
    named: dict[str, str] = {}
    for part, equals in zip(parts, template.named[1:], strict=True):
        if equals < 0:
            listed.append(part.strip())
        else:
            named[part[:equals].strip().lower()] = part[equals + 1 :].strip()
    return TemplateCall(name=name, listed=tuple(listed), named=named)
