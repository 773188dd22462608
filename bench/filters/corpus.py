"""Write the texts of real documents to a JSON lines file, for benches of rules.

usage: python bench/filters/corpus.py OUT [--language en] [--most 1000] INPUT...

An INPUT is a JSON lines file with `text` (`.jsonl` or `.jsonl.zst`), an archive of text files or of HTML pages
(`.tar.zst`), a directory of HTML pages, or a table of a language and a sentence a line (`.tsv.zst`), of which
`SENTENCES` of --language make a text. At most `--most` documents are taken of each, at even distances. Texts of
books are cut into pieces of about 5,000 characters at blank lines. HTML pages give their main text. Only texts that are
recognised as the language stay; equal texts stay once. Prints the counts by input.
"""

import argparse
import json
import sys
import tarfile
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from thresher.extract import Skip
from thresher.extract.charset import decode
from thresher.extract.html import extract
from thresher.filters.models.language import LID176_THRESHOLD, load_language_model

PIECE = 5000
SENTENCES = 20
Body = tuple[str, bytes | str | Path]


def main() -> None:
    """Write the file, and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("inputs", type=Path, nargs="+")
    parser.add_argument("--language", default="en")
    parser.add_argument("--most", type=int, default=1000)
    args = parser.parse_args()
    recognise = load_language_model("lid.176")
    seen = set[str]()
    with args.out.open("w", encoding="utf-8") as out, Pool(2) as pool:
        for source in args.inputs:
            bodies = list(sentences(source, args.language) if ".tsv" in source.name else documents(source))
            step = max(len(bodies) / args.most, 1)
            chosen = [bodies[int(number * step)] for number in range(min(args.most, len(bodies)))]
            count = 0
            for (url, _), text in zip(chosen, pool.imap(text_of, chosen, chunksize=16), strict=True):
                if not text.strip() or text in seen:
                    continue
                seen.add(text)
                found = recognise(text)
                if found.code == args.language and found.score > LID176_THRESHOLD:
                    count += 1
                    row = {"source": source.name, "url": url, "text": text, "language": args.language}
                    out.write(json.dumps(row, ensure_ascii=True) + "\n")
            print(source.name, len(bodies), len(chosen), count, flush=True)


def documents(source: Path) -> Iterator[Body]:
    """Yield a URL and the content of each document: HTML as bytes or a file, or text."""
    if source.is_dir():
        for path in sorted(path for path in source.rglob("*.html") if path.is_file()):
            yield f"https://{source.name}.example.org/{path.relative_to(source)}", path
        return
    if source.name.endswith(".tar.zst"):
        for name, body in members(source):
            if name.endswith(".txt"):
                for number, piece in enumerate(pieces(body.decode("utf-8", "replace"))):
                    yield f"https://books.example.org/{name}/{number}", piece
            else:
                yield f"https://pages.example.org/{name}", body
        return
    data = source.read_bytes()
    if source.suffix == ".zst":
        data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data).read()
    for number, line in enumerate(data.decode().split("\n")):
        if line:
            row = json.loads(line)
            yield row.get("url") or f"https://texts.example.org/{number}", row["text"]


def sentences(source: Path, language: str) -> Iterator[Body]:
    """Yield texts of the sentences of a language, a sentence a line."""
    data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(source.read_bytes()).read()
    rows = (line.split("\t", 1) for line in data.decode().split("\n") if line)
    found = [text for code, text in rows if code == language]
    for start in range(0, len(found), SENTENCES):
        yield f"https://sentences.example.org/{start}", "\n".join(found[start : start + SENTENCES])


def members(source: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of the files of an archive."""
    with source.open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                opened = tar.extractfile(member) if member.isfile() else None
                if opened is not None:
                    yield member.name, opened.read()


def pieces(text: str) -> Iterator[str]:
    """Yield pieces of a book, cut at blank lines."""
    piece, size = list[str](), 0
    for paragraph in text.replace("\r\n", "\n").split("\n\n"):
        piece.append(paragraph)
        size += len(paragraph)
        if size >= PIECE:
            yield "\n\n".join(piece)
            piece, size = [], 0


def text_of(body: Body) -> str:
    """Return the main text of a page, or the text as it is."""
    url, content = body
    if isinstance(content, str):
        return content
    payload = content.read_bytes() if isinstance(content, Path) else content
    found = extract(decode(payload, None).text, url)
    return "" if isinstance(found, Skip) else found.text


if __name__ == "__main__":
    main()
