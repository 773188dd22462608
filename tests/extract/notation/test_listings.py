"""Code comes out as code, whichever highlighter has set it: with its lines and blanks, without line numbers and tools."""

import pytest

from tests.expect import expect
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.extract.writing.layout import markdown, plain

CODE = "def lamp():\n\n    return 1"
SYNTAX_HIGHLIGHTER = """<div id="h1"><div class="syntaxhighlighter python"><div class="toolbar"><span>
<a href="#" class="toolbar_item">?</a></span></div><table><tbody><tr>
<td class="gutter"><div class="line number1">1</div><div class="line number2">2</div><div class="line number3">3</div></td>
<td class="code"><div class="container">
<div class="line number1 alt2"><code class="py keyword">def</code> <code class="py plain">lamp():</code></div>
<div class="line number2 alt1">&nbsp;</div>
<div class="line number3 alt2"><code class="py spaces">&nbsp;&nbsp;&nbsp;&nbsp;</code><code class="py keyword">return</code> <code class="py value">1</code></div>
</div></td></tr></tbody></table></div></div>"""
CRAYON = """<div class="crayon-syntax crayon-theme-x"><div class="crayon-toolbar"><span class="crayon-title">lamp.py</span></div>
<div class="crayon-plain-wrap"><textarea class="crayon-plain">def lamp():</textarea></div>
<div class="crayon-main"><table class="crayon-table"><tr class="crayon-row">
<td class="crayon-nums"><div class="crayon-nums-content"><div class="crayon-num">1</div><div class="crayon-num">2</div></div></td>
<td class="crayon-code"><div class="crayon-pre">
<div class="crayon-line"><span class="crayon-k">def</span><span class="crayon-h"> </span><span>lamp</span>():</div>
<div class="crayon-line">&nbsp;</div><div class="crayon-line"><span class="crayon-h">    </span><span>return</span> 1</div>
</div></td></tr></table></div></div>"""
GITHUB = """<table class="highlight tab-size js-file-line-container">
  <tr>
    <td id="L1" class="blob-num js-line-number" data-line-number="1"></td>
    <td id="LC1" class="blob-code blob-code-inner js-file-line"><span class="pl-k">def</span> lamp():</td>
  </tr>
  <tr>
    <td id="L2" class="blob-num js-line-number">2</td>
    <td id="LC2" class="blob-code blob-code-inner js-file-line">
</td>
  </tr>
  <tr>
    <td class="blob-num js-line-number">3</td>
    <td class="blob-code blob-code-inner js-file-line">    <span class="pl-k">return</span> 1</td>
  </tr>
</table>"""
HIGHLIGHT_JS = """<pre><code class="hljs language-python"><table class="hljs-ln"><tbody><tr>\
<td class="hljs-ln-line hljs-ln-numbers" data-line-number="1"><div class="hljs-ln-n">1</div></td>\
<td class="hljs-ln-line hljs-ln-code"><span class="hljs-keyword">def</span> lamp():</td></tr><tr>\
<td class="hljs-ln-line hljs-ln-numbers"><div class="hljs-ln-n">2</div></td><td class="hljs-ln-line hljs-ln-code">
</td></tr><tr><td class="hljs-ln-line hljs-ln-numbers"></td><td class="hljs-ln-line hljs-ln-code">    return <span
class="hljs-number">1</span></td></tr></tbody></table></code></pre>"""
PRISM = """<pre class="line-numbers language-python"><code class="language-python"><span class="token keyword">def</span> lamp():

    return <span class="token number">1</span><span aria-hidden="true" class="line-numbers-rows"><span></span></span></code></pre>"""
