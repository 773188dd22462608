"""The funnel on a terminal of 80 columns: names may be folded, numbers are whole."""

import io

from rich.console import Console

from pipeline.funnel import Funnel, Stage
from pipeline.reports import report

STAGES = (
    ("early/status", 12_345, 98_765_432, 0, 0),
    ("gopher_repetition/repeated_line_characters", 1_234_567, 987_654_321, 123_456_789, 40_123_456),
    ("kept", 7_654_321, 9_876_543_210, 1_234_567_890, 401_234_567),
)


def test_the_funnel_fits_a_terminal_of_80_columns():
    funnel = Funnel(
        sources=("main",),
        stages=tuple(
            Stage(name=name, documents=documents, payload_bytes=payload, text_bytes=text, tokens=tokens)
            for name, documents, payload, text, tokens in STAGES
        ),
        tokenizer="tokenizer.json",
    )
    written = io.StringIO()
    report.render(funnel, Console(file=written, width=80, force_terminal=True, color_system=None))
    text = written.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    for number in ("8,901,233", "1,234,567", "13.9 %", "987.7 MB", "123.5 MB", "~40,123,456", "9.9 GB"):
        assert number in text, number
