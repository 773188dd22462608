"""`dom`: a page as its reader sees it, written as HTML, from all the trees of which it consists.

1. The content of a shadow root stands in its host, and slotted nodes stand in place of their slot, so that a reader of
   HTML that knows neither finds text and links where a person sees them. Nodes that a host holds and does not show are
   marked `hidden`: their links count, their text does not. Closed shadow roots are read like open ones.
2. The content of a frame without an address of its own (`srcdoc`, or written by a script) follows its element, in a
   `div`.
3. If the page's address has changed (`history.pushState`), or its base depends on that, a `<base>` says what its
   relative links refer to now.
4. The content of a `<template>`, comments, and text that a stylesheet would insert stay what they are in the document:
   no text of the page.
5. Everything is read in a world whose functions the page cannot replace, by getters that its named elements cannot
   hide, and up to a length. Any depth of nesting is fine, because nothing here is recursive.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from playwright.async_api import CDPSession, Error

from thresher.crawler.render.chromium.isolated_world import call_function

MAX_SEARCHED_NODES = 40_000
"""Nodes of a page up to which it is searched for closed shadow roots: the search takes some 20 to 40 µs a node."""
MAX_CLOSED_ROOTS = 1_000
"""Closed shadow roots that are read at most."""
_DECLARES_CLOSED = re.compile(rb"shadowrootmode\s*=\s*[\"']?closed", re.IGNORECASE)
_SIZE = """
function () {
  let elements = 0, text = 0;
  const todo = [document];
  while (todo.length) {
    const root = todo.pop();
    text += root instanceof ShadowRoot ? root.textContent.length : document.body ? document.body.textContent.length : 0;
    for (const element of root.querySelectorAll("*")) {
      elements++;
      if (element.shadowRoot instanceof ShadowRoot) todo.push(element.shadowRoot);
    }
  }
  return [elements, text];
}
"""
_READ = r"""
function (limit, asked, ...closed) {
  const getter = (type, name) => {
    const get = Object.getOwnPropertyDescriptor(type.prototype, name).get;
    return node => get.call(node);
  };
  const childNodes = getter(Node, "childNodes"), nodeType = getter(Node, "nodeType");
  const parentNode = getter(Node, "parentNode");
  const ownerDocument = getter(Node, "ownerDocument"), baseURI = getter(Node, "baseURI");
  const data = getter(CharacterData, "data");
  const attributes = getter(Element, "attributes"), localName = getter(Element, "localName");
  const shadowRoot = getter(Element, "shadowRoot"), outerHTML = getter(Element, "outerHTML");
  const contentDocument = getter(HTMLIFrameElement, "contentDocument"), body = getter(Document, "body");
  const find = (root, selector) =>
    (root instanceof Document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, selector);
  const bare = url => url.split("#")[0];

  const document_ = document, root = getter(Document, "documentElement")(document_);
  const head = getter(Document, "head")(document_), doctype = getter(Document, "doctype")(document_);
  const title = String(getter(Document, "title")(document_)).slice(0, 1000);
  const type = doctype ? new XMLSerializer().serializeToString(doctype) : "";
  if (!root) return {html: type.slice(0, limit), title};

  const closedRoots = new Map(closed.map(node => node.getRootNode()).map(each => [each.host, each]));
  const shadowOf = element => shadowRoot(element) || closedRoots.get(element) || null;
  const frameOf = element => {
    const inner = element instanceof HTMLIFrameElement ? contentDocument(element) : null;
    const shown = inner && body(inner);
    return shown && childNodes(shown).length ? shown : null;
  };
  const home = baseURI(document_), base = find(document_, "base[href]")[0] || null;
  const isMoved = (() => {
    try {
      return bare(new URL(base ? base.getAttribute("href") : asked, asked).href) !== bare(home);
    } catch {
      return true;
    }
  })();
  const isPlain = () => {
    if (isMoved || closed.length) return false;
    for (const element of find(document_, "*")) if (shadowRoot(element) || frameOf(element)) return false;
    return true;
  };
  if (isPlain()) return {html: (type + outerHTML(root)).slice(0, limit), title};

  const VOID = new Set(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(" "));
  const RAW = new Set("style script xmp iframe noembed noframes plaintext noscript".split(" "));
  const LINKS = new Set(["href", "src", "action"]);
  const ENTITIES = {"&": "&amp;", "\u00a0": "&nbsp;", "<": "&lt;", ">": "&gt;"};
  const text = value => value.replace(/[&\u00a0<>]/g, each => ENTITIES[each]);
  const quoted = value => `"${text(value).replaceAll('"', "&quot;")}"`;
  const absolute = (value, from) => {
    try {
      return new URL(value, from).href;
    } catch {
      return value;
    }
  };
  const pieces = [type];
  let size = type.length;
  const put = piece => {
    pieces.push(piece);
    size += piece.length;
  };
  const todo = [root];
  const later = nodes => {
    for (let i = nodes.length - 1; i >= 0; i--) todo.push(nodes[i]);
  };
  const open = (element, name) => {
    const document = ownerDocument(element), from = baseURI(document);
    const isElsewhere = document !== document_ && from !== home;
    let tag = "<" + name;
    for (const {name: key, value} of attributes(element)) {
      if (name === "iframe" && key === "srcdoc") continue;
      const link = isElsewhere && LINKS.has(key) ? absolute(value, from) : value;
      const written = element === base && key === "href" ? bare(home) : link;
      tag += ` ${key}=${quoted(written)}`;
    }
    put(tag + ">");
    if (element === head && isMoved && !base) put(`<base href=${quoted(bare(home))}>`);
  };
  const show = element => {
    const name = localName(element), shadow = shadowOf(element);
    if (element instanceof HTMLSlotElement && element.getRootNode() instanceof ShadowRoot) {
      const assigned = element.assignedNodes();
      later(assigned.length ? assigned : childNodes(element));
      return;
    }
    if (name === "base" && element !== base) return;
    open(element, name);
    if (VOID.has(name)) return;
    const inner = frameOf(element);
    if (inner) {
      put("</iframe><div>");
      todo.push("</div>");
      later(childNodes(inner));
      return;
    }
    todo.push(`</${name}>`);
    if (!shadow) {
      later(element instanceof HTMLTemplateElement ? childNodes(element.content) : childNodes(element));
      return;
    }
    const assigned = new Set();
    for (const slot of find(shadow, "slot")) for (const node of slot.assignedNodes()) assigned.add(node);
    const unseen = [...childNodes(element)].filter(node =>
      !assigned.has(node) && (nodeType(node) === 1 || (nodeType(node) === 3 && data(node).trim())));
    if (unseen.length) {
      todo.push("</span>");
      later(unseen);
      todo.push("<span hidden>");
    }
    later(childNodes(shadow));
  };
  while (todo.length && size < limit) {
    const node = todo.pop();
    if (typeof node === "string") put(node);
    else if (nodeType(node) === 1) show(node);
    else if (nodeType(node) === 8) put(`<!--${data(node)}-->`);
    else if (nodeType(node) === 3 || nodeType(node) === 4) {
      const parent = parentNode(node);
      put(parent && nodeType(parent) === 1 && RAW.has(localName(parent)) ? data(node) : text(data(node)));
    }
  }
  return {html: pieces.join("").slice(0, limit), title};
}
"""


def declares_closed(html: bytes) -> bool:
    """Return whether a page declares a closed shadow root in its HTML."""
    return _DECLARES_CLOSED.search(html) is not None


async def dom_size(session: CDPSession, world: int) -> tuple[int, int]:
    """Return how many elements a page has, and characters of text, in open shadow roots too: who still works on it
    changes that.
    """
    elements, text = await call_function(session, world, _SIZE)
    return int(elements), int(text)


async def read_dom(
    session: CDPSession, world: int, *, requested_url: str, max_bytes: int, has_closed: bool
) -> tuple[bytes, str]:
    """Return the HTML of the page that a tab shows, in UTF-8, and its title. `requested_url` is the address that it was
    opened with; `has_closed` says that it may have closed shadow roots. Raise `Error` if the tab is gone.
    """
    closed = await _closed_root_handles(session, world) if has_closed else []
    arguments: list[dict[str, Any]] = [
        {"value": max_bytes},
        {"value": requested_url},
        *({"objectId": one} for one in closed),
    ]
    found = await call_function(session, world, _READ, *arguments)
    return str(found["html"]).encode("utf-8", "replace")[:max_bytes], str(found["title"])


async def _closed_root_handles(session: CDPSession, world: int) -> list[str]:
    """Return handles of nodes in closed shadow roots, in the world that reads them: a node leads to its root."""
    counted: dict[str, int] = await session.send("Memory.getDOMCounters")
    if counted["nodes"] > MAX_SEARCHED_NODES:
        return []
    # A snapshot is flat, however deep the page is nested.
    found: dict[str, Any] = await session.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    handles = []
    for identity in islice(_closed_root_nodes(found), MAX_CLOSED_ROOTS):
        try:
            node: dict[str, Any] = await session.send(
                "DOM.resolveNode", {"backendNodeId": identity, "executionContextId": world}
            )
        except Error:
            continue  # the node is gone by now, or belongs to a frame
        handles.append(str(node["object"]["objectId"]))
    return handles


def _closed_root_nodes(snapshot: dict[str, Any]) -> Iterator[int]:
    """Yield identities of nodes, at least one of each closed shadow root. A snapshot has no roots, but says which nodes
    lie in one.
    """
    strings = snapshot["strings"]
    for document in snapshot["documents"]:
        nodes = document["nodes"]
        kinds = nodes.get("shadowRootType", {"index": (), "value": ()})
        inside = [
            at for at, kind in zip(kinds["index"], kinds["value"], strict=True) if strings[kind] == "closed"
        ]
        known, parents = set(inside), set[int]()
        for at in inside:
            parent = nodes["parentIndex"][at]
            # A root has no node in a snapshot: its nodes have the host as parent. A host within a root is a custom
            # element, whose name has a hyphen.
            is_host = parent not in known or "-" in strings[nodes["nodeName"][parent]]
            if is_host and parent not in parents:
                parents.add(parent)
                yield int(nodes["backendNodeId"][at])
