"""`thresher process`, `judge`, `dedup`, `export`, `export-wacz`: from the archive to shards and WACZ files.

A command parses its options, calls one function, and prints the result. It imports modules when it runs, because
`--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from thresher.core import InputError
from thresher.core.settings import parse_size
from thresher.pipeline.commands.about.completion import complete_judge_settings, complete_verdict_sets
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
from thresher.pipeline.terminal.output import console, echo, print_result

AUDITED_DOCUMENTS = 10_000
"""Size of the sample of an audit. They take 10 s of CPU, and 150 MB."""


class ShardFormat(StrEnum):
    """The names of `shards.formats.registry`, which this module cannot import: `--help` must appear at once."""

    TOKENS = "tokens"
    PARQUET = "parquet"
    JSONL = "jsonl"
    WEBDATASET = "webdataset"
    MDS = "mds"
    MEGATRON = "megatron"
    HF = "hf"


def process(
    names: Names = None,
    workers: CoresOption = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Delete earlier results, and make them again.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Process files while a running crawl seals them, until the crawl is drained."
        ),
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try quarantined parts again.")] = False,
    screen: Annotated[
        bool | None,
        typer.Option(
            "--screen/--no-screen",
            help="Leave out documents that the newest index of `thresher dedup` has, before they are filtered. The "
            "default is dedup.screen of thresher.toml.",
            show_default=False,
        ),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Extract the text of new archived records, and filter it.

    \b
    Example:
      thresher process docs
      thresher process docs --follow
      thresher process cc --screen
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.engine.quarantine import remove_marks
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.process import NAME, delete_results, step
    from thresher.pipeline.steps.records.rule_probe import require_confinable
    from thresher.pipeline.steps.records.signal_files import stored_filters
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    # A crawl may be followed before it has sealed a file.
    chosen = tuple(map(check_name, names)) if follow and names else require_sources(opened, names)
    # An invalid filter configuration must raise before results are deleted.
    step(stored_filters(opened.store, opened.directory, opened.config.filters))
    require_confinable(opened.config.filters.rules)
    if redo:
        for name in chosen:
            delete_results(opened.store, name)
    for name in chosen if retry else ():
        remove_marks(opened.store, NAME, name)
    with opened.worker_pool(workers) as pool:
        if follow:
            from thresher.pipeline.steps.follow import follow as follow_sources

            ran = follow_sources(opened, chosen, pool, stderr_progress(), screen=screen)
        else:
            ran = recipe.process_sources(opened, chosen, pool, stderr_progress(), screen=screen)
    print_result(as_json, asdict(ran), results.step_line(ran))
    for part in ran.quarantined:
        echo(f"thresher: part {part.part} is in quarantine: {part.reason}", err=True)
    if ran.quarantined:
        raise typer.Exit(1)


def judge_command(
    name: Annotated[
        str,
        typer.Option(
            "--name", help="Give the set of verdicts this name.", autocompletion=complete_verdict_sets
        ),
    ],
    names: Names = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            autocompletion=complete_judge_settings,
            help="Use this value instead of that of thresher.toml: preset=gopher, languages=en,de, or a threshold such "
            "as gopher_quality.fewest_words=30; may be given again.",
        ),
    ] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Delete the set for these sources, and make it again.")
    ] = False,
    workers: CoresOption = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Judge documents again, with other thresholds.

    It reads the measurements that `process` stored, and no text.

    The verdicts get a name, and stand beside those of `process`. `dedup`, `export` and `report` use them with
    --verdicts NAME.

    \b
    Example:
      thresher judge docs --name short --set gopher_quality.fewest_words=30
      thresher report docs --verdicts short
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.commands import results
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.steps.records.rule_set import rule_set, rules_of, with_settings
    from thresher.pipeline.steps.records.signal_files import stored_filters
    from thresher.pipeline.steps.verdicts.verdict_sets import check_set_name, delete_set
    from thresher.pipeline.terminal.progress import stderr_progress

    opened = OpenProject.at(project)
    filters = with_settings(opened.config.filters, settings or ())
    chosen = rule_set(stored_filters(opened.store, opened.directory, filters))
    rules_of(chosen)  # an unknown threshold must raise before a set is deleted
    sources = require_sources(opened, names)
    check_set_name(name)
    for source in sources if redo else ():
        delete_set(opened.store, source, name)
    with opened.worker_pool(workers) as pool:
        ran = recipe.judge_sources(opened, sources, name, chosen, pool, stderr_progress())
    print_result(as_json, asdict(ran), results.step_line(ran))


def dedup_command(
    names: Names = None,
    verdicts: VerdictsOption = "",
    workers: CoresOption = None,
    is_audited: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Check the result on a sample of the documents with datasketch and the exact Jaccard similarity. This "
            "reads every document once.",
        ),
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option("--sample", help="Audit N documents. The default is 10000.", metavar="N", min=1),
    ] = None,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Find exact and near duplicates across sources. Only documents that are new since the last run cost time.

    Cut repeated passages, lines and paragraphs out of the documents that stay, if [dedup] in thresher.toml asks for it.

    \b
    Example:
      thresher dedup docs cc
      thresher dedup --audit --sample 2000
    """
    from thresher.pipeline import recipe
    from thresher.pipeline.duplicates import cut_summary
    from thresher.pipeline.funnel import REMOVAL_KINDS
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.terminal.progress import stderr_progress

    if sample is not None and not is_audited:
        raise InputError("--sample is the size of an audit; add --audit")
    opened = OpenProject.at(project)
    sources = require_sources(opened, names)
    if is_audited:
        from thresher.pipeline.duplicates.stored_minhashes import require_datasketch

        require_datasketch()
    with opened.worker_pool(workers) as pool:
        manifest = recipe.find_duplicates(opened, sources, pool, stderr_progress(), verdicts)
    removed = {kind: manifest.counts.get(f"{kind}.documents", 0) for kind in REMOVAL_KINDS}
    line = ", ".join(f"{count:,} {kind}" for kind, count in removed.items())
    body: dict[str, Any] = {"table": manifest.outputs[0].name, "removed": removed}
    cut = cut_summary.find(opened.store, sources, opened.config.dedup, manifest, verdicts)
    if cut is not None:
        line = f"{line}\n{cut.line}"
        body["cut"] = cut.to_dict()
    if not is_audited:
        print_result(as_json, body, f"duplicates: {line}")
        return
    from thresher.pipeline.duplicates.dedup_audit import audit
    from thresher.pipeline.duplicates.duplicate_output import render_audit

    found = audit(
        opened.store,
        sources,
        manifest,
        opened.config.dedup,
        sample=sample or AUDITED_DOCUMENTS,
        verdict_set=verdicts,
    )
    print_result(as_json, {**body, "audit": found.to_dict()}, f"duplicates: {line}")
    if not as_json:
        render_audit(found, console())


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
    from thresher.pipeline.steps.export_plan import check_texts, chosen_options
    from thresher.pipeline.terminal.progress import stderr_progress
    from thresher.shards.tokenizer import chosen_tokenizer

    options = chosen_options(
        formats=formats or [ShardFormat.PARQUET],
        shard_size=shard_size,
        eos=eos,
        text=text,
        pack=pack,
        packing=packing,
        mix=mix,
        verdicts=verdicts,
        held_out=held_out,
        held_out_by=held_out_by,
        split=split,
        columns=columns,
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
    line = (
        f"wrote {out}{files}: {result.pages:,} pages, {result.texts:,} of them with text, in {result.archives} WARC "
        f"files{anew}, {result.bytes:,} bytes"
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
