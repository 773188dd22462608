"""What pages say of their use is in the documents and, where it is obeyed, in the funnel."""

import pyarrow.parquet as pq
import pytest

from tests.crawler.server import Server, links, page
from tests.pipeline.steps.test_kept import finish, seeded, stages
from tests.pipeline.steps.test_page_filter import ENGLISH
from thresher.core import InputError
from thresher.pipeline import configuration

SAYING = {
    "/plain": (),
    "/noindex": ("X-Robots-Tag: noindex, noarchive",),
    "/noai": ("X-Robots-Tag: otherbot: noindex, thresher: noai",),
    "/reserved": ("tdm-reservation: 1", "tdm-policy: https://example.org/policy"),
}


def test_only_what_can_be_obeyed_is_named(tmp_path):
    assert configuration.parse("", tmp_path).filters.obey == ("noai", "tdm-reservation")
    assert configuration.parse("", tmp_path).crawler.reading.obey == ("nofollow",)
    for text in ('[filters]\nobey = ["nofollow"]', '[crawler]\nobey = ["noai"]', "[crawler]\nsitemaps = 1"):
        with pytest.raises(InputError):
            configuration.parse(text, tmp_path)


def test_pages_that_ask_not_to_be_used_are_recorded_dropped_and_counted(tmp_path):
    with Server().in_thread() as site:
        site.answers["/0"] = links(*SAYING)
        for path, headers in SAYING.items():
            text = "".join(f"<p>{path[1:]}: {ENGLISH * 3}</p>" for _ in range(4))
            site.answers[path] = page(f"<html><body><article>{text}</article></body></html>", *headers)
        project = seeded(tmp_path / "project", site, "all")
        finish(project)
    found = stages(project)
    assert {name: found[name].documents for name in found if name.startswith("rights/")} == {
        "rights/noai": 1,
        "rights/tdm_reservation": 1,
    }
    said = {}
    for file in (project.directory / "data" / "documents").rglob("*.parquet"):
        for row in pq.read_table(file).to_pylist():
            said["/" + row["url"].rpartition("/")[2]] = (
                row["robots"],
                row["tdm_reservation"],
                row["tdm_policy"],
            )
    assert said == {  # "/0" is a list of links, which has no text
        "/plain": ("", "", ""),
        "/noindex": ("noarchive,noindex", "", ""),
        "/noai": ("noai", "", ""),
        "/reserved": ("", "1", "https://example.org/policy"),
    }
