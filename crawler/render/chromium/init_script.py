"""`INIT_SCRIPT`: what runs in each page, and each frame of it, before its own scripts; and what it says when it is asked."""

from typing import Literal

from playwright.async_api import CDPSession

from crawler.render.chromium.isolated_world import call_function

PageFeature = Literal["closed", "view"]
"""What a page has done: attached a closed shadow root; begun to wait for what comes into view."""
_EVENT = "thresher-"
_CALM = """
window.open = () => null; window.print = window.close = () => {};
for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "ServiceWorker", "ServiceWorkerContainer",
                    "ServiceWorkerRegistration"]) delete window[name];
delete Navigator.prototype.serviceWorker;
"""
"""What would be refused anyway is refused sooner. A page sees a browser without service workers, as on every address that is not
secure."""
_NOTICE = f"""
(() => {{
  const notice = (type, name, what, matters) => {{
    const method = type.prototype[name];
    let noticed = false;
    type.prototype[name] = {{[name]() {{
      noticed = noticed || matters(arguments[0]);
      return method.apply(this, arguments);
    }}}}[name];
    window.addEventListener("{_EVENT}" + what, event => {{ if (noticed) event.preventDefault(); }});
  }};
  notice(Element, "attachShadow", "closed", init => init && init.mode === "closed");
  notice(IntersectionObserver, "observe", "view", () => true);
}})();
"""
"""What the page does is not changed, and nothing that it can see is left behind: who asks sends an event."""
_ASK = "function (name) { return !window.dispatchEvent(new Event(name, {cancelable: true})); }"
INIT_SCRIPT = _CALM + _NOTICE


async def has_used(session: CDPSession, world: int, what: PageFeature) -> bool:
    """Whether the page has done it. Its scripts must be allowed to run."""
    return bool(await call_function(session, world, _ASK, {"value": f"{_EVENT}{what}"}))
