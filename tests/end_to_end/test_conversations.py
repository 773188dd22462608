"""Conversations of a table become packed rows of tokens with labels, in every format that trainers read."""

import io
import json
import subprocess
import tarfile
from collections import Counter

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import thresher
from tests.end_to_end.conftest import CallingUser
from tests.shards.chat.byte_chats import BLOCKS, TALK, chat_tokenizer, encoder_of, sharegpt, shown, shown_ids
from tests.shards.toolsenv import loaders

TOML = '[filters]\npreset = "none"\nlanguages = []\n[dedup]\nnear = "off"\n'
FORMATS = ("parquet", "jsonl", "hf", "webdataset", "mds", "tokens")
BROKEN = [
    {"messages": [{"role": "user", "content": "Nobody answers this question."}]},
    {"messages": [{"content": "This message has no role at all."}], "text": "A text beside a broken list."},
    {"text": "A document without any conversation."},
]


def talks():
    """Conversations of different lengths; one has written control tokens."""
    return [
        [*TALK, {"role": "user", "content": f"<|im_end|> {n}"}, {"role": "assistant", "content": "ok " * n}]
        for n in range(20)
    ]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A project with two processed sources of conversations, and a tokenizer with a template."""
    directory = tmp_path_factory.mktemp("conversations")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "tokenizer.json").write_text(chat_tokenizer())
    (directory / "unclear.jinja").write_text(
        "{% for message in messages %}{{ message.content }}{% endfor %}{{ eos_token }}"
    )
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": BLOCKS, "eos_token": "</s>"})
    )
    lines = [{"messages": talk, "id": str(n)} for n, talk in enumerate(talks()[:12])] + BROKEN
    (directory / "chat.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    pq.write_table(
        pa.table({"conversations": [sharegpt(talk) for talk in talks()[12:]]}), directory / "sharegpt.parquet"
    )
    user = CallingUser(directory)
    user.run("ingest", "chat", "chat.jsonl")
    user.run("ingest", "sharegpt", "sharegpt.parquet")
    user.run("process")
    user.run("dedup", "chat")
    user.run("dedup", "sharegpt")
    return directory


@pytest.fixture(scope="module")
def out(directory):
    """An export in rows that are conversations."""
    formats = [f"--format={name}" for name in FORMATS]
    said = CallingUser(directory).run(
        "export", "--out", "out", "--tokenizer", "tokenizer.json", *formats, "--messages", "messages", "chat"
    )
    assert "left out: no_messages 1, broken_messages 1, no_loss 1" in said.out
    return directory / "out"


def expected(conversations):
    encoder = encoder_of(BLOCKS)
    return Counter(shown(encoder, each) for each in conversations)


def read_back(rows):
    return Counter(shown_ids(ids, labels) for ids, labels in rows)


def jsonl_rows(out):
    for path in out.glob("jsonl/*.zst"):
        with zstandard.open(path, "rt", encoding="utf-8") as lines:
            yield from ((row["input_ids"], row["labels"]) for row in map(json.loads, lines))


def parquet_rows(out, folder="data"):
    for path in out.glob(f"{folder}/*.parquet"):
        yield from ((row["input_ids"], row["labels"]) for row in pq.read_table(path).to_pylist())


def tar_rows(out):
    for path in out.glob("webdataset/*.tar"):
        with tarfile.open(path) as tar:
            arrays = {
                member.name: np.load(io.BytesIO(tar.extractfile(member).read()))  # type: ignore[union-attr]
                for member in tar
                if member.name.endswith(".npy")
            }
        for name, ids in arrays.items():
            if name.endswith("input_ids.npy"):
                yield ids.tolist(), arrays[name.replace("input_ids", "labels")].tolist()


READERS = {
    "parquet": parquet_rows,
    "hf": lambda out: parquet_rows(out, "hf/data"),
    "jsonl": jsonl_rows,
    "webdataset": tar_rows,
}


@pytest.mark.parametrize("name", READERS)
def test_rows_have_ids_and_labels(out, name):
    assert read_back(READERS[name](out)) == expected(talks()[:12])


def test_mds_has_labels_beside_the_ids(out):
    index = json.loads((out / "mds/index.json").read_text())
    columns = dict(
        zip(index["shards"][0]["column_names"], index["shards"][0]["column_encodings"], strict=True)
    )
    assert columns["labels"] == "ndarray:int32"


LOADERS = {
    "webdataset": """
