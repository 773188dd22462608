"""The history of a URL shows the pictures that were taken of its page."""

from thresher.pipeline.console.models.url_models import CaptureView, PictureView, UrlInSource, UrlView
from thresher.pipeline.console.web.page_rendering import render


def test_a_capture_shows_its_thumbnail_and_links_to_all_its_pictures():
    texts = dict.fromkeys(
        (
            *("document", "part", "rule", "reason", "title", "language", "extractor"),
            *("duplicate_of", "duplicate_kind", "digest"),
        ),
        "",
    )
    capture = CaptureView.model_validate(
        {
            **texts,
            "url": "https://a.test/",
            "time": 0,
            "status": 200,
            "mime": "text/html",
            "file": "warc/c/a.warc.gz",
            "offset": 30,
            "length": 9,
            "is_processed": False,
            "keep": False,
            "exports": [],
            "pictures": [
                PictureView(kind=kind, file="warc/c/a.warc.gz", offset=offset)
                for offset, kind in enumerate(("view", "thumbnail", "fullPage"))
            ],
        }
    )
    source = UrlInSource(source="c", place=None, log=[], captures=[capture])
    url = UrlView(url="https://a.test/", places={}, is_searching=False, error="", sources=[source])
    shown = render("url.html", url=url, text=url.url, who="", has_login=False, form_number="", path="/url")
    assert shown.count("<img") == 1
    assert "/api/replay?file=warc%2Fc%2Fa.warc.gz&amp;offset=1" in shown
    for offset, name in enumerate(("window", "thumbnail", "full page")):
        assert f'offset={offset}">{name}</a>' in shown
