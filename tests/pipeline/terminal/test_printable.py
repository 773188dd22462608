"""No name that others chose reaches a terminal as a control sequence."""

import io
import json
import logging
import zipfile
from functools import partial

from hypothesis import given as examples
from hypothesis import strategies as st
from rich.console import Console

from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.ingest_result import IngestPrinter
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.terminal import output
from thresher.pipeline.terminal.bar_progress import BarProgress
from thresher.pipeline.terminal.printable import printable, printable_json
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore

ESCAPES = "\x1b]0;title\x07\x1b[31mred\x1b[2J\x9b2J\u202eback\r"


def is_obeyed(text):
    return any(each in text for each in "\x1b\x07\x9b\u202e\r")


@examples(st.text())
def test_printed_text_is_visible_and_visible_text_stays(text):
    shown = printable(text)
    assert all(each.isprintable() or each in "\n\t\xa0\u200c\u200d\xad\u3000" for each in shown)
    assert shown == text or not text.isprintable()
    shown.encode()


@examples(st.text())
def test_json_says_the_same_without_what_a_terminal_obeys(text):
    shown = printable_json({"text": text})
    assert json.loads(shown) == {"text": text}
    assert not any(each in shown for each in map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2028]))


def test_a_name_in_an_archive_is_shown_escaped(tmp_path, capsys):
    """`thresher ingest` of a WACZ that lists a file with such a name."""
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("archive/a.warc", "x")
        resource = {"path": f"x{ESCAPES}", "hash": "sha256:00"}
        package.writestr("datapackage.json", json.dumps({"resources": [resource]}))
    lines = IngestPrinter(partial(output.echo, err=True))
    ingest(DirectoryStore(tmp_path / "data"), "w", locate_inputs([path]), on_result=lines.add)
    lines.flush()
    shown = capsys.readouterr().err
    assert "names x\\x1b]0;title" in shown
    assert not is_obeyed(shown.rstrip("\n"))


def test_lines_tables_bars_and_warnings_are_printable(capsys):
    output.print_result(False, {}, ESCAPES)
    output.print_result(True, {"name": ESCAPES}, "")
    console = output.console()
    from rich.table import Table

    table = Table("a")
    table.add_row(f"[bold]{ESCAPES}")
    console.print(table)
    console.print(ESCAPES)
    lines = LineProgress()
    lines.start("step", None)
    lines._print(ESCAPES)
    shown = "".join(capsys.readouterr())
    assert "\\x1b]0;title" in shown
    assert "[bold]\\x1b" in shown, "names are no markup"
    assert not is_obeyed(shown)
    file = io.StringIO()
    bars = BarProgress(Console(file=file, force_terminal=True, color_system=None, width=200))
    bars.start("step", 1)
    bars.advance(f"[bold]{ESCAPES}")
    bars.stop()
    assert "[bold]\\x1b]0;title" in file.getvalue()
    assert "\x1b]0;" not in file.getvalue()
    assert output._Formatter().format(logging.makeLogRecord({"msg": ESCAPES})).isprintable()
