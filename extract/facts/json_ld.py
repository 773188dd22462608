"""Read the nodes of a page's JSON-LD (schema.org). Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from thresher.extract.later_characters import known_json
from thresher.extract.page.boxes import MetadataElement

MAX_JSON_LENGTH = 1_000_000
"""Characters of one script of JSON-LD at most; a longer one is ignored."""
DEEPEST_JSON = 8
ARTICLES = frozenset((
    "article", "newsarticle", "blogposting", "report", "reportagenewsarticle", "analysisnewsarticle",
    "opinionnewsarticle", "scholarlyarticle", "techarticle", "recipe", "liveblogposting", "socialmediaposting",
    "discussionforumposting", "webpage", "medicalwebpage", "advertisercontentarticle", "reviewnewsarticle", "review",
    "creativework", "blogpost", "qapage", "videoobject", "podcastepisode",
))  # fmt: skip
"""Types of schema.org, in lower case, whose nodes speak of the page."""

Node = dict[str, Any]


def read_nodes(elements: Iterable[MetadataElement]) -> Iterator[Node]:
    """Yield the nodes of the page's JSON-LD, outer nodes first."""
    for element in elements:
        if element.tag == "script" and len(element.text) <= MAX_JSON_LENGTH:
            try:
                yield from _nodes(json.loads(known_json(element.text), strict=False), DEEPEST_JSON)
            except (ValueError, RecursionError):
                continue


def _nodes(value: Any, max_depth: int) -> Iterator[Node]:
    if not max_depth:
        return
    if isinstance(value, list):
        for child in value:
            yield from _nodes(child, max_depth - 1)
    elif isinstance(value, dict):
        yield value
        for child in value.values():
            if isinstance(child, dict | list):
                yield from _nodes(child, max_depth - 1)


def types(node: Node) -> set[str]:
    """Return the types of a node in lower case."""
    stated = node.get("@type")
    return {
        name.lower() for name in (stated if isinstance(stated, list) else [stated]) if isinstance(name, str)
    }


def of_article(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes that speak of the page, articles first, then nodes of pages, then nodes without a type."""
    rank = {True: 0, False: 1}
    articles = [
        (rank[not types(node) & {"webpage", "medicalwebpage"}], node)
        for node in nodes
        if types(node) & ARTICLES
    ]
    untyped = [node for node in nodes if not types(node)]
    return [node for _, node in sorted(articles, key=lambda pair: pair[0])] + untyped


def of_type(nodes: Iterable[Node], name: str) -> Iterator[Node]:
    """Yield the nodes of a type, which is in lower case."""
    return (node for node in nodes if name in types(node))


def names_by_id(nodes: Iterable[Node]) -> dict[str, Any]:
    """Return the name of each node that has an `@id`; of several with the same one, that of the first."""
    found: dict[str, Any] = {}
    for node in nodes:
        if isinstance(id_ := node.get("@id"), str) and "name" in node:
            found.setdefault(id_, node["name"])
    return found


def names(value: Any, by_id: Mapping[str, Any] = MappingProxyType({})) -> Iterator[str]:
    """Yield the names in the value of a property such as `author`: strings, nodes, or lists of them. A node that has
    only an `@id` has the name that `by_id` has for it (`names_by_id`).
    """
    for each in value if isinstance(value, list) else [value]:
        name = each
        if isinstance(each, dict):
            name = each.get("name")
            if name is None and isinstance(stated := each.get("@id"), str):
                name = by_id.get(stated)
        for one in name if isinstance(name, list) else [name]:
            if isinstance(one, str):
                yield one
