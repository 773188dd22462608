"""A page is scrolled to its end in a real Chromium, and a page without an end is left and marked."""

import pytest

from tests.crawler.conftest import redis  # noqa: F401 - a fixture
from tests.crawler.render.test_rendering import records
from tests.crawler.server import page
from thresher.crawler.reading.rendered_page import decode_report, encode_report
from thresher.crawler.render.behaviours import page_driver
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.worker import run_worker
from thresher.frontier import canonicalize

pytestmark = pytest.mark.usefixtures("chromium")
STYLE = "<style>* { margin: 0 } article { height: 380px }</style>"
POSTS = """
<!doctype html>%s<div id=posts></div><p id=sentinel>loading</p><script>
let number = 0;
async function load() {
  if (number >= %d) { document.getElementById('sentinel').remove(); return; }
  const answer = await fetch('/posts/' + number);
  for (const text of await answer.json()) {
    const post = document.createElement('article');
    post.textContent = text;
    document.getElementById('posts').append(post);
    number++;
  }
}
new IntersectionObserver(entries => { if (entries[0].isIntersecting) load(); })
  .observe(document.getElementById('sentinel'));
</script>"""


def posts(count, size=7):
    """Answers of a page of `count` posts, which come when its end comes into view."""
    lists = {
        f"/posts/{first}": page(
            "[" + ",".join(f'"post {n}."' for n in range(first, min(first + size, count))) + "]",
            kind="application/json",
        )
        for first in range(0, count, size)
    }
    return {"/": page(POSTS % (STYLE, count)), **lists}


def shown(rendered):
    return rendered.html.count(b"<article>")


def test_all_posts_are_loaded_of_a_page_that_loads_them_when_its_end_comes_into_view(stage):
    answers = posts(50)
    rendered, server = stage.render(answers, behaviours=("scroll",), seconds=30)
    assert shown(rendered) == 50
    assert set(server.paths) == set(answers), "each list once"
    report = rendered.report.behaviours
    assert (report.names, report.cut, rendered.report.reason) == (("scroll",), "", "")
    assert decode_report(encode_report(rendered)) == rendered.report


def test_without_behaviours_no_page_is_scrolled(stage):
    rendered, _ = stage.render(posts(50), seconds=30)
    assert shown(rendered) < 50
    assert rendered.report.behaviours is None


LISTENER = """
<!doctype html>%s<div id=posts></div><script>
let number = 0;
function add() {
  for (let end = number + 5; number < end && number < %d; number++) {
    const post = document.createElement('article');
    post.textContent = 'post ' + number;
    document.getElementById('posts').append(post);
  }
}
add();
addEventListener('scroll', () => {
  if (innerHeight + scrollY >= document.documentElement.scrollHeight - 100) setTimeout(add, 300);
});
</script>"""


@pytest.mark.slow
def test_a_page_that_listens_for_scrolling_is_scrolled_too(stage):
    rendered, _ = stage.render({"/": page(LISTENER % (STYLE, 23))}, behaviours=("scroll",))
    assert (shown(rendered), rendered.report.behaviours.cut) == (23, "")


@pytest.mark.slow
def test_a_pane_that_scrolls_by_itself_is_scrolled_to_its_end(stage):
    pane = "<style>body { overflow: hidden } #posts { height: 100vh; overflow: auto }</style>"
    answer = LISTENER.replace("addEventListener('scroll'", "posts.addEventListener('scroll'").replace(
        "innerHeight + scrollY >= document.documentElement.scrollHeight",
        "posts.clientHeight + posts.scrollTop >= posts.scrollHeight",
    )
    rendered, _ = stage.render({"/": page(answer % (pane + STYLE, 23))}, behaviours=("scroll",))
    assert (shown(rendered), rendered.report.behaviours.cut) == (23, "")


def test_a_page_without_an_end_is_left_and_marked(stage, monkeypatch):
    monkeypatch.setattr(page_driver, "MAX_STEPS", 6)
    rendered, _ = stage.render({"/": page(LISTENER % (STYLE, 10**9))}, behaviours=("scroll",), seconds=30)
    report = rendered.report
    assert (report.problem, report.reason, report.behaviours.cut) == ("", "behaviours_cut", "steps")
    assert b"\r\nbehaviour-scroll: 6 steps\r\nbehaviours-cut: steps\r\n" in encode_report(rendered)
    assert shown(rendered) >= 30, "what was loaded until then is kept"


@pytest.mark.slow
def test_a_list_without_an_end_has_the_bound_of_requests_that_differ_in_their_query(stage):
    answers = posts(7) | {
        "/": page((POSTS % (STYLE, 10**9)).replace("'/posts/' + number", "'/posts/0?from=' + number"))
    }
    answers |= {f"/posts/0?from={n}": answers["/posts/0"] for n in range(0, 7 * 50, 7)}
    rendered, _ = stage.render(answers, behaviours=("scroll",), seconds=30)
    assert (rendered.report.reason, rendered.report.behaviours.cut) == ("behaviours_cut", "repeated")
    assert shown(rendered) == 7 * 32


@pytest.mark.slow
def test_a_dom_that_grew_beyond_its_bound_in_bytes_is_marked(stage):
    rendered, _ = stage.render(
        {"/": page(LISTENER % (STYLE, 60))}, behaviours=("scroll",), seconds=30, max_bytes=1_000
    )
    assert (len(rendered.html), rendered.report.behaviours.cut) == (1_000, "bytes")


@pytest.mark.slow
def test_a_page_without_an_end_is_left_in_time_to_be_read(stage, monkeypatch):
    monkeypatch.setattr(page_driver, "MAX_STEPS", 10**6)
    rendered, _ = stage.render({"/": page(LISTENER % (STYLE, 10**9))}, behaviours=("scroll",), seconds=10)
    assert (rendered.report.problem, rendered.report.behaviours.cut) == ("", "time")
    assert shown(rendered) > 10


@pytest.mark.slow
def test_a_page_that_behaviours_left_is_counted_by_its_crawl_and_so_is_the_recovered_one(crawl, site):
    site.answers |= {"/": page(LISTENER % (STYLE, 10**9))}
    crawl.seed(f"{site.url}/")
    run_worker(crawl.config("w", render="always", timeout_s=12))
    assert crawl.stats.reasons == {"fetched:behaviours_cut": 1}
    (report,) = (
        found
        for record in records(crawl)
        if record.type == "metadata" and (found := decode_report(record.payload))
    )
    assert report.reason == "behaviours_cut"


def test_a_host_has_behaviours_of_its_own():
    settings = RenderSettings(behaviour_hosts={"example.org": (), "shop.example.org": ("scroll",)})
    for host, names in (("www.example.org", ()), ("a.shop.example.org", ("scroll",))):
        assert settings.behaviours_of(canonicalize(f"http://{host}/")).names == names
    assert "scroll" in settings.behaviours_of(canonicalize("http://example.com/")).names
