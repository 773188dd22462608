"""`INIT_SCRIPT`: what runs in each page, and each frame of it, before its own scripts."""

NOTICED = "thresherNotice"
"""Name of a binding that is told what a page does: `closed` where it attaches a closed shadow root, `view` where it waits for what
comes into view. It is gone before the page's own scripts run."""

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
  const tell = window.{NOTICED};
  delete window.{NOTICED};
  if (!tell) return;
  const notice = (type, name, what, matters) => {{
    const method = type.prototype[name];
    type.prototype[name] = {{[name]() {{
      if (matters(arguments[0])) tell(what);
      return method.apply(this, arguments);
    }}}}[name];
  }};
  notice(Element, "attachShadow", "closed", init => init && init.mode === "closed");
  notice(IntersectionObserver, "observe", "view", () => true);
}})();
"""
"""A page that does so says so; what it does is not changed."""
INIT_SCRIPT = _CALM + _NOTICE
