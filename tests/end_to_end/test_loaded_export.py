"""What an export writes, a loader reads, and each token leads back to the bytes of the archive."""

import gzip

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.shards.loader.made_export import rows_of, segments_of
from thresher.shards.loader.exact_loader import Loader


def byte_tokenizer(path):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path))
    return tokenizer


@pytest.fixture
def user(calling_user):
    return calling_user


@pytest.fixture
def export(user):
    """An export of two sources, its texts, and its tokenizer."""
    toml = (
        (user.directory / "thresher.toml")
        .read_text()
        .replace('"gopher"', '"none"')
        .replace('"en", "de", "fr", "es"', "")
    )
    (user.directory / "thresher.toml").write_text(toml)
    rng = np.random.default_rng(0)
    texts = {}
    for source in ("books", "web"):
        directory = user.directory / source
        directory.mkdir()
        for number in range(30):
            letters = rng.choice(list("abcdefghäꙮ"), (int(rng.integers(10, 90)), 7))  # no near duplicates
            text = f"Text {number} of {source}: {' '.join(''.join(word) for word in letters)}."
            (directory / f"{source}-{number}.txt").write_text(text)
            texts[text] = source
        user.run("ingest", source, directory)
    user.run("process")
    user.run("dedup")
    tokenizer = byte_tokenizer(user.directory / "tokenizer.json")
    user.run("export", "--out", "out", "--tokenizer", "tokenizer.json", "--format", "tokens", "--pack", 1024)
    return user.directory / "out", texts, tokenizer


def test_every_document_comes_to_training_and_leads_back(export, user, tmp_path):
    out, texts, tokenizer = export
    loader = Loader(out, length=1024, batch_size=1, cache=tmp_path, mix={"books": 0.5, "web": 0.5})
    seen = {}
    for batch in loader:
        (row,) = rows_of(batch)
        position = 0
        for piece in segments_of(row):
            found = loader.trace(loader.state_dict(), row=0, position=position)
            position += len(piece)
            text = tokenizer.decode(list(piece))
            seen[text] = found.source
            assert found.token == 0
            with (user.directory / "data" / found.record.file).open("rb") as archive:
                archive.seek(found.record.offset)
                assert text.encode() in gzip.decompress(archive.read(found.record.length))
    assert len(seen) > 50
    assert seen.items() <= texts.items()
    whole = Loader(out, length=1024, batch_size=1, cache=tmp_path)
    read = {
        tokenizer.decode(list(piece))
        for batch in whole
        for row in rows_of(batch)
        for piece in segments_of(row)
    }
    assert read == set(texts)
    assert list(tmp_path.glob("plans/*")) == []  # the export has them
