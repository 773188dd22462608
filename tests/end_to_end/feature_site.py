"""A site with what makes sites hard to archive: scripts, scrolling, lazy images, fonts, frames, shadows, consent, cookies, encodings."""

import gzip
import json
import zlib
from functools import cache
from pathlib import Path

import matplotlib as mpl

from tests.crawler.render.pictures import png
from tests.crawler.server import Server, page, redirect

POSTS, BATCHES = 10, 5
WORDS = "plain words of a page that a reader reads with joy and some patience " * 12
COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (30, 60, 200), "grey": (120, 120, 120)}
MORE = """
<div id=list></div><script>
let next = 0;
async function more() {
  const found = await (await fetch("/api/posts/" + next++)).json();
  list.insertAdjacentHTML("beforeend", found.posts.map(one => `<div style="height:300px"><p>${one}</p><img src=/i/red.png></div>`).join(""));
  return next < found.batches;
}
</script>"""
CONTROLLED = """(async () => { const workers = navigator.serviceWorker; if (!workers) return;
  try { await workers.register("/sw.js"); await workers.ready } catch { return }
  if (!workers.controller) await new Promise(done => { workers.oncontrollerchange = done }) })()"""
"""Waits for the service worker, if the browser has such."""
WORKER = """self.addEventListener("activate", event => event.waitUntil(clients.claim()));
self.addEventListener("fetch", event => { const path = new URL(event.request.url).pathname;
  if (path === "/api/worker") event.respondWith(Response.json({text: "from the worker", picture: "/i/blue.png?sw"}));
  if (path === "/offline/text") event.respondWith(new Response("made by the worker")) })"""
PAGES = {
    "/spa": """<div id=root></div><script>
fetch("/api/items").then(r => r.json()).then(items => { root.innerHTML =
  "<h1>Shop window</h1>" + items.map(i => `<a href="/item/${i}">item ${i}</a><img src=/i/blue.png>`).join("") })</script>""",
    "/scroll": f"""<h1>Endless scroll</h1>{MORE}<div id=end>.</div><script>
const seen = new IntersectionObserver(async found => {{ if (found[0].isIntersecting && !(await more())) seen.disconnect() }});
seen.observe(end)</script>""",
    "/more": f"""<h1>More on demand</h1>{MORE}<button id=b type=button onclick="more().then(left => left || b.remove())">Load more</button>
<script>more()</script>""",
    "/lazy": "<h1>Lazy pictures</h1>" + "".join(
        f"<div style='height:900px'><p>{WORDS[:200]}</p><img loading=lazy src=/i/green.png?{n} width=90 height=60>"
        f"<img class=z data-src=/i/grey.png?{n} width=90 height=60></div>" for n in range(6)
    ) + """<script>const o = new IntersectionObserver(all => all.forEach(one => {
if (one.isIntersecting) { one.target.src = one.target.dataset.src; o.unobserve(one.target) } }));
document.querySelectorAll(".z").forEach(one => o.observe(one))</script>""",
    "/parts": """<h1>Many parts</h1><p style="font-family: own">set in a font of its own</p><img src=/i/red.png>
<img src=/i/red.png?1 srcset="/i/green.png?s1 1x, /i/blue.png?s2 2x"><picture><source media="(min-width: 600px)" srcset=/i/blue.png?p>
<img src=/i/grey.png?p></picture><input type=image src=/i/grey.png?i><object data=/i/grey.png?o type=image/png></object>
<div style="background: url(/i/green.png?b); width: 90px; height: 60px"></div><svg width=90 height=60><image href=/i/red.png?v width=90 height=60 /></svg>
<script src=/lib.js></script><script type=module>import { text } from "/module.js"; document.body.append(text)</script>""",
    "/frames": "<h1>Frames</h1><iframe src=/inner></iframe><iframe src={far}/far></iframe><iframe srcdoc='<p>written here<img src=/i/blue.png>'></iframe>",
    "/inner": "<h1>Inner frame</h1><img src=/i/green.png?f>",
    "/shadow": """<h1>Shadows</h1><div><template shadowrootmode=open><p>declared shadow</p><img src=/i/blue.png?h></template></div><x-a></x-a>
<script>customElements.define("x-a", class extends HTMLElement { constructor() { super();
this.attachShadow({mode: "closed"}).innerHTML = "<p>closed shadow</p><img src=/i/grey.png?c>" } })</script>""",
    "/consent": f"""<h1>Behind a banner</h1><p>{WORDS}</p><div id=cookie-banner role=dialog aria-label="Cookie consent"
style="position: fixed; inset: auto 0 0 0; background: #fff">We use cookies. <button type=button id=no>Reject all</button>
<button type=button>Accept all</button></div><script>document.getElementById("no").onclick = () => document.getElementById("cookie-banner").remove()</script>""",
    "/worker": f"""<h1>Service worker</h1><p id=w>none</p><script>{CONTROLLED}.then(() => fetch("/api/worker"))
.then(r => r.json()).then(found => {{ w.innerHTML = `${{found.text}}<img src=${{found.picture}}>` }})</script>""",
    "/offline": f"""<h1>Offline only</h1><p id=w>none</p><script>{CONTROLLED}.then(() => fetch("/offline/text"))
.then(r => r.ok ? r.text() : "needs a service worker").then(text => {{ w.textContent = text }})</script>""",
    "/post/1": f"<h1>Post one</h1><p>{WORDS}</p>",
}  # fmt: skip
MARKERS = {
    "/": "Everything", "/spa": "Shop window", "/scroll": "post 0", "/more": "post 0", "/lazy": "Lazy pictures",
    "/parts": "the module ran", "/frames": "Frames", "/inner": "Inner frame", "/shadow": "Shadows",
    "/consent": "Behind a banner", "/worker": "from the server", "/offline": "needs a service worker", "/post/1": "Post one",
    "/latin": "café latin", "/japanese": "日本の頁", "/wide": "wide text é", "/enc/gzip": "packed by gzip",
    "/enc/deflate": "packed by deflate", "/gate-in": "Behind the gate", "/item/1": "Item",
}  # fmt: skip
"""What a reader sees on each page."""
HEAD = "<!doctype html><html lang=en><title>{0}</title><link rel=stylesheet href=/s/site.css><body>"


