"""Train a tokenizer on the documents that a project keeps: `python examples/train_tokenizer.py my-crawl/data
tokenizer.json`.

It needs no network, and of Thresher only the Parquet files that `thresher process` wrote. The tokenizer is byte-level
BPE: it knows every character, so no text is lost. Memory grows with the number of different words, not with the text.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def texts(storage: Path) -> Iterator[str]:
    """Yield the text of every document that the filters keep, as they edited it."""
    for documents in sorted(storage.glob("documents/*/*.parquet")):
        verdicts = storage / "verdicts" / documents.relative_to(storage / "documents")
        kept = pq.read_table(verdicts, columns=["id", "edits"], filters=[("keep", "=", True)])
        edits = {row["id"]: row["edits"] for row in kept.to_pylist()}
        if edits:
            table = pq.read_table(documents, columns=["id", "text"], filters=[("id", "in", list(edits))])
            yield from (edited(row["text"], edits[row["id"]]) for row in table.to_pylist())


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """Return an edited text: an edit names a range of characters and its replacement."""
    starts = [0, *(edit["end"] for edit in edits)]
    ends = [*(edit["start"] for edit in edits), len(text)]
    new = [*(edit["replacement"] for edit in edits), ""]
    return "".join(text[start:end] + put for start, end, put in zip(starts, ends, new, strict=True))


def train(texts: Iterator[str], vocabulary: int) -> Tokenizer:
    """Return a tokenizer of at most `vocabulary` tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def main() -> None:
    """Train, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("storage", type=Path, help="the project's storage, a directory")
    parser.add_argument("tokenizer", type=Path, help="file to write")
    parser.add_argument(
        "--vocabulary", type=int, default=32_768, help="tokens at most (default: %(default)s)"
    )
    args = parser.parse_args()
    if not any(args.storage.glob("documents/*/*.parquet")):
        parser.error(f"{args.storage}: no documents in it; run `thresher process` first")
    tokenizer = train(texts(args.storage), args.vocabulary)
    tokenizer.save(str(args.tokenizer))
    print(f"wrote {args.tokenizer}: {tokenizer.get_vocab_size():,} tokens")


if __name__ == "__main__":
    main()
