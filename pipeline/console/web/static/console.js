// Keeps the sections of a page up to date: asks for the same page and puts its sections in the place of the old ones.
// Everything works without this script; a reload does the same.
"use strict";
(() => {
  const usualSeconds = 5;
  const status = document.getElementById("live");
  let failures = 0;

  const sections = () => [...document.querySelectorAll("[data-live]")];
  const period = () => Math.min(...sections().map((each) => Number(each.dataset.live) || usualSeconds));

  const isInUse = (section) => {
    const selection = document.getSelection();
    const isSelected = selection && !selection.isCollapsed && section.contains(selection.anchorNode);
    return isSelected || section.contains(document.activeElement);
  };

  const scrolls = (section) => [...section.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);

  const replace = (section, fresh) => {
    const before = scrolls(section);
    section.replaceChildren(...document.importNode(fresh, true).childNodes);
    if (fresh.dataset.live) section.dataset.live = fresh.dataset.live;
    [...section.querySelectorAll(".scroll")].forEach((each, number) => {
      if (before[number]) [each.scrollLeft, each.scrollTop] = before[number];
    });
  };

  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const section of sections()) {
      const fresh = page.getElementById(section.id);
      if (fresh && !isInUse(section) && fresh.innerHTML !== section.innerHTML) replace(section, fresh);
    }
  };

  const tick = async () => {
    if (!document.hidden) {
      try {
        await refresh();
        failures = 0;
        status.textContent = "";
      } catch {
        failures += 1;
        if (failures === 2) status.textContent = "The console does not respond; the figures are old.";
      }
    }
    setTimeout(tick, 1000 * Math.min(period() * 2 ** Math.min(failures, 4), 60));
  };

  if (sections().length) setTimeout(tick, 1000 * period());
})();
