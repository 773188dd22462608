"""A page's DOM contains what a reader sees in all its trees; what a reader does not see is not its text."""

import pytest

from tests.crawler.render.test_tab import said, shell
from tests.crawler.server import page
from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract
from thresher.extract.markup.links import extract_links
from thresher.frontier.urls.link_targets import link_targets

LONG = " with a sentence that is long enough to be taken for the text of a page."


def seen(found):
    """Return the text of a DOM without tags and hidden parts; white space is one space."""
    import lxml.html

    tree = lxml.html.document_fromstring(said(found))
    for element in tree.xpath("//script | //style | //template | //*[@hidden] | //head | //noscript"):
        element.drop_tree()
    return " ".join(tree.text_content().split())


def paths(found):
    """Return the targets of the links, as a crawler follows them."""
    read = extract_links(found.html, found.url)
    return {url.text.split("/", 3)[3] for url in link_targets(read.hrefs, read.base)}


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_text_and_links_of_a_shadow_root_are_seen_where_their_host_stands(stage, mode):
    code = f"""
      const inner = class extends HTMLElement {{
        connectedCallback() {{ this.attachShadow({{mode: '{mode}'}}).innerHTML =
          '<i>within <a href=/inner>x</a></i>'; }}
      }};
      customElements.define('x-inner', inner);
      customElements.define('x-card', class extends HTMLElement {{
        connectedCallback() {{
          this.attachShadow({{mode: '{mode}'}}).innerHTML = '<p>shadow <a href=/deep>x</a><x-inner></x-inner></p>';
        }}
      }});
    """
    found, _ = stage.render({"/": shell(code, "before <x-card></x-card> after")})
    assert seen(found) == "before shadow xwithin x after"
    assert {"deep", "inner"} <= paths(found)
    assert "<x-card><p>shadow " in said(found)


@pytest.mark.parametrize("mode", [pytest.param("open", marks=pytest.mark.slow), "closed"])
def test_a_shadow_root_that_the_page_declares_is_seen_like_any_other(stage, mode):
    declared = f"<x-a><template shadowrootmode={mode}><p>declared <a href=/d>x</a></p></template></x-a>"
    found, _ = stage.render({"/": page(f"<!doctype html><body>{declared}")})
    assert seen(found) == "declared x"
    assert paths(found) == {"d"}


@pytest.mark.parametrize("mode", [pytest.param("open", marks=pytest.mark.slow), "closed"])
def test_slotted_nodes_stand_in_their_slot_and_others_are_hidden(stage, mode):
    declared = f"""
      <x-a>
        <template shadowrootmode={mode}>
          <h2><slot name=title>no title</slot></h2><div>body: <slot></slot></div>
          <footer><slot name=foot>a default</slot></footer>
        </template>
        text <b>in bold</b> <i slot=title>The title</i> <u slot=nowhere>unseen <a href=/unseen>x</a></u>
      </x-a>
      <x-b><template shadowrootmode={mode}><p>own</p></template>light <a href=/light>x</a></x-b>"""
    found, _ = stage.render({"/": page(f"<!doctype html><body>{declared}")})
    assert seen(found) == "The titlebody: text in bold a default own"
    assert paths(found) == {"unseen", "light"}
    assert "<slot" not in said(found)


@pytest.mark.slow
def test_slots_within_slots_are_followed(stage):
    declared = """
      <x-outer>
        <template shadowrootmode=open>
          <x-inner><template shadowrootmode=open>[<slot></slot>]</template>(<slot></slot>)</x-inner>
        </template>
        <b>light</b>
      </x-outer>"""
    found, _ = stage.render({"/": page(f"<!doctype html><body>{declared}")})
    assert seen(found).replace(" ", "") == "[(light)]"


def test_text_in_shadow_roots_belongs_to_the_main_text(stage):
    text = "".join(f"<p>Paragraph {word}{LONG}</p>" for word in ("one", "two", "three", "four"))
    code = f"document.querySelector('x-app').attachShadow({{mode: 'open'}}).innerHTML = `<article>{text}</article>`"
    found, _ = stage.render({"/": shell(code, "<x-app></x-app>")})
    assert expect(Extraction, extract(said(found), found.url)).text.count("long enough") == 4


