"""`thresher export`, `export-wacz`: from the kept documents to shards, and from an archive to WACZ files.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from thresher.core import InputError
from thresher.core.settings import parse_size
from thresher.pipeline.commands.options import (
    CURRENT_DIRECTORY,
    CoresOption,
    JsonOption,
    Names,
    OutOption,
    ProjectOption,
    SourceName,
    VerdictsOption,
    check_name,
    require_sources,
)
from thresher.pipeline.terminal.output import print_result


class ShardFormat(StrEnum):
    """The names of `shards.formats.registry`, which this module cannot import: `--help` must appear at once."""

    TOKENS = "tokens"
    PARQUET = "parquet"
    JSONL = "jsonl"
    WEBDATASET = "webdataset"
    MDS = "mds"
    MEGATRON = "megatron"
    HF = "hf"


def export(
    out: OutOption,
    names: Names = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            help="Tokenize with this Hugging Face tokenizer.json (docs/guides/tokenizer.md), or with `bytes`: each "
            "byte is a token. Without it, shards have texts and no token ids.",
            metavar="FILE",
        ),
    ] = None,
    formats: Annotated[
        list[ShardFormat] | None,
        typer.Option(
            "--format",
            help="Write shards of this format; may be given again. The default is parquet.",
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            metavar="NAME,...",
            help="Add these columns to the rows: columns of the table of documents, measurements, columns of the "
            "inputs, cluster_size (docs/guides/exports.md).",
        ),
    ] = "",
    shard_size: Annotated[
        str | None,
        typer.Option(
            "--shard-size",
            help="Give a shard this size before compression, such as 500MB or 1GiB. The default is 1GB, and 64MiB for "
            "mds.",
        ),
    ] = None,
    eos: Annotated[
        str | None,
        typer.Option(
            "--eos",
            help="End each document with this token: a token, its id, or none. The default is the tokenizer's own end "
            "token, if its files name one.",
        ),
    ] = None,
    bos: Annotated[
        str | None,
        typer.Option(
            "--bos", help="Begin each document with this token: a token, its id, or none (the default)."
        ),
    ] = None,
    special_tokens: Annotated[
        Literal["text", "ids"] | None,
        typer.Option(
            "--special-tokens",
            help="What `<|endoftext|>` and the like become where a page has them: text like any other (the default), "
            "or their ids.",
        ),
    ] = None,
    id_type: Annotated[
        Literal["int32", "int64"] | None,
        typer.Option(
            "--id-type",
            help="Store token ids with this type, in rows of every format. The default takes least: 16 bits for small "
            "vocabularies where a format has them, and 32 otherwise.",
        ),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text/--no-text", help="Store the text of each document beside its tokens.")
    ] = True,
    pack: Annotated[
        int | None,
        typer.Option("--pack", help="Pack documents into sequences of this many tokens, at most 4,194,304."),
    ] = None,
    packing: Annotated[
        Literal["best-fit", "concat", "none"] | None,
        typer.Option(
            "--packing",
            help="How to pack: best-fit cuts only documents that are longer than a sequence, concat cuts every LENGTH "
            "tokens, none has one document a sequence. The default is best-fit.",
        ),
    ] = None,
    messages: Annotated[
        str | None,
        typer.Option(
            "--messages",
            metavar="COLUMN",
            help="Make the tokens of the conversations in this column of the input, such as messages, and labels that "
            "say which of them bear loss (docs/guides/exports.md).",
        ),
    ] = None,
    chat_template: Annotated[
        str | None,
        typer.Option(
            "--chat-template",
            metavar="FILE|NAME",
            help="Render conversations with this Jinja template: a file, or a name that the tokenizer has for one of "
            "its own. The default is the tokenizer's own template.",
        ),
    ] = None,
    mix: Annotated[
        Path | None,
        typer.Option(
            "--mix",
            help="Take documents from sources in the proportions of this TOML file (docs/guides/exports.md).",
        ),
    ] = None,
    verdicts: VerdictsOption = "",
    held_out: Annotated[
        str | None,
        typer.Option(
            "--held-out",
            help="Hold out this share of the documents for evaluation, such as 1%; always the same ones.",
            metavar="SHARE",
        ),
    ] = None,
    held_out_by: Annotated[
        Literal["domain", "url"] | None,
        typer.Option("--held-out-by", help="Hold out whole domains (the default), or single URLs."),
    ] = None,
    split: Annotated[
        Literal["train", "held-out"] | None,
        typer.Option("--split", help="Export what is not held out (the default), or what is."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw the shares of the mix into this file (.png, .svg or .pdf)."),
    ] = None,
    workers: CoresOption = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write the kept documents as shards of tokens, or of texts.

    \b
    Example:
      thresher export --out out --tokenizer tokenizer.json docs cc
      thresher export --out texts --format jsonl
      thresher export --out out --tokenizer tokenizer.json --format tokens --format hf
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.reports.mix_plot import check_plot, draw_mix
    from thresher.pipeline.steps.export_directory import output_store
    from thresher.pipeline.steps.options.export_options import check_texts, chosen_options
    from thresher.pipeline.terminal.progress import stderr_progress
    from thresher.shards.tokenizer import chosen_tokenizer

    options = chosen_options(
        formats=formats or [ShardFormat.PARQUET],
        shard_size=shard_size,
        eos=eos,
        bos=bos,
        special_tokens=special_tokens,
        id_type=id_type,
        text=text,
        pack=pack,
        packing=packing,
        mix=mix,
        verdicts=verdicts,
        held_out=held_out,
        held_out_by=held_out_by,
        split=split,
        columns=columns,
        messages=messages,
        chat_template=chat_template,
        tokenizer=tokenizer,
    )
    if tokenizer is None:
        check_texts(options)
    output_store(out)  # an address that is none must be refused before the tokenizer is read
    if plot is not None:
        check_plot(plot, options.mix)
    opened = OpenProject.at(project)
    vocabulary = chosen_tokenizer(tokenizer)
    with opened.worker_pool(workers) as pool:
        dataset, _ = recipe.export_dataset(
            opened, require_sources(opened, names), out, vocabulary, pool, stderr_progress(), options
        )
    if plot is not None:
        draw_mix(dataset, plot)
    print_result(as_json, results.dataset_body(out, dataset), results.dataset_line(out, dataset))


def export_wacz_command(
    name: SourceName,
    out: Annotated[Path, typer.Option("--out", help="Write this WACZ file; an existing file is replaced.")],
    title: Annotated[
        str,
        typer.Option("--title", help="Store this title in the file. The default is the name of the crawl."),
    ] = "",
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign",
            help="Sign the file with the private key in this PEM file, on the curve P-384.",
            metavar="KEY",
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            "--split",
            help="Write several WACZ files of at most this size, such as 4GB, and a list of them, which players open. "
            "OUT is the list then, and its name ends with .json.",
            metavar="SIZE",
        ),
    ] = "",
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Write the archive of a crawl as one WACZ file.

    ReplayWeb.page opens it. WARC files in Zstandard are recompressed with gzip, because readers of WACZ expect gzip.
    Pages have their text, which players search, if `thresher process` has extracted it.

    \b
    Example:
      thresher export-wacz docs --out docs.wacz
      thresher export-wacz docs --out docs.wacz --sign key.pem
      thresher export-wacz docs --out docs.json --split 4GB
    """
    max_bytes = _split_size(split, out) if split else None
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress
    from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz

    options = WaczOptions(key=sign, max_bytes=max_bytes)
    store = OpenProject.at(project).store
    result = export_wacz(store, check_name(name), out, title, stderr_progress(), options)
    anew = f" ({result.recompressed} recompressed with gzip)" if result.recompressed else ""
    files = f" and {len(result.files)} WACZ files" if max_bytes else ""
    others = f", {result.originals:,} records of other crawls" if result.originals else ""
    missing = (
        f"; {result.missing_originals:,} records of other crawls are missing, so parts of pages stay empty: `thresher "
        "verify` names them"
        if result.missing_originals
        else ""
    )
    line = (
        f"wrote {out}{files}: {result.pages:,} pages, {result.texts:,} of them with text, in {result.archives} WARC "
        f"files{anew}{others}, {result.bytes:,} bytes{missing}"
    )
    print_result(as_json, {"file": str(out), **asdict(result)}, line)


def _split_size(text: str, out: Path) -> int:
    """Return the bytes of --split. Raise `InputError` if they are no size, or if `out` cannot name a list."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise InputError(f"--split: {error}") from None
    if size < 1:
        raise InputError("--split: give more than 0 bytes, such as 4GB")
    if out.suffix != ".json":
        raise InputError(
            f"--split writes a list of files, named .json: give --out {out.with_suffix('.json')}"
        )
    return size
