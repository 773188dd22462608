"""The same pages give the same bytes on every Python, with every order of hashes.

`golden.json` has a digest for each stage of the job on the golden corpus (`golden_corpus`), and each Python must give these.
If one of them differs, the product is wrong and not the digest, unless a recipe or a format was changed on purpose; then
`python -m tests.pythons.golden_job > tests/pythons/golden.json` writes them again. `real_pages.json` has those of real pages.

The digests also depend on the locked packages: `plain` and `markdown` on lxml (libxml2's version is in the name of the
extractor), `languages` on the models, `data/*`, `out/data` and `out/hf` on PyArrow (Parquet, zstd), `data/warc` on ISA-L.
`rows`, `verdicts of *`, `signatures`, `units` and `words` hold what is computed, whatever writes it.
"""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import zstandard

from tests.shared import read_tar_file, shared_file
from thresher.extract.charset import decode

HERE = Path(__file__).parent
REAL_PAGES = 150


def job(tmp_path, *options, seed="random"):
    """The digests that a process of its own gives."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.pythons.golden_job", *options],
        cwd=HERE.parents[1],
        env={**os.environ, "PYTHONHASHSEED": seed, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "seed", ["random", *(pytest.param(seed, marks=pytest.mark.slow) for seed in ("0", "1"))]
)
def test_every_stage_gives_the_bytes_that_it_gives_everywhere(tmp_path, seed):
    assert job(tmp_path, seed=seed) == json.loads((HERE / "golden.json").read_text())


@pytest.mark.shared
@pytest.mark.slow
def test_real_pages_give_what_they_give_everywhere(tmp_path):
    pages = tmp_path / "pages.jsonl"
    with (
        shared_file("extraction/pages.tar.zst").open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
        pages.open("w") as out,
    ):
        members = (member for member in archive if member.isfile())
        for number, member in zip(range(REAL_PAGES), members, strict=False):
            html = decode(read_tar_file(archive, member), None).text
            row = {"url": f"https://real.example/{number}", "html": html}
            out.write(json.dumps(row) + "\n")
    assert job(tmp_path, "--pages", str(pages)) == json.loads((HERE / "real_pages.json").read_text())