@pytest.mark.parametrize(
    ("code", "head", "expected"),
    [
        pytest.param("history.pushState({}, '', '/a/b/c')", "", "a/b/rel", marks=pytest.mark.slow),
        pytest.param("history.replaceState({}, '', '/a/b/c?q')", "", "a/b/rel", marks=pytest.mark.slow),
        pytest.param("history.pushState({}, '', '?q=1')", "", "rel", marks=pytest.mark.slow),
        ("history.pushState({}, '', '/a/b/c')", "<base href='d/'>", "d/rel"),
        pytest.param(
            "history.pushState({}, '', '/a/b/c')", "<base href='/d/'>", "d/rel", marks=pytest.mark.slow
        ),
        pytest.param(
            "document.head.append(Object.assign(document.createElement('base'), {href: '/late/'}))",
            "",
            "late/rel",
            marks=pytest.mark.slow,
        ),
        ("document.querySelector('base').remove()", "<base href='/gone/'>", "rel"),
        pytest.param(
            "document.querySelector('base').href = '/other/'",
            "<base href='/one/'><base href='/two/'>",
            "other/rel",
            marks=pytest.mark.slow,
        ),
        pytest.param("location.hash = '#/route'", "", "rel", marks=pytest.mark.slow),
    ],
)
def test_relative_links_are_resolved_against_the_final_address_of_the_page(stage, code, head, expected):
    body = page(f"<!doctype html><head>{head}</head><body><a href=rel>x</a><script>{code}</script>")
    found, _ = stage.render({"/": body})
    assert paths(found) == {expected}
    assert found.report.navigations == ()


def test_a_page_whose_address_did_not_change_gets_no_base(stage):
    found, _ = stage.render({"/%7Euser/?a=%20b": shell("", "<p>plain</p>")}, "/%7Euser/?a=%20b")
    assert "<base" not in said(found)


def test_frames_without_an_address_are_part_of_the_page(stage):
    inside = "&lt;base href=/framed/&gt;&lt;p&gt;srcdoc &lt;a href=rel&gt;x&lt;/a&gt;&lt;img src=i.png&gt;"
    code = """
      const written = document.createElement('iframe');
      document.body.append(written);
      written.contentDocument.body.innerHTML = '<p>written <a href=rel>x</a></p><x-s></x-s>';
      written.contentDocument.querySelector('x-s').attachShadow({mode: 'open'}).innerHTML = 'in shadow';
    """
    found, server = stage.render(
        {"/": shell(code, f'<iframe srcdoc="{inside}"></iframe><iframe src=/far></iframe>')}
    )
    assert seen(found) == "srcdoc xwritten xin shadow"
    assert paths(found) == {"framed/rel", "rel", "far"}
    assert set(server.paths) == {"/"}


def test_templates_comments_and_stylesheet_content_are_no_text(stage):
    body = """<style>p::after { content: 'inserted' }</style><template><p>template <a href=/t>x</a></p></template>
      <!-- comment --><noscript>no script</noscript><x-a></x-a><p>text</p>"""
    code = """document.querySelector('x-a').attachShadow({mode: 'open'}).innerHTML =
      '<style>p::before { content: "inserted" }</style>' +
      '<template><p>template <a href=/t2>x</a></p></template><!--c--><p>shadow</p>'"""
    found, _ = stage.render({"/": shell(code, body)})
    assert seen(found) == "shadowtext"
    assert paths(found) == set()
    assert "<template><p>template" in said(found)


def test_a_written_dom_is_parsed_into_the_same_dom(stage):
    body = """<x-a></x-a><p title="a&quot;b&amp;c<d">1 &lt; 2 &amp;amp; 3&nbsp;4</p><textarea>&lt;b></textarea><pre>
 a
  b</pre><svg viewBox="0 0 1 1"><a xlink:href="/svg"><text>drawn</text></a></svg><br><input value="x">"""
    code = (
        "document.querySelector('x-a').attachShadow({mode: 'open'}).innerHTML = '<b>s</b>'; "
        "if (1 < 2 && 3 > 2) document.title = 'a & b'"
    )
    found, _ = stage.render({"/": shell(code, body)})
    html = said(found)
    assert html.startswith("<!DOCTYPE html><html><head><title>a &amp; b</title>")
    assert "if (1 < 2 && 3 > 2)" in html
    assert ">1 &lt; 2 &amp;amp; 3&nbsp;4</p>" in html
    assert (
        '<svg viewBox="0 0 1 1"><a xlink:href="/svg"><text>drawn</text></a></svg><br><input value="x">'
        in html
    )
    assert "<textarea>&lt;b&gt;</textarea>" in html


NAMES = "childNodes attributes localName nodeType shadowRoot content textContent ownerDocument parentNode"


