"""`BUTTON_SCRIPT`: the part of `PAGE_SCRIPT` that finds buttons of consent banners, "load more" and "next", and clicks
them.

A button is clicked only if `isSafe`: it submits no form, it leads to no other page, and none of its words is of buying,
subscribing, logging in or deleting (`crawler.render.behaviours.button_words`). That holds for the rules of consent
products too, because a page may call a button as it likes. Whatever a click would do, the tab stays at its page and
sends no POST (`crawler.render.intercept`).
"""

BUTTON_SCRIPT = r"""
  const MOST_LETTERS = 60;  // of the words on a button
  const says = Object.fromEntries(Object.entries(words).map(([name, source]) => [name, new RegExp(source)]));
  const BANNERS = ["cookie", "consent", "gdpr"].flatMap(word => [`[id*=${word} i]`, `[class*=${word} i]`])
    .concat("[role=dialog]", "[role=alertdialog]", "dialog[open]").join(",");
  const BUTTONS = "button, [role=button], a, input[type=button]";

  const isVisible = element => {
    if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  };
  const plain = value => value.replace(/\s+/g, " ").trim().toLowerCase();
  const label = element =>
    plain(element.textContent) || plain(element.value || "") || plain(element.getAttribute("aria-label") || "");
  const bare = text => text.replace(/[(\[]?\d[\d.,]*[)\]]?/g, " ").replace(/[….!:\s↓▾▼+]+$/, "").replace(/['’]/g, " ")
    .replace(/\s+/g, " ").trim();
  const isDangerous = element => {
    const all = [element.textContent, element.value, element.id,
        ...["aria-label", "title", "name", "alt"].map(key => element.getAttribute(key))]
      .filter(each => typeof each === "string").join(" ").replace(/([a-z])([A-Z])/g, "$1 $2");
    return says.danger.test(plain(all.replace(/[-_.,:;!?'’"()[\]{}|/\\+*&…\s]+/g, " ")));
  };
  const leadsAway = link => {
    const href = (link.getAttribute("href") ?? link.getAttribute("xlink:href") ?? "").trim();
    if (!href || href.startsWith("#") || /^javascript:/i.test(href)) return false;
    if (link.hasAttribute("download") || link.hasAttribute("target")) return true;
    try {
      const to = new URL(href, document.baseURI);
      return to.origin !== location.origin || to.pathname !== location.pathname;
    } catch {
      return true;
    }
  };
  const leadsSomewhere = element => {
    const link = element.closest("a, area"), href = link && link.getAttribute("href");
    return Boolean(href) && !href.startsWith("#") && !/^javascript:/i.test(href);
  };
  const submits = element => {
    const control = element.closest("button, input");
    return control !== null && control.form !== null && ["submit", "image", "reset"].includes(control.type);
  };
  const isSafe = element => {
    const link = element.closest("a, area");
    return !submits(element) && !(link && leadsAway(link)) && !isDangerous(element) &&
      !(link && link !== element && isDangerous(link));
  };
  const isEnabled = element => !element.disabled && element.getAttribute("aria-disabled") !== "true" &&
    !element.closest("[inert], [aria-hidden=true]") && !/\bdisabled\b/i.test(element.className);
  const mayClick = element => isEnabled(element) && isVisible(element) && isSafe(element);
  const short = element => {
    const text = element.textContent.length <= 10 * MOST_LETTERS ? label(element) : "";
    return text.length <= MOST_LETTERS ? bare(text) : "";
  };
  let buttons = null;  // the buttons of the page and what they say, during one call
  const allButtons = () => buttons ??= everywhere(BUTTONS).map(element => ({element, says: short(element)}));

  const spent = new WeakSet();
  let last = null;
  const click = element => {
    last = element;
    element.click();
    return label(element).slice(0, MOST_LETTERS) || element.id || element.localName;
  };
  const NAMED_MORE = /(?:^|[-_\s])(?:load|show|view)[-_]?more(?:$|[-_\s])/i;
  const saysMore = (element, text) => text !== "" && (says.more.test(text) ||
    (NAMED_MORE.test(`${element.id} ${element.getAttribute("class") || ""}`) && !says.less.test(text)));
  const moreButton = () => allButtons().find(({element, says: text}) =>
    !spent.has(element) && saysMore(element, text) && !element.hasAttribute("aria-haspopup") &&
    element.getAttribute("aria-expanded") !== "true" &&
    !element.closest("nav, header, footer, [role=menu], [role=menubar], [role=navigation]") &&
    mayClick(element))?.element;
  const PAGERS = "nav, [role=navigation], [class*=pagina i], [class*=pager i], [id*=pagina i], [id*=pager i]";
  const MOVING = "[class*=carousel i], [class*=slider i], [class*=swiper i], [class*=slick i], [class*=gallery i]";
  const nextButton = () => allButtons().find(({element, says: text}) => {
    const names = [text, plain(element.getAttribute("aria-label") || "")];
    return names.some(name => says.next.test(name)) && !leadsSomewhere(element) && element.closest(PAGERS) &&
      !element.closest(MOVING) && mayClick(element);
  })?.element;

  const answered = [];  // banners; one that fades away is not answered again, by another of its buttons
  const isOpen = banner => isVisible(banner) &&
    !answered.some(each => each.contains(banner) || banner.contains(each));
  const bannerOf = rule => everywhere(rule.banner).find(isOpen);
  const floats = element => {
    for (let each = element; each instanceof Element; each = each.parentElement)
      if (["fixed", "sticky"].includes(getComputedStyle(each).position) || each.localName === "dialog") return true;
    return false;
  };
  const someBanner = () => everywhere(BANNERS).find(element =>
    element !== document.body && element !== document.documentElement && element.textContent.length < 5000 &&
    says.cookies.test(element.textContent.toLowerCase()) && isOpen(element) && floats(element));
  const ANSWERS = ["reject", "close", "accept"];
  const mayAnswer = element => !leadsSomewhere(element) && mayClick(element);
  const answerTo = (banner, rule) => {
    const buttons = [...Element.prototype.querySelectorAll.call(banner, BUTTONS)];
    for (const kind of ANSWERS) {
      const button = (rule[kind] && everywhere(rule[kind]).find(mayAnswer)) ||
        buttons.find(each => says[kind].test(short(each)) && mayAnswer(each));
      if (button) return {kind, button};
    }
    return null;
  };
  const banner = () => {
    if (everywhere(rules.map(rule => rule.banner).join(",")).length) {
      for (const rule of rules) {
        const element = bannerOf(rule);
        if (element) return {name: rule.name, element, answer: answerTo(element, rule)};
      }
    }
    const element = someBanner();
    return element ? {name: "other", element, answer: answerTo(element, {})} : null;
  };
  const kept = [];
  let snapshot = null, changed = new Set();
  const observer = new MutationObserver(records => records.forEach(record => changed.add(record.target)));
  const pathTo = node => {
    const path = [];
    for (; node !== document.body; node = node.parentNode) path.unshift([...node.parentNode.childNodes].indexOf(node));
    return path;
  };
  const keepReplaced = () => {
    // The part that changed, as it was: all around it is as before, so it lies in the same place of the snapshot.
    observer.takeRecords().forEach(record => changed.add(record.target));
    observer.disconnect();
    const nodes = [...changed].filter(node => document.body.contains(node));
    if (!nodes.length) return false;
    let part = nodes[0] instanceof Element ? nodes[0] : nodes[0].parentElement;
    while (!nodes.every(node => part.contains(node))) part = part.parentElement;
    const before = pathTo(part).reduce((node, index) => node && node.childNodes[index], snapshot);
    const isNew = before instanceof Element && before.textContent !== part.textContent &&
      !kept.some(each => each.before.textContent === part.textContent);
    if (isNew) kept.push({before, part});
    return isNew;
  };

  Object.assign(globalThis.behaviours, {
    lookForButtons() {
      return {consent: banner() !== null, more: Boolean(moreButton()), next: Boolean(nextButton())};
    },
    consent() {
      const found = banner();
      if (!found) return null;
      answered.push(found.element);
      if (found.answer) click(found.answer.button);
      return {name: found.name, answer: found.answer ? found.answer.kind : ""};
    },
    more() {
      const button = moreButton();
      return button ? click(button) : null;
    },
    spend() {
      if (last) spent.add(last);
    },
    next() {
      const button = nextButton();
      if (!button) return null;
      snapshot = document.implementation.createHTMLDocument("").importNode(document.body, true);
      changed = new Set();
      observer.observe(document.body, {childList: true, characterData: true, subtree: true});
      return click(button);
    },
    keepReplaced,
    showReplaced() {
      for (const {before, part} of kept) {
        const isWhole = part === document.body || !part.isConnected, shown = document.createElement("div");
        shown.append(...before.childNodes);
        if (isWhole) document.body.prepend(shown);
        else part.before(shown);
      }
      return kept.length;
    },
    isThere(selector) {
      return everywhere(selector).some(isVisible);
    },
    act(action, selector, text) {
      const element = everywhere(selector).find(each => isVisible(each) && isEnabled(each));
      if (!element) return false;
      if (action === "click") element.click();
      if (action === "scroll") element.scrollIntoView({block: "center", behavior: "instant"});
      if (action !== "fill") return true;
      element.focus();
      if (element.isContentEditable) element.textContent = text;
      else element.value = text;
      for (const type of ["input", "change"]) element.dispatchEvent(new Event(type, {bubbles: true}));
      return true;
    },
    play() {
      const media = everywhere("video, audio").slice(0, 10).filter(each => each.paused);
      for (const each of media) {
        each.muted = true;
        each.play().catch(() => {});
      }
      return media.length;
    },
  });
"""