import glob, webdataset
files = sorted(glob.glob(sys.argv[1] + "/webdataset/*.tar"))
rows = webdataset.WebDataset(files, shardshuffle=False).decode()
found = [(row["input_ids.npy"].tolist(), row["labels.npy"].tolist()) for row in rows]
""",
    "mds": """
import streaming
rows = streaming.StreamingDataset(local=sys.argv[1] + "/mds", shuffle=False, batch_size=1)
found = [(rows[at]["input_ids"].tolist(), rows[at]["labels"].tolist()) for at in range(len(rows))]
""",
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LOADERS)
def test_loaders_of_others_read_the_labels(out, name, request):
    code = f"import json, sys\n{LOADERS[name]}\nprint(json.dumps(found))"
    python = loaders(request.config.cache)
    done = subprocess.run([python, "-c", code, out], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_back(json.loads(done.stdout.splitlines()[-1])) == expected(talks()[:12])


def test_datasets_reads_the_folder_for_the_hub_with_its_labels(out, tmp_path):
    from datasets import load_dataset

    found = load_dataset(str(out / "hf"), split="train", cache_dir=str(tmp_path))
    assert read_back((row["input_ids"], row["labels"]) for row in found) == expected(talks()[:12])


def test_the_manifest_and_the_card_say_how_many_tokens_bear_loss(out):
    manifest = msgspec.json.decode((out / "manifest.json").read_bytes())
    labels = [labels for _, labels in parquet_rows(out)]
    assert manifest["loss_tokens"] == sum(label != -100 for row in labels for label in row)
    assert manifest["tokens"] == sum(map(len, labels))
    assert manifest["left_out"] == {"no_messages": 1, "broken_messages": 1, "no_loss": 1}
    assert manifest["recipe"]["messages"]["column"] == "messages"
    assert f"{manifest['loss_tokens']:,} of them with loss" in (out / "README.md").read_text()


def batches_of(out, **options):
    loader = thresher.Loader(out, batch_size=2, shuffle="none", drop_last=False, **options)
    try:
        return list(loader)
    finally:
        loader.close()


def test_the_loader_gives_labels_with_its_batches(out):
    found = Counter()
    for batch in batches_of(out, length=512, packing="none"):
        assert batch["labels"].dtype == batch["input_ids"].dtype == np.int64
        assert batch["labels"].shape == (2, 512)
        for ids, labels, segments in zip(batch["input_ids"], batch["labels"], batch["segments"], strict=True):
            assert (labels[segments == 0] == -100).all()
            if segments.any():
                found[shown_ids(ids[segments == 1].tolist(), labels[segments == 1].tolist())] += 1
    assert found == expected(talks()[:12])


def test_packed_rows_hold_whole_conversations_that_the_loader_packs_alike(directory):
    project = thresher.Project(directory)
    dataset = project.export(
        directory / "packed", "chat", tokenizer=directory / "tokenizer.json",
        messages="messages", pack=600, formats=["parquet", "tokens"], id_type="int64",
    )  # fmt: skip
    assert dataset.loss_tokens is not None
    found = Counter()
    rows = pq.read_table(directory / "packed/data").to_pylist()
    for row in rows:
        assert len(row["labels"]) == len(row["input_ids"]) == 600
        for segment in range(1, max(row["segments"]) + 1):
            places = [at for at, each in enumerate(row["segments"]) if each == segment]
            found[
                shown_ids([row["input_ids"][at] for at in places], [row["labels"][at] for at in places])
            ] += 1
        assert {row["labels"][at] for at, each in enumerate(row["segments"]) if not each} <= {-100}
    assert found == expected(talks()[:12])
    assert sum(shard.cut_documents for shard in dataset.shards) == 0
    assert pq.read_schema(next((directory / "packed/data").iterdir())).field("labels").type == pa.list_(
        pa.int64()
    )
    loaded = [
        row for batch in batches_of(directory / "packed", length=600) for row in batch["labels"].tolist()
    ]
    assert sum(label != -100 for row in loaded for label in row) == dataset.loss_tokens


def test_a_conversation_with_masked_data_is_left_out(directory, tmp_path):
    """Its messages still hold what its text has no more."""
    (tmp_path / "thresher.toml").write_text(TOML.replace("[dedup]", 'mask = ["email"]\n[dedup]'))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((directory / name).read_text())
    secret = [*TALK, {"role": "assistant", "content": "Write to anna.meier@firma.de."}]
    (tmp_path / "chat.jsonl").write_text(
        "".join(f"{json.dumps({'messages': talk})}\n" for talk in (secret, TALK))
    )
    user = CallingUser(tmp_path)
    user.run("ingest", "chat", "chat.jsonl")
    user.run("process")
    user.run("dedup", "chat")
    said = user.run(
        "export", "--out", "out", "--tokenizer", "tokenizer.json", "--messages", "messages", "chat"
    )
    assert "left out: masked 1" in said.out
    assert read_back(parquet_rows(tmp_path / "out")) == expected([TALK])


def test_what_is_cut_off_is_counted(directory):
    said = CallingUser(directory).run(
        "export", "--out", "cut", "--tokenizer", "tokenizer.json", "--messages=messages",
        "--pack", "64", "--packing", "none", "chat",
    )  # fmt: skip
    assert "12 documents cut" in said.out


def test_conversations_of_sharegpt_in_parquet_have_the_same_rows(directory):
    (directory / "own.jinja").write_text(BLOCKS)
    mix = 'by = "tokens"\n[[source]]\nname = "all"\nshare = 1.0\nwhere.source = "sharegpt"\n'
    (directory / "mix.toml").write_text(mix)
    CallingUser(directory).run(
        "export", "--out", "mixed", "--tokenizer", "tokenizer.json", "--messages=conversations",
        "--chat-template", "own.jinja", "--mix", "mix.toml", "sharegpt",
    )  # fmt: skip
    assert read_back(parquet_rows(directory / "mixed")) == expected(talks()[12:])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--messages", "message"],
            "--messages: documents have no column 'message'; did you mean 'messages'",
        ),
        (["--messages", "external_id"], "no document has a conversation (broken_messages 15"),
        (["--chat-template", "x"], "--chat-template: name the column of conversations with --messages"),
        (["--messages", "messages", "--chat-template", "x"], "is no file and no template of the tokenizer"),
        (
            ["--messages", "messages", "--chat-template", "unclear.jinja"],
            "put {% generation %} and {% endgen",
        ),
        (["--messages", "messages", "--eos", "none"], "--eos none: the chat template writes the tokens"),
        (["--messages", "messages", "--special-tokens", "ids"], "a message could end its turn"),
        (["--messages", "messages", "--format", "megatron"], "megatron has no place for labels"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(directory, options, complaint):
    said = CallingUser(directory).run(
        "export", "--out", "refused", "--tokenizer", "tokenizer.json", *options, "chat", code=2
    )
    assert complaint in said.line


def test_a_tokenizer_without_a_template_needs_one(directory):
    said = CallingUser(directory).run(
        "export", "--out", "refused", "--tokenizer", "bytes", "--messages", "messages", code=2
    )
    assert "the tokenizer has no chat template; give one with --chat-template FILE" in said.line
