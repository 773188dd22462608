"""The guide to exports, typed as it stands in the project of the demo."""

import json
import re
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from demo.__main__ import TOML
from demo.web import Web
from tests.end_to_end.conftest import ROOT, User
from tests.shards.chat.byte_chats import BLOCKS as TEMPLATE
from tests.storage.s3server import BUCKET
from thresher.pipeline.integrity.export_audit import verify_dataset
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file

GUIDE = (ROOT / "docs/guides/exports.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.strip().splitlines()]

TALK = [
    {
        "role": "user",
        "content": "Why do old libraries keep their rarest books in rooms without windows? I have visited three of them "
        "this year, and in each of them the guide told me a different reason for it.",
    },
    {
        "role": "assistant",
        "content": "Daylight is the main reason, because it fades ink and makes paper brittle within a few years. A room "
        "without windows also keeps its temperature, and with it the amount of water in the air, which matters even "
        "more for leather and parchment. The third reason is older than both of these. Before there was electric "
        "light, a fire was the greatest danger to any collection, and a room inside the building could be closed with "
        "an iron door. So each of your guides was right about one part of the story, and none told you the whole of it.",
    },
]
"""A conversation that the filters of the demo keep."""


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
    (directory / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    pq.write_table(pa.table({"messages": [TALK]}), directory / "chats.parquet")
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
        if words[0] != "export":
            continue
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
