"""`PAGE_SCRIPT`: the functions with which behaviours look at a page, scroll it and measure it.

They live in an isolated world (`crawler.render.chromium.isolated_world`), so the page can neither see nor replace them.
What the page lists (panes that scroll) is bounded.
"""

import json

from thresher.crawler.render.behaviours.button_script import BUTTON_SCRIPT
from thresher.crawler.render.behaviours.button_words import BUTTON_WORDS
from thresher.crawler.render.behaviours.consent_rules import RULES_VALUE

_PAGE = r"""
  const MOST_PANES = 5, PANE_HEIGHT = 200, PANE_WIDTH = 300;  // pixels; a smaller pane is no list of the page
  const find = (root, selector) =>
    [...(root instanceof Document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, selector)];
  const trees = () => {
    const found = [document];
    for (const root of found)
      for (const element of find(root, "*"))
        if (element.shadowRoot instanceof ShadowRoot) found.push(element.shadowRoot);
    return found;
  };
  let known = null;  // the trees of the page, during one call
  const everywhere = selector => (known ??= trees()).flatMap(root => find(root, selector));
  const notices = what => !window.dispatchEvent(new Event("thresher-" + what, {cancelable: true}));
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const twoFrames = () => frame().then(frame);

  const scrolls = element => {
    if (element.scrollHeight < element.clientHeight + 50) return false;
    if (element.clientHeight < PANE_HEIGHT || element.clientWidth < PANE_WIDTH) return false;
    return ["auto", "scroll", "overlay"].includes(getComputedStyle(element).overflowY) &&
      !element.closest("pre, code, textarea, select");
  };
  const panes = () => {
    const page = document.scrollingElement || document.documentElement;
    const inner = everywhere("main, div, section, article, ul, ol, table, tbody, [role=feed]")
      .filter(element => element !== page && scrolls(element));
    return [page, ...inner.slice(0, MOST_PANES)];
  };
  const heightOf = pane => pane === document.scrollingElement ? innerHeight : pane.clientHeight;
  const isAtEnd = pane => pane.scrollTop + heightOf(pane) >= pane.scrollHeight - 2;
  const isTall = pane => pane.scrollHeight > heightOf(pane) + 2;
  const to = (pane, top) => {
    pane.scrollTo({top, behavior: "instant"});
    // A pane that cannot scroll gets the event alone, as when a reader turns the wheel at its end.
    if (!isTall(pane)) (pane === document.scrollingElement ? document : pane)
      .dispatchEvent(new Event("scroll", {bubbles: pane === document.scrollingElement}));
  };

  globalThis.behaviours = {
    forget() {
      known = null;
      buttons = null;
    },
    look(showsImages) {
      const view = notices("view"), scroll = notices("scroll");
      const lazy = showsImages && find(document, "img[loading=lazy i]").some(image => !image.complete);
      const isLong = (view || scroll || lazy) && panes().some(isTall);
      return {view, lazy, isTall: isLong, ...(isLong ? this.measure() : {})};
    },
    measure() {
      known ??= trees();
      return {
        elements: known.reduce((sum, root) => sum + find(root, "*").length, 0),
        height: panes().reduce((sum, pane) => sum + pane.scrollHeight, 0),
      };
    },
    async leaveEnd() {
      for (const pane of panes()) to(pane, 0);
      await twoFrames();
    },
    async scrollToEnd(waitsForView) {
      for (const pane of panes()) to(pane, pane.scrollHeight);
      // A page hears of its scrolling in the next frame, and of what came into view in the one after that.
      await (waitsForView ? twoFrames() : frame());
    },
    async scrollOn() {
      const all = panes().filter(pane => !isAtEnd(pane));
      for (const pane of all) to(pane, pane.scrollTop + heightOf(pane));
      if (all.length) await twoFrames();
      return all.length > 0;
    },
    scrollToTop() {
      for (const pane of panes()) if (pane.scrollTop) to(pane, 0);
    },
  };
"""
_DATA = f"const rules = {json.dumps(RULES_VALUE)}, words = {json.dumps(BUTTON_WORDS)};"
_LOOK = """
  behaviours.lookAgain = showsImages => ({...behaviours.lookForButtons(), ...behaviours.look(showsImages)});
  return behaviours.lookAgain(showsImages);
"""
PAGE_SCRIPT = f"function (showsImages) {{ {_DATA}{_PAGE}{BUTTON_SCRIPT}{_LOOK}}}"
"""A function which defines `behaviours` in its world, and looks at the page. The rules are part of its text, because
that costs less than arguments do.
"""
CALL = "function (name, ...values) { behaviours.forget(); return behaviours[name](...values); }"
