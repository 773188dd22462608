"""The DOM contains what a reader with a browser sees, and nothing that a page does has an effect outside of its tab."""

import asyncio
import socket
from contextlib import suppress

import pytest

from tests.crawler.server import Server, page, redirect
from thresher.crawler.reading.rendered_page import encode_report


def script(code, kind="text/javascript"):
    return page(code, kind=kind)


def shell(code, body=""):
    return page(f"<!doctype html><title>shell</title><body>{body}<div id=root></div><script>{code}</script>")


def said(rendered):
    return rendered.html.decode()


FROM_JSON = """
fetch('/data.json').then(answer => answer.json()).then(data => {
  document.title = 'made';
  document.getElementById('root').innerHTML = '<h1>' + data.text + '</h1><a href=/deep>deep</a>';
})"""


def test_the_dom_is_the_page_after_its_scripts(stage):
    found, server = stage.render(
        {
            "/": page("<!doctype html><div id=root></div><script src=/app.js></script>"),
            "/app.js": script(FROM_JSON),
            "/data.json": page('{"text": "from afar"}', kind="application/json"),
        }
    )
    assert said(found).startswith("<!DOCTYPE html><html>")
    assert '<h1>from afar</h1><a href="/deep">deep</a>' in said(found)
    assert (found.title, found.report.problem, dict(found.refusals)) == ("made", "", {})
    assert [(part.kind, part.capture.url.text) for part in found.subresources] == [
        ("script", f"{server.url}/app.js"),
        ("xhr", f"{server.url}/data.json"),
    ]
    assert server.paths == {"/": 1, "/app.js": 1, "/data.json": 1}


def test_the_page_itself_is_not_requested_again_and_our_user_agent_is_sent(stage):
    found, server = stage.render(
        {"/": shell("fetch('/x?' + navigator.userAgent.slice(0, 8))"), "/x?thresher": page("x")}
    )
    assert [part.capture.request for part in found.subresources] == server.requests[1:]
    assert server.paths["/"] == 1
    for request in server.requests:
        assert request.lower().count(b"user-agent: thresher/test") == 1
        assert b"\r\nsec-" not in request.lower()


def test_late_changes_by_the_pages_own_clock_are_in_the_dom(stage):
    found, _ = stage.render({"/": shell("setTimeout(() => document.body.append('four seconds'), 4000)")})
    assert "four seconds" in said(found)


def test_subresources_may_come_from_other_hosts_and_through_redirects(stage):
    with Server({"/lib.js": script("document.body.append('from elsewhere')")}).in_thread() as other:
        found, _ = stage.render(
            {"/": page("<body><script src=/go.js></script>"), "/go.js": redirect(f"{other.url}/lib.js")}
        )
    assert "from elsewhere" in said(found)
    assert [part.capture.status for part in found.subresources] == [301, 200]


def test_pictures_fonts_media_frames_and_streams_are_not_requested(stage):
    found, server = stage.render(
        {
            "/": shell(
                "new EventSource('/sse'); new WebSocket('ws://' + location.host + '/ws'); "
                "navigator.sendBeacon('/beacon', 'x'); fetch('/post', {method: 'POST', body: 'x'});"
                "navigator.serviceWorker && navigator.serviceWorker.register('/sw.js').catch(() => 0)",
                "<img src=/a.png><video src=/b.mp4></video><iframe src=/frame></iframe><object data=/o></object>"
                "<link rel=icon href=/i.ico><link rel=prefetch href=/next>",
            )
        }
    )
    assert set(server.paths) == {"/"}
    assert {"frame", "event_stream", "websocket", "method", "media"} <= set(found.refusals)
    assert found.report.problem == ""


def test_every_refused_image_and_font_is_counted_and_no_page_asks_for_another_in_its_place(stage):
    style = "<style>@font-face { font-family: f; src: url(/f.woff2) } b { font-family: f; background: url(/b.png) }"
    images = "".join(
        f"<img src=/{n}.png onerror=\"this.src = '/again' + Math.random()\">" for n in range(400)
    )
    found, server = stage.render({"/": page(f"<!doctype html>{style}</style><body><b>bold</b>{images}")})
    assert (dict(found.refusals), found.report.problem) == ({"image": 401, "font": 1}, "")
    assert b"\r\nrefused-image: 401\r\n" in encode_report(found)
    assert set(server.paths) == {"/"}


def test_a_subresource_that_robots_rules_forbid_is_not_requested(stage):
    found, server = stage.render({"/": shell("fetch('/private')")}, robots=("/private",))
    assert (found.refusals["robots"], set(server.paths)) == (1, {"/"})


