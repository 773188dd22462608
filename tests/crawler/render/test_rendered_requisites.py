"""A rendered page is archived with what its browser did not ask for."""

import pytest

from tests.crawler.conftest import redis  # noqa: F401 - a fixture
from tests.crawler.render.test_rendering import records
from tests.crawler.server import page
from tests.crawler.subresources.test_requisites import collected, site  # noqa: F401 - fixtures


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_a_rendered_page_has_the_parts_of_its_dom_besides(crawl, site):
    script = "document.body.innerHTML = '<p>text</p><img src=/a.png><iframe src=/frame></iframe>'"
    site.answers["/"] = page(f"<body><script>{script}</script>")
    found = collected(crawl, f"{site.url}/", render="always", timeout_s=30)
    wanted = {"/a.png": "image", "/frame": "frame", "/d.png": "image", "/favicon.ico": "image"}
    assert found == {f"{site.url}{path}": kind for path, kind in wanted.items()}
    (report,) = (record.payload for record in records(crawl) if record.payload.startswith(b"rendering: "))
    assert b"parts: 4\r\n" in report
    assert b"refused" not in report


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_the_browser_asks_for_images_that_only_a_script_names(crawl, site):
    script = "new Image().src = '/a.png'; document.body.append('some text')"
    site.answers["/"] = page(f"<body><script>{script}</script>")
    found = collected(crawl, f"{site.url}/", render="always", timeout_s=30)
    assert found == {f"{site.url}/a.png": "image", f"{site.url}/favicon.ico": "image"}