def test_elements_named_like_properties_hide_nothing(stage):
    fields = "".join(f"<input name={name}>" for name in NAMES.split())
    images = "".join(
        f"<img name={name}>" for name in ("title", "head", "body", "baseURI", "doctype", "documentElement")
    )
    code = (
        "document.querySelector('x-a').attachShadow({mode: 'open'}).innerHTML = "
        "'<form>' + %r + '<p>in a form</p></form>'"
    )
    found, _ = stage.render(
        {"/": shell(code % fields, f"<form>{fields}<p>kept</p></form>{images}<x-a></x-a>")}
    )
    assert seen(found) == "keptin a form"
    assert found.title == "shell"


@pytest.mark.parametrize("mode", [pytest.param("open", marks=pytest.mark.slow), "closed"])
def test_a_page_is_read_however_deep_it_is_nested(stage, mode):
    code = f"""
      let at = document.querySelector('x-a').attachShadow({{mode: '{mode}'}});
      for (let i = 0; i < 1500; i++) at = at.appendChild(document.createElement('div'));
      at.textContent = 'the bottom';
    """
    found, _ = stage.render({"/": shell(code, "<x-a></x-a>")})
    assert "the bottom" in said(found)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["open", "closed"])
def test_a_page_is_read_however_long_it_is(stage, mode):
    code = f"""
      const root = document.querySelector('x-a').attachShadow({{mode: '{mode}'}});
      for (let i = 0; i < 30000; i++) root.append(document.createElement('p'), 'some text ');
      document.body.append('light');
    """
    found, _ = stage.render({"/": shell(code, "<x-a></x-a>")}, max_bytes=20_000)
    assert found.report.problem == ""
    if mode == "open":
        assert len(found.html) == 20_000
    else:  # beyond a size no closed root is searched for
        assert seen(found) == "light"


def test_a_page_that_meddles_with_shadow_roots_is_read_all_the_same(stage):
    code = """
      const attach = Element.prototype.attachShadow;
      Element.prototype.attachShadow = function (init) { return attach.call(this, {mode: 'closed'}); };
      Object.defineProperty(Element.prototype, 'shadowRoot', {get: () => null});
      HTMLSlotElement.prototype.assignedNodes = () => [];
      document.querySelector('x-a').attachShadow({mode: 'open'}).innerHTML = '<p>hidden <slot></slot></p>';
    """
    found, _ = stage.render({"/": shell(code, "<x-a>well</x-a>")})
    assert seen(found) == "hidden well"


def test_a_page_sees_a_browser_without_service_workers(stage):
    code = """
      const say = text => document.body.append(text + ';');
      (async () => {
        say('serviceWorker' in navigator);
        say(typeof navigator.serviceWorker + typeof ServiceWorkerContainer);
        if (navigator.serviceWorker) {
          await navigator.serviceWorker.register('/sw.js'); await navigator.serviceWorker.ready;
        }
        const frame = document.body.appendChild(document.createElement('iframe'));
        say('serviceWorker' in frame.contentWindow.navigator);
        say('went on');
      })();
    """
    found, server = stage.render({"/": shell(code)})
    assert seen(found).endswith("false;undefinedundefined;false;went on;")
    assert set(server.paths) == {"/"}


def test_elements_that_come_into_view_are_loaded_as_far_as_a_reader_might_scroll(stage):
    code = """
      const watch = new IntersectionObserver(entries => entries.forEach(entry => {
        if (entry.isIntersecting) fetch('/part').then(answer => answer.text()).then(text => entry.target.append(text));
      }));
      watch.observe(document.getElementById('below'));
    """
    body = "<div style='height: 3000px'>above</div><div id=below>below </div>"
    found, _ = stage.render({"/": shell(code, body), "/part": page("came late")})
    assert seen(found) == "abovebelow came late"


@pytest.mark.slow
def test_a_refresh_that_a_script_inserts_is_a_link_and_the_page_stays(stage):
    code = (
        "document.head.append(Object.assign(document.createElement('meta'), "
        "{httpEquiv: 'refresh', content: '1;url=/next'}))"
    )
    found, server = stage.render({"/": shell(code, "here")})
    assert found.report.navigations == (f"{server.url}/next",)
    assert "here" in seen(found)


def test_xhtml_is_written_as_html(stage):
    body = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body><x-a/>
      <p>1 &lt; 2</p><script>//<![CDATA[
      document.querySelector('x-a').attachShadow({mode: 'open'}).textContent = 'shadow';
      //]]></script></body></html>"""
    found, _ = stage.render({"/": page(body, kind="application/xhtml+xml")})
    assert "<x-a>shadow</x-a>" in said(found)
    assert "<p>1 &lt; 2</p>" in said(found)