@pytest.mark.parametrize(
    ("page_", "target"),
    [
        (shell("location.href = '/elsewhere'", "here"), "/elsewhere"),
        (page("<head><meta http-equiv=refresh content='0;url=/refreshed'></head><body>here"), "/refreshed"),
        pytest.param(shell("location = '/file.zip'", "here"), "/file.zip", marks=pytest.mark.slow),
        pytest.param(
            shell("document.forms[0].submit()", "here<form action=/found><input name=q></form>"),
            "/found?q=",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_navigation_is_a_link_and_the_page_stays(stage, page_, target):
    found, server = stage.render({"/": page_})
    assert found.report.navigations == (f"{server.url}{target}",)
    assert "here" in said(found)
    assert set(server.paths) == {"/"}


@pytest.mark.parametrize(
    "code",
    [pytest.param("while (true) {}", marks=pytest.mark.slow), "setTimeout(() => { while (true) {} }, 100)"],
)
def test_an_endless_script_is_stopped_at_the_deadline_and_the_dom_is_read_as_it_is(stage, code):
    found, _ = stage.render({"/": shell(code, "before")}, seconds=1.5)
    assert found.report.problem == "render_timeout"
    assert "before" in said(found)


def test_a_subresource_that_never_comes_ends_at_the_deadline(stage):
    found, _ = stage.render({"/": shell("fetch('/never')", "before"), "/never": never}, seconds=1.5)
    assert (found.report.problem, "before" in said(found)) == ("render_timeout", True)


def test_endless_timers_and_endless_polling_are_cut_off(stage):
    code = "let n = 0; setInterval(() => { document.title = n++; fetch('/data'); fetch('/data?' + n) }, 20)"
    found, server = stage.render({"/": shell(code), "/data": page("x")})
    assert found.refusals["repeated"] > 0
    assert server.paths["/data"] == 3
    assert len(found.subresources) <= 40


def test_dialogs_windows_and_prints_are_dismissed(stage):
    code = (
        "for (let i = 0; i < 50; i++) open('/w' + i); alert(1); confirm(2); prompt(3); print();"
        "onbeforeunload = () => 'stay'; const a = document.createElement('a'); a.target = '_blank'; a.href = '/pop';"
        "document.body.append(a); for (let i = 0; i < 50; i++) a.click(); document.body.append('after all')"
    )
    found, server = stage.render({"/": shell(code)})
    assert "after all" in said(found)
    assert found.refusals["dialog"] == 3
    assert set(server.paths) == {"/"}


def test_a_response_that_asks_for_a_password_opens_no_dialog(stage):
    refusal = page("no", "WWW-Authenticate: Basic realm=x", status="401 Unauthorized")
    code = "fetch('/secret').then(answer => document.body.append('status ' + answer.status))"
    found, _ = stage.render({"/": shell(code), "/secret": refusal})
    assert "status 401" in said(found)


def test_a_dom_is_cut_at_its_limit(stage):
    found, _ = stage.render({"/": shell("document.body.append('x'.repeat(1e6))")}, max_bytes=10_000)
    assert len(found.html) == 10_000


def test_a_page_cannot_replace_what_reads_it(stage):
    code = (
        "Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'lies'});"
        "XMLSerializer.prototype.serializeToString = () => 'lies'; document.body.append('truth')"
    )
    found, _ = stage.render({"/": shell(code)})
    assert "truth" in said(found)
    assert "lies<" not in said(found)


def test_no_state_of_one_page_reaches_the_next(stage):
    code = (
        "document.body.append('saw ' + localStorage.length + document.cookie); "
        "localStorage.x = 1; document.cookie = 'a=b'"
    )

    async def twice():
        from tests.crawler.render.browser_thread import client

        async with Server({"/": shell(code)}).serve() as server, client() as http_client:
            return [await stage.tab(http_client, server.url + "/") for _ in range(2)]

    assert ["saw 0<" in said(found) for found in stage.run(twice())] == [True, True]


async def never(_, writer):
    await asyncio.sleep(20)


REACH = """
const to = location.hash ? '' : '%s';
for (const kind of ['http', 'https']) fetch(kind + '://' + to + '/f').catch(() => 0);
new WebSocket('ws://' + to + '/w'); new EventSource('http://' + to + '/e'); new Image().src = 'http://' + to + '/i';
navigator.sendBeacon('http://' + to + '/b', 'x'); open('http://' + to + '/o');
const x = new XMLHttpRequest(); x.open('GET', 'http://' + to + '/x'); x.send();
import('http://' + to + '/m.js').catch(() => 0);
const worker = `fetch('http://${to}/worker').catch(() => 0); new WebSocket('ws://${to}/ww')`;
new Worker(URL.createObjectURL(new Blob([worker])));
for (const rel of ['preload', 'prefetch', 'preconnect', 'dns-prefetch', 'stylesheet', 'modulepreload', 'prerender',
                   'manifest']) {
  const link = document.createElement('link'); link.rel = rel; link.as = 'script';
  link.href = 'http://' + to + '/' + rel;
  document.head.append(link);
}
const rules = document.createElement('script'); rules.type = 'speculationrules';
rules.textContent = JSON.stringify({prefetch: [{source: 'list', urls: ['http://' + to + '/s']}]});
document.head.append(rules);
const frame = document.createElement('iframe'); frame.src = 'http://' + to + '/frame'; document.body.append(frame);
const blank = document.createElement('iframe'); document.body.append(blank);
try { new blank.contentWindow.RTCPeerConnection({iceServers: [{urls: 'stun:' + to}]}).createDataChannel('x') } catch {}
try {
    const turn = {urls: ['stun:' + to, 'turn:' + to + '?transport=tcp'], username: 'a', credential: 'b'};
    const peer = new blank.contentWindow.RTCPeerConnection({iceServers: [turn]});
  peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
} catch {}
try { new WebTransport('https://' + to + '/t') } catch {}
document.body.append('tried')
"""


def test_no_page_reaches_an_address_that_the_guard_blocks_whatever_it_tries(stage):
    with (
        Server({}, address="127.9.9.9").in_thread() as inside,
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(("127.9.9.9", inside.port))
        datagrams.settimeout(0.2)
        found, _ = stage.render({"/": shell(REACH % f"127.9.9.9:{inside.port}")})
        with pytest.raises(TimeoutError):
            datagrams.recvfrom(1)
    assert inside.connections == 0
    assert "tried" in said(found)
    assert found.refusals["address_blocked"] >= 3


@pytest.mark.slow
def test_a_page_reaches_its_own_host_by_our_client_alone(stage):
    async def reached():
        from tests.crawler.render.browser_thread import client

        async with Server().serve() as server, client() as http_client:
            server.answers["/"] = shell(REACH % server.url.removeprefix("http://"))
            return await stage.tab(http_client, server.url + "/"), server

    found, server = stage.run(reached())
    assert [part.capture.request for part in found.subresources] == [
        one for one in server.requests[1:] if one
    ]
    assert not {"/w", "/ww", "/e", "/i", "/b", "/o", "/frame"} & set(server.paths)


def test_the_metadata_service_of_a_cloud_is_out_of_reach(stage):
    found, _ = stage.render(
        {"/": shell("fetch('http://169.254.169.254/latest').catch(e => document.body.append('refused'))")}
    )
    assert (found.refusals["address_blocked"], "refused" in said(found)) == (1, True)


async def _beside(stage, code, *, seconds=6.0, harm=None):
    """Render a page that does that, and one beside it that waits for a subresource."""
    from tests.crawler.render.browser_thread import client

    async def slow(_, writer):
        await asyncio.sleep(1.0)
        writer.write(page("arrived"))

    good = "fetch('/slow').then(answer => answer.text()).then(text => document.body.append(text))"
    answers = {"/bad": shell(code), "/good": shell(good), "/slow": slow, "/never": never}
    async with (
        Server(answers).serve() as server,
        client() as http_client,
    ):
        tabs = [
            asyncio.create_task(stage.tab(http_client, server.url + path, seconds=seconds))
            for path in ("/bad", "/good")
        ]
        if harm is not None:
            await harm()
        return await asyncio.gather(*tabs)


def test_a_tab_that_crashes_costs_its_page_and_no_other(stage):
    from playwright.async_api import Error

    async def crash():
        while not (bad := _open(stage, "/bad")):  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.02)
        session = await bad.context.new_cdp_session(bad)
        with suppress(Error):
            await session.send("Page.crash")

    bad, good = stage.run(_beside(stage, "setTimeout(() => fetch('/never'), 100)", harm=crash))
    assert (bad.report.problem, bad.html) == ("render_crash", b"")
    assert (good.report.problem, "arrived" in said(good)) == ("", True)
    assert stage.browser.is_alive


def _open(stage, path):
    pages = [page for context in stage.browser.chromium.contexts for page in context.pages]
    return next((page for page in pages if page.url.endswith(path)), None)


def test_a_tab_that_takes_all_memory_costs_its_page_and_no_other(stage, monkeypatch):
    monkeypatch.setattr("thresher.crawler.render.chromium.browser.TAB_BYTES", 400 << 20)
    hoard = "const all = []; setInterval(() => all.push(new Uint8Array(32 << 20).fill(1)), 1)"
    bad, good = stage.run(_beside(stage, hoard))
    assert bad.report.problem == "render_memory"
    assert (good.report.problem, "arrived" in said(good)) == ("", True)
