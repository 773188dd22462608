"""`thresher refetch`: pages that an archive holds cut off wait in a crawl, or are written to a list."""

import io
import json
from functools import partial

import pytest
from typer.testing import CliRunner
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from thresher.core import Document, InputError, RecordRef, Verdict, document_id
from thresher.frontier import canonicalize
from thresher.pipeline.commands.app import app
from thresher.pipeline.crawls.refetch import TRUNCATED, refetch_truncated, truncated_urls, write_urls
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps.process import parts, step
from thresher.storage import tables
from thresher.storage.manifest import Manifest, put_output, seal
from thresher.storage.warc.cdxj import read as read_cdxj

URLS = [
    f"https://example.org/{name}" for name in ("whole.html", "cut.html", "cut.pdf", "broken.pdf", "scan.pdf")
]
CUT = {URLS[1]: "length", URLS[2]: "length"}
REASONS = {URLS[3]: TRUNCATED, URLS[4]: "scanned_pdf"}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "thresher.toml").write_text('[project]\ncontact = "mailto:test@example.org"\n')
    project = OpenProject.at(tmp_path)
    warc = tmp_path / "cc.warc.gz"
    with warc.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url in URLS:
            head = StatusAndHeaders("200 OK", [("Content-Type", "application/pdf")], protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(url, "response", io.BytesIO(b"%PDF-"), http_headers=head)
            )
    ingest(project.store, "cc", locate_inputs([warc]))
    return project


@pytest.fixture
def processed(project):
    return judged(project, CUT, REASONS)


def judged(project, cut, reasons):
    """The project, with what the process step says of its pages."""
    store, filters = project.store, project.config.filters
    now = step(filters)
    for part in parts(store, "cc", filters):
        index = next(name for name in store.list("warc/cc/") if name.endswith(".cdxj.gz"))
        with store.open(index) as file:
            rows = sorted(read_cdxj(file, name=index), key=lambda row: row.offset)
        documents = [document(row, cut.get(row.url, "")) for row in rows if row.url not in reasons]
        verdicts = [verdict(row, reasons.get(row.url, "")) for row in rows]
        made = {
            f"documents/{part.name}.parquet": tables.document_rows(documents),
            f"verdicts/{part.name}.parquet": tables.verdict_rows(verdicts),
        }
        outputs = [
            put_output(store, name, table.num_rows, partial(tables.write, table=table))
            for name, table in made.items()
        ]
        seal(
            store,
            Manifest(
                step=str(now),
                part=part.name,
                fingerprint=part.fingerprint(now),
                recipe=now.recipe,
                inputs=part.inputs,
                outputs=tuple(sorted(outputs, key=lambda output: output.name)),
                counts={},
            ),
        )
    return project


def ref(row):
    return RecordRef(file=row.filename, offset=row.offset, length=row.length, digest=row.digest)


def document(row, truncated):
    return Document(
        id=document_id("cc", ref(row)), url=row.url, text="text", title="", date="", language="en", declared_language="",
        license="", mime=row.mime, charset="", extractor="", source="cc", external_id="", fetched_at_ms=row.date_ms,
        truncated=truncated, record=ref(row),
    )  # fmt: skip


def verdict(row, reason):
    return Verdict(
        id=document_id("cc", ref(row)),
        keep=not reason,
        rule="extract" if reason else "",
        reason=reason,
        measurements={},
    )


def test_documents_that_are_cut_off_and_pdfs_that_cannot_be_read_for_it(processed):
    assert sorted(truncated_urls(processed.store, "cc")) == sorted([URLS[1], URLS[2], URLS[3]])


def test_they_wait_in_a_crawl_of_their_own(processed):
    assert refetch_truncated(processed, "cc", "whole").added == 3
    again = refetch_truncated(processed, "cc", "whole")
    assert (again.added, again.known) == (0, 3)


def test_or_are_written_to_a_list_that_can_be_seeded(processed, tmp_path):
    out = tmp_path / "cut.txt"
    assert write_urls(processed, "cc", out) == 3
    assert {canonicalize(line).text for line in out.read_text().splitlines()} == {URLS[1], URLS[2], URLS[3]}


def test_what_is_not_processed_is_refused(project):
    with pytest.raises(InputError, match="run `thresher process cc` first"):
        refetch_truncated(project, "cc", "whole")


def test_where_nothing_is_cut_off_there_is_nothing_to_fetch(project):
    judged(project, {}, {URLS[4]: "scanned_pdf"})
    with pytest.raises(InputError, match="nothing archived in it is truncated"):
        refetch_truncated(project, "cc", "whole")


@pytest.mark.parametrize("options", [[], ["--crawl", "whole", "--out", "x"]])
def test_one_of_crawl_and_list_is_asked_for(processed, options, tmp_path):
    found = CliRunner().invoke(app, ["refetch", "cc", "--project", str(tmp_path), *options])
    assert isinstance(found.exception, InputError)


def test_the_command_says_how_many(processed, tmp_path):
    out = tmp_path / "cut.txt"
    found = CliRunner().invoke(
        app, ["refetch", "cc", "--out", str(out), "--project", str(tmp_path), "--json"]
    )
    assert json.loads(found.stdout) == {"out": str(out), "urls": 3}