@cache
def font():
    return (Path(mpl.get_data_path()) / "fonts/ttf/DejaVuSerif-Bold.ttf").read_bytes()


def encoded(text, codec):
    body = f"<!doctype html><title>{codec}</title><p>{text}</p><p>{WORDS}</p>".encode(codec)
    return page(body, kind=f"text/html; charset={codec}")


def packed(name, pack):
    body = pack(f"<!doctype html><title>{name}</title><h1>packed by {name}</h1><p>{WORDS}".encode())
    return page(body, f"Content-Encoding: {name}")


async def gate(raw, writer):
    """Lets nobody in who has not taken its cookie."""
    has_cookie = b"gate=open" in raw
    writer.write(
        page(f"{HEAD.format('In')}<h1>Behind the gate</h1><p>{WORDS}")
        if has_cookie
        else redirect("/gate", "302 Found")
    )


def answers(far, version=1):
    """The answers of the site, whose frame and picture of another host lie at `far`."""
    links = "".join(
        f"<a href={path}>{path}</a> "
        for path in (*MARKERS, "/gate", "/script", "/moved", "/feed.rss")
        if path != "/gate-in"  # only the gate leads there
    )
    pages = {
        **PAGES,
        "/": f"<h1>Everything</h1><p>Version {version}</p><img src={far}/i/red.png>{links}<p>{WORDS}</p>",
    }
    styles = {
        "/s/site.css": '@import "second.css"; @font-face { font-family: own; src: url(/s/own.ttf) } body { margin: 20px }',
        "/s/second.css": 'h1 { color: #224; background: url("../i/grey.png?bg") no-repeat right }',
    }
    batches = {
        f"/api/posts/{batch}": page(
            json.dumps({"batches": BATCHES, "posts": [f"post {batch * POSTS + n}" for n in range(POSTS)]}),
            kind="application/json",
        )
        for batch in range(BATCHES)
    }
    return {
        **{path: page(HEAD.format(path) + body.replace("{far}", far)) for path, body in pages.items()},
        **{path: page(css, kind="text/css") for path, css in styles.items()},
        **batches,
        "/s/own.ttf": page(font(), kind="font/ttf"),
        "/api/items": page("[1, 2, 3]", kind="application/json"),
        **{f"/item/{n}": page(f"{HEAD.format('Item')}<h1>Item {n}</h1><p>{WORDS}") for n in (1, 2, 3)},
        "/lib.js": page("document.body.insertAdjacentHTML('beforeend', '<img src=/i/red.png?lib>')", kind="text/javascript"),
        "/module.js": page('export { text } from "/text.js"', kind="text/javascript"),
        "/text.js": page('export const text = "the module ran"', kind="text/javascript"),
        "/sw.js": page(WORKER, kind="text/javascript"),
        "/api/worker": page('{"text": "from the server", "picture": "/i/green.png?sw"}', kind="application/json"),
        "/latin": encoded("café latin", "iso-8859-1"),
        "/japanese": encoded("日本の頁", "shift_jis"),
        "/wide": encoded("wide text é", "utf-16"),
        "/enc/gzip": packed("gzip", gzip.compress),
        "/enc/deflate": packed("deflate", zlib.compress),
        "/gate": page("", "Location: /gate-in", "Set-Cookie: gate=open; Path=/", status="302 Found"),
        "/gate-in": gate,
        "/script": page("<!doctype html><title>Elsewhere</title><script>location.replace('/post/1')</script>"),
        "/moved": redirect("/post/1"),
        "/feed.rss": page(
            "<rss version='2.0'><channel><title>f</title><item><title>one</title><link>/post/1</link></item></channel></rss>",
            kind="application/rss+xml",
        ),
        "/favicon.ico": page(png(16, 16, COLOURS["blue"]), kind="image/png"),
        "/robots.txt": page("User-agent: *\nAllow: /\n", kind="text/plain"),
    }  # fmt: skip


def picture(path):
    """Any query of a picture is a picture of its own."""
    name = path.partition("?")[0].removeprefix("/i/").removesuffix(".png")
    if path.startswith("/i/") and name in COLOURS:
        return page(png(90, 60, COLOURS[name]), kind="image/png")
    return page("no such page", status="404 Not Found")


def feature_site(address, far):
    """The server of the site; `far` is the URL of the other host."""
    server = Server(answers(far), address)
    server.fallback = picture
    return server


def other_host(address):
    """The server of the other host."""
    server = Server({"/far": page("<!doctype html><h1>Far frame</h1>")}, address)
    server.fallback = picture
    return server
