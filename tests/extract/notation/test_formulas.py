"""A formula is TeX between dollar signs, whichever way a page has set it, and it stands once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.extract.wikitext import extract as extract_wikitext
from thresher.extract.writing.layout import markdown, plain

KATEX = """<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>E</mi></mrow>
<annotation encoding="application/x-tex">E=mc^2</annotation></semantics></math></span><span class="katex-html" aria-hidden="true"><span>E</span>=mc2</span></span>"""
KATEX_BLOCK = KATEX.replace("<math>", '<math display="block">')
MATHJAX_2 = """<span class="MathJax_Preview">x</span><span class="MathJax" id="e1"><nobr>q1</nobr><span
class="MJX_Assistive_MathML"><math><mi>q</mi></math></span></span><script type="math/tex">q_1</script>"""
MATHJAX_3 = """<mjx-container class="MathJax" jax="CHTML"><mjx-math aria-hidden="true">y</mjx-math><mjx-assistive-mml>
<math><msqrt><mi>y</mi></msqrt></math></mjx-assistive-mml></mjx-container>"""
MATHJAX_4 = """<mjx-container class="MathJax" display="true"><mjx-math data-latex="a \\le b"><mjx-mi data-latex="a">a</mjx-mi>
</mjx-math></mjx-container>"""
WIKIPEDIA = """<span class="mwe-math-element"><span style="display: none;"><math alttext="{\\displaystyle x^2}"><mi>x</mi></math></span>
<img class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\\displaystyle x^2}"></span>"""


def text(html):
    return plain(expect(ParsedPage, read_page(f"<p>So {html}, and".encode())).blocks)


@pytest.mark.parametrize(
    ("html", "formula"),
    [
        (KATEX, "$E=mc^2$"),
        (KATEX_BLOCK, "$$E=mc^2$$"),
        (MATHJAX_2, "$q_1$"),
        (MATHJAX_3, r"$\sqrt{y}$"),
        (MATHJAX_4, r"$$a \le b$$"),
        (WIKIPEDIA, "$x^2$"),
        ('<span class="math inline">\\(a&lt;b\\)</span>', "$a<b$"),
        ('<span class="math display">\\[a\\]</span>', "$$a$$"),
        ('<script src="https://x.example/MathJax.js"></script>\\(a\\)', "$a$"),
        ('<img src="https://latex.codecogs.com/gif.latex?a" alt="\\frac a b">', r"$\frac a b$"),
        ("<math><mfrac><mn>1</mn><mrow><mn>2</mn><mi>n</mi></mrow></mfrac></math>", r"$\frac{1}{2n}$"),
        ("<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup><mo>≤</mo><mi>α</mi></math>", r"$x_i^2\leq\alpha$"),
        ("<math><mroot><mi>x</mi><mn>3</mn></mroot></math>", r"$\sqrt[3]{x}$"),
        ("<math><mover><mi>v</mi><mo>→</mo></mover><mi>sin</mi><mi>x</mi></math>", r"$\vec{v}\sin x$"),
        ("<math><mtable><mtr><mtd>a</mtd><mtd>b</mtd></mtr><mtr><mtd>c</mtd><mtd>d</mtd></mtr></mtable></math>",
         r"$\begin{matrix}a & b \\ c & d\end{matrix}$"),
    ],
)  # fmt: skip
def test_a_formula_stands_once_between_dollar_signs(html, formula):
    assert text(html) == f"So {formula}, and"


def test_a_formula_of_another_paragraph_is_not_replaced():
    html = '<p><math><mi>a</mi></math></p><p>words: <script type="math/tex">b</script></p>'
    assert plain(expect(ParsedPage, read_page(html.encode())).blocks) == "$a$\nwords: $b$"


def test_backslashes_stay_where_nothing_draws_formulas():
    assert text("\\(a\\)") == r"So \(a\), and"


def test_what_a_page_calls_mathjax_is_not_lost():
    assert text('<span class="mathjax">\\(a\\)</span>') == "So $a$, and"
    assert text('<span class="MathJax">$a$</span>') == "So $a$, and"


def test_formulas_are_not_escaped_in_markdown():
    html = '<p>a &lt;b&gt; and <span class="math">\\(a&lt;b\\)</span> <math alttext="c<d"></math>'
    found = expect(ParsedPage, read_page(html.encode(), marks=True)).blocks
    assert markdown(found) == r"a \<b> and $a<b$ $c<d$"


@pytest.mark.parametrize(
    ("wikitext", "shown"),
    [
        ("<math>x^2</math>", "$x^2$"),
        ("<math display=block>x &lt; y</math>", "$$x < y$$"),
        ("<chem>H2O</chem> and <ce>CO2</ce>", r"$\ce{H2O}$ and $\ce{CO2}$"),
        ("{{tmath|\\alpha}}", r"$\alpha$"),
        ("10<sup>6</sup>, m{{sup|2}}, the 2<sup>nd</sup>", "10^6, m^2, the 2nd"),
        ("{{frac|1|2}} and 3<sup>1</sup>/<sub>2</sub>", "1\u20442 and 3 1/2"),
        ("{{ruby|漢字|かんじ}} <ruby>字<rp>(</rp><rt>ji</rt><rp>)</rp></ruby>", "漢字(かんじ) 字(ji)"),
    ],
)
@pytest.mark.parametrize("is_markdown", [False, True])
def test_wikitext_has_the_same_notation(wikitext, shown, is_markdown):
    assert expect(Extraction, extract_wikitext(wikitext.encode(), markdown=is_markdown)).text == shown


TAGS = st.sampled_from(
    ["mfrac", "msup", "msqrt", "mi", "mo", "mrow", "mtable", "mtr", "mtd", "annotation", "semantics"]
)


@given(st.lists(TAGS | st.sampled_from(["</mfrac>", "</mrow>", "x", "α", "$"]), max_size=40))
def test_any_mathml_is_read(pieces):
    html = "<p>a <math>" + "".join(each if each[0] in "<xα$" else f"<{each}>" for each in pieces)
    found = read_page(html.encode())
    assert found is not None
    assert found.blocks[0].text.startswith("a")


def test_a_deep_formula_costs_no_more_than_a_long_one():
    assert read_page(("<p><math>" + "<mrow><mi>x</mi>" * 100_000).encode()) is not None
