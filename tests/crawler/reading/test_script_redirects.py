"""A redirect that a script of the page says literally is a link; what a script only puts together is none."""

import pytest

from thresher.crawler.reading.script_redirects import MAX_REDIRECTS, script_redirects


def script(code):
    return f"<html><head><script>{code}</script></head><body></body></html>".encode()


@pytest.mark.parametrize(
    "code",
    [
        'location="/post/666"',
        "location = '/post/666';",
        "window.location='/post/666'",
        'window.location.href = "/post/666"',
        "if (top !== self) { top.location.href = '/post/666' }",
        "setTimeout(() => { document.location = '/post/666' }, 10)",
        "location.replace('/post/666')",
        "window.top.location.assign( '/post/666' )",
        r"self.location.replace('\/post\/666')",
        r"location = '\u002fpost\x2f666'",
    ],
)
def test_a_literal_target_is_found(code):
    assert script_redirects(script(code)) == ("/post/666",)


@pytest.mark.parametrize(
    "code",
    [
        "location = '/post/' + id",
        "location.replace('/post/' + id)",
        "if (location == '/post/666') go()",
        "if (location.href === '/post/666') go()",
        "const location = 'Berlin'; let location = 'Berlin'; var location = 'Berlin';",
        "shop.location = 'Berlin'; my_location = 'Berlin'; $location = 'Berlin';",
        "location = 'New York'",
        "location.href = '#top'",
        "location.hash = '/post/666'",
        r"location = '/\n'",
    ],
)
def test_nothing_else_is_a_redirect(code):
    assert script_redirects(script(code)) == ()


def test_only_scripts_lead_anywhere():
    assert (
        script_redirects(b"<pre>location = '/a'</pre><script type=text/template>location = '/a'</script>")
        == ()
    )
    for kind in (b"'text/javascript'", b'"module"', b"text/javascript", b"''"):
        assert script_redirects(b"<script type=" + kind + b">location = '/a'</script>") == ("/a",)
    assert script_redirects(b"<SCRIPT>location = '/a'</SCRIPT>") == ("/a",)


def test_a_page_has_few_redirects_each_once():
    code = "location = '/same';" * 9 + "".join(f"location = '/{n}';" for n in range(99))
    found = script_redirects(script(code))
    assert (found[0], len(found), len(set(found))) == ("/same", MAX_REDIRECTS, MAX_REDIRECTS)


@pytest.mark.parametrize(
    "unit", [b"<script>", b"<script>location", b"location='", b"location = ", b"top.", b"<script"]
)
def test_no_page_makes_the_search_slow(unit):
    script_redirects(b"location<script>" + unit * 100_000)
