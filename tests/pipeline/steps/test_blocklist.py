"""Records whose address is on a list are dropped before anything of them is extracted."""

import pytest
from typer.testing import CliRunner

from thresher.core import InputError
from thresher.pipeline.commands.app import app
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps import blocklist, process
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests

ROWS = "".join(
    f'{{"text": "Words of a page, number {n}, that has something to say.", "url": "http://{host}/{n}"}}\n'
    for n, host in enumerate(["good.example", "bad.example", "www.bad.example", "other.example"])
)


@pytest.mark.slow
def test_records_of_blocked_addresses_are_early_verdicts_and_another_list_is_another_step(tmp_path):
    (tmp_path / "thresher.toml").write_text(
        '[filters]\npreset = "none"\nlanguages = []\nblocklist = "blocked.txt"\n'
    )
    (tmp_path / "blocked.txt").write_text("bad.example\n")
    (tmp_path / "rows.jsonl").write_text(ROWS)
    run = CliRunner()
    for command in (["ingest", "t", str(tmp_path / "rows.jsonl")], ["process", "t", "--workers", "1"]):
        assert run.invoke(app, [*command, "--project", str(tmp_path)]).exit_code == 0
    (manifest,) = manifests(OpenProject.at(tmp_path).store, "process", "t")
    assert manifest.counts["early/blocked_address.documents"] == 2
    assert manifest.counts["keep.documents"] == 2
    filters = FiltersConfig(preset="none", languages=())
    store = DirectoryStore(tmp_path / "data")
    first = process.step(filters, blocklist.put_blocklist(store, tmp_path, "blocked.txt"))
    (tmp_path / "blocked.txt").write_text("bad.example\nother.example\n")
    assert (
        process.step(filters, blocklist.put_blocklist(store, tmp_path, "blocked.txt")).recipe != first.recipe
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"what is this", "line 1"), (b"\xff\xfe\x00", "blocked.txt")],
)
def test_a_list_that_is_none_is_refused_by_name(tmp_path, content, said):
    if content is not None:
        (tmp_path / "blocked.txt").write_bytes(content)
    with pytest.raises(InputError, match=said):
        blocklist.put_blocklist(DirectoryStore(tmp_path / "data"), tmp_path, "blocked.txt")
