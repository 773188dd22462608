"""What lies in examples/ does what the guides say of it."""

import subprocess
import sys

import pyarrow.parquet as pq
from tokenizers import Tokenizer

from tests.end_to_end.conftest import ROOT

WORDS = ("river", "mountain", "harbour", "lantern", "meadow", "orchard", "winter", "bridge")


def test_a_tokenizer_is_trained_from_the_documents_of_a_project(user):
    toml = (user.directory / "thresher.toml").read_text().replace('"gopher"', '"none"')
    (user.directory / "thresher.toml").write_text(toml)
    texts = user.directory / "texts"
    texts.mkdir()
    for number in range(40):
        here = " ".join(WORDS[(number + n) % len(WORDS)] for n in range(60))
        (texts / f"{number}.txt").write_text(f"Text {number} tells of the {here}, and nothing else. Käse ꙮ!")
    script = [sys.executable, ROOT / "examples" / "train_tokenizer.py", "data", "tokenizer.json"]

    def trains():
        return subprocess.run(script, cwd=user.directory, capture_output=True, text=True, check=False)

    too_soon = trains()
    assert (too_soon.returncode, "run `thresher process` first" in too_soon.stderr) == (2, True)
    user.types("ingest", "books", texts)
    user.types("process")
    done = trains()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote tokenizer.json: ")
    user.types("dedup")
    user.types("export", "--out", "out", "--tokenizer", "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(user.directory / "tokenizer.json"))
    rows = pq.read_table(user.directory / "out" / "data" / "shard-00000.parquet").to_pylist()
    assert rows
    for row in rows:
        assert tokenizer.decode(row["input_ids"]) == row["text"]
        assert len(row["input_ids"]) < len(row["text"]) / 3
