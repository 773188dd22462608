"""The guide to exports, typed as it stands in the project of the demo."""

import re
import shlex

import pytest

from demo.__main__ import TOML
from demo.web import Web
from tests.end_to_end.conftest import ROOT, User
from tests.storage.s3server import BUCKET
from thresher.pipeline.integrity.export_audit import verify_dataset
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file

GUIDE = (ROOT / "docs/guides/exports.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.strip().splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The project of the demo, and its tokenizer file; a small one, because the guide is not about tokens."""
    directory = tmp_path_factory.mktemp("demo")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "tokenizer.json").write_text(load_tokenizer_file(None).json)
    user = User(directory)
    with Web().serve() as serving:
        (directory / "seeds.txt").write_text("\n".join(serving.seeds) + "\n")
        user.run("run", "seeds.txt", "--out", "shards", "--tokenizer", "tokenizer.json", "--scope", "host")
    (mix,) = (block for kind, block in BLOCKS if kind == "toml")
    (directory / "mix.toml").write_text(mix)
    return user


@pytest.mark.slow
def test_every_command_of_the_guide_works(demo, server, monkeypatch):
    assert len(COMMANDS) >= 5
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    for line in COMMANDS:
        # A hundredth of the few hosts of the demo is none.
        line = line.replace("--held-out 1%", "--held-out 50%")  # noqa: PLW2901 - as it is typed here
        words = shlex.split(line.replace("s3://bucket/", f"s3://{BUCKET}/guide/"), comments=True)
        assert words.pop(0) == "thresher"
        said = demo.run(*words)
        assert " documents, " in said.out, line
        if "--mix" in words:
            german, rest = said.out.splitlines()[1:]
            assert german.startswith("german: ")
            assert "(wanted 30.00%)" in german
            share = float(german.split()[1].rstrip("%"))
            assert 29 < share < 31  # a mix takes whole documents, so it comes near
            assert "(wanted 70.00%)" in rest
        out = words[words.index("--out") + 1]
        if not out.startswith("s3:"):
            out = str(demo.directory / out)
        assert verify_dataset(out, LineProgress()).damage == ()
    assert (demo.directory / "mix.png").read_bytes().startswith(b"\x89PNG")