PYGMENTS_TABLE = """<div class="highlight-python notranslate"><table class="highlighttable"><tr><td class="linenos">
<div class="linenodiv"><pre><span class="normal">1</span>
<span class="normal">2</span></pre></div></td><td class="code"><div class="highlight"><pre><span></span>def lamp():

    return 1
</pre></div></td></tr></table></div>"""
PYGMENTS_INLINE = """<div class="highlight-python"><div class="highlight"><pre><span></span><span class="linenos">1</span>def lamp():
<span class="linenos">2</span>
<span class="linenos">3</span>    return 1
</pre></div></div>"""
ROUGE = """<div class="language-python highlighter-rouge"><div class="highlight"><pre class="highlight"><code>\
<table class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">1
2
3
</pre></td><td class="rouge-code"><pre>def lamp():

    return 1
</pre></td></tr></tbody></table></code></pre></div></div>"""
HEXO = """<figure class="highlight python"><table><tr><td class="gutter"><pre><span class="line">1</span><br><span
class="line">2</span><br></pre></td><td class="code"><pre><span class="line">def lamp():</span><br><span class="line"></span><br><span
class="line">    return 1</span><br></pre></td></tr></table></figure>"""
CHROMA = """<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd"><pre class="chroma"><code>\
<span class="lnt">1
</span><span class="lnt">2
</span></code></pre></td><td class="lntd"><pre class="chroma"><code class="language-python" data-lang="python"><span
class="line">def lamp():
</span><span class="line">
</span><span class="line">    return 1
</span></code></pre></td></tr></table></div></div>"""
WP_SYNTAX = """<div class="wp_syntax"><table><tr><td class="line_numbers"><pre>1
2
</pre></td><td class="code"><pre class="python">def lamp():

    return <span>1</span></pre></td></tr></table></div>"""
DATA_LANGUAGE = f'<pre data-language="python"><code>{CODE}</code></pre>'
BRUSH = f'<pre class="brush: python; gutter: false">{CODE}</pre>'
NAMED = {
    "SyntaxHighlighter": SYNTAX_HIGHLIGHTER, "highlight.js": HIGHLIGHT_JS, "Prism": PRISM,
    "Pygments, table": PYGMENTS_TABLE, "Pygments, inline": PYGMENTS_INLINE, "Rouge": ROUGE, "Hexo": HEXO,
    "Chroma": CHROMA, "WP-Syntax": WP_SYNTAX, "data-language": DATA_LANGUAGE, "brush": BRUSH,
}  # fmt: skip
UNNAMED = {
    "Crayon": CRAYON,
    "GitHub": GITHUB,
    "plain": f"<pre>{CODE}</pre>",
    "text": f'<pre class="language-text">{CODE}</pre>',
}


def blocks(html):
    return expect(ParsedPage, read_page(html.encode())).blocks


@pytest.mark.parametrize("listing", [*NAMED.values(), *UNNAMED.values()], ids=[*NAMED, *UNNAMED])
def test_a_listing_is_code_without_line_numbers(listing):
    found = blocks(f"<p>before</p>{listing}<p>behind</p>")
    assert [(block.tag, block.text) for block in found] == [("p", "before"), ("pre", CODE), ("p", "behind")]
    assert plain(found) == f"before\n{CODE}\nbehind"


@pytest.mark.parametrize(
    ("listing", "language"),
    [(listing, "python") for listing in NAMED.values()] + [(listing, "") for listing in UNNAMED.values()],
    ids=[*NAMED, *UNNAMED],
)
def test_the_fence_names_the_language(listing, language):
    assert markdown(blocks(listing)) == f"```{language}\n{CODE}\n```"


@pytest.mark.parametrize(
    "html",
    [
        '<p>one <span class="linenos">two</span> three',
        '<p>one <span class="line">two</span> three',
        '<p class="toolbar">one two three',
        '<p><span class="token number">one</span> two three',
    ],
)
def test_names_of_listings_mean_nothing_in_running_text(html):
    assert plain(blocks(html)) == "one two three"


def test_the_numbers_of_code_stay():
    assert plain(blocks('<pre>x = <span class="token number">1</span></pre>')) == "x = 1"


def test_the_language_of_the_page_is_not_that_of_its_code():
    assert (
        markdown(blocks('<body class="lang-en"><div class="highlight-box"><pre>x</pre></div>'))
        == "```\nx\n```"
    )


@pytest.mark.parametrize(
    "html",
    ['<div class="crayon-syntax">' * 20_000, '<table class="hljs-ln"><tr><td class="hljs-ln-code">' * 5_000,
     '<div class="syntaxhighlighter">' + '<div class="line">\n' * 50_000 + "x"],
)  # fmt: skip
def test_listings_in_listings_are_read_in_one_pass(html):
    assert read_page(html.encode()) is not None
