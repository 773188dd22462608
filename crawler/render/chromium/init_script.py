"""`INIT_SCRIPT`: the script that runs in each page, and in each frame of it, before the page's own scripts; and the
query of what it noticed.
"""

from typing import Literal

from playwright.async_api import CDPSession

from thresher.crawler.render.chromium.isolated_world import call_function

PageFeature = Literal["closed", "view", "scroll"]
"""What a page has done. `closed`: it attached a closed shadow root. `view`: it waits for elements to come into view.
`scroll`: it listens for scrolling."""
_EVENT = "thresher-"
_CALM = """
window.open = () => null; window.print = window.close = () => {};
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "ServiceWorker",
                    "ServiceWorkerContainer", "ServiceWorkerRegistration"]) delete window[name];
delete Navigator.prototype.serviceWorker;
"""
"""Removes features that would be refused anyway. The page sees a browser without service workers, as on every address
that is not secure.
"""
_NOTICE = f"""
(() => {{
  const notice = (type, name, what, matters, matteredElsewhere = () => false) => {{
    const method = type.prototype[name];
    let noticed = false;
    type.prototype[name] = {{[name]() {{
      noticed = noticed || matters(arguments[0]);
      return method.apply(this, arguments);
    }}}}[name];
    window.addEventListener("{_EVENT}" + what, event => {{
      if (noticed || matteredElsewhere()) event.preventDefault();
    }});
  }};
  notice(Element, "attachShadow", "closed", init => init && init.mode === "closed");
  notice(IntersectionObserver, "observe", "view", () => true);
  notice(EventTarget, "addEventListener", "scroll", type => type === "scroll",
         () => window.onscroll || document.onscroll);
}})();
"""
"""Notices three calls without changing them, and without a trace that the page can see: we query it with an event."""
_ASK = "function (name) { return !window.dispatchEvent(new Event(name, {cancelable: true})); }"
INIT_SCRIPT = _CALM + _NOTICE


async def has_used(session: CDPSession, world: int, what: PageFeature) -> bool:
    """Return whether the page has done `what`. Its scripts must be allowed to run."""
    return bool(await call_function(session, world, _ASK, {"value": f"{_EVENT}{what}"}))
