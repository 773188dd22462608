"""`thresher train quality`, `lid`, `perplexity`, `pieces`: models from a user's own texts.

A command imports modules when it runs, because `--help` and errors must appear at once.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra
from thresher.pipeline.commands.options import CURRENT_DIRECTORY, JsonOption, ProjectOption
from thresher.pipeline.terminal.output import print_result

if TYPE_CHECKING:
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.training.model_training import TrainedModel
    from thresher.pipeline.training.text_sources import Example

SOURCE_HELP = (
    "a .jsonl file with `text` (also .txt; .gz, .bz2, .zst), or docs:NAME, kept:NAME, dropped:NAME for processed "
    "documents, kept:NAME/SET for those of a set of verdicts; may be given again."
)
app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

ModelOption = Annotated[Path, typer.Option("--out", help="Write the model to this file.")]
ShareOption = Annotated[
    float,
    typer.Option(
        "--held-out", min=0.0, max=0.9, help="Hold back this share of the texts, and measure on it."
    ),
]
MaxTextsOption = Annotated[
    int, typer.Option("--max-texts", min=1, help="Use at most N texts of each label, or of the corpus.")
]
EpochsOption = Annotated[int, typer.Option("--epochs", min=1, max=10_000, help="Read the texts N times.")]
RateOption = Annotated[
    float, typer.Option("--learning-rate", min=0.0, max=100.0, help="Start with this learning rate.")
]
DimensionsOption = Annotated[
    int, typer.Option("--dimensions", min=1, max=10_000, help="Use vectors of N numbers.")
]
BucketsOption = Annotated[
    int,
    typer.Option(
        "--buckets",
        min=1,
        max=1_000_000_000,
        help="Hash n-grams into N slots; a slot takes 4 bytes a dimension.",
    ),
]


@app.command(name="quality")
def quality_command(
    good: Annotated[list[str], typer.Option("--good", help=f"Good texts: {SOURCE_HELP}")],
    bad: Annotated[list[str], typer.Option("--bad", help=f"Bad texts: {SOURCE_HELP}")],
    out: ModelOption,
    held_out: ShareOption = 0.1,
    max_texts: MaxTextsOption = 200_000,
    epochs: EpochsOption = 5,
    learning_rate: RateOption = 0.1,
    dimensions: DimensionsOption = 100,
    word_ngrams: Annotated[
        int, typer.Option("--word-ngrams", min=1, max=5, help="Use runs of up to N words.")
    ] = 2,
    buckets: BucketsOption = 200_000,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Train a fastText classifier of good and bad texts, for `filters.quality_model`.

    \b
    Example:
      thresher train quality --good reference.jsonl --bad docs:crawl --out quality.bin
      thresher train quality --good kept:crawl/strict --bad dropped:crawl/strict --out quality.bin
    """
    from thresher.filters.training.classifier_training import TrainingOptions
    from thresher.pipeline.training.model_training import train_quality

    options = TrainingOptions(
        epochs=epochs,
        learning_rate=learning_rate,
        dimensions=dimensions,
        word_ngrams=word_ngrams,
        buckets=buckets,
    )
    _check_out(out)
    opened = _opened(project, (*good, *bad))
    sides = [_texts(each, opened, max_texts) for each in (good, bad)]
    made = train_quality(sides[0], sides[1], out, held_out, options)
    found = made.measures
    is_mixed = 0 < found["good"] < found["texts"]
    auc = f"AUC {found['auc']:.3f}" if is_mixed else "no AUC, because all are of one kind"
    line = (
        f"{found['good']:,} good; {auc}; at {found['threshold']:.2f}: precision {found['precision']:.3f}, recall"
        f" {found['recall']:.3f}"
    )
    _print(as_json, made, line)


@app.command(name="lid")
def lid_command(
    texts: Annotated[
        list[str],
        typer.Option(
            "--texts",
            help="Texts of a language, as CODE=FILE; or a .jsonl file with `text` and `language`; "
            "may be given again.",
        ),
    ],
    out: ModelOption,
    held_out: ShareOption = 0.1,
    max_texts: MaxTextsOption = 200_000,
    epochs: EpochsOption = 5,
    learning_rate: RateOption = 0.5,
    dimensions: DimensionsOption = 32,
    buckets: BucketsOption = 200_000,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Train a fastText classifier of languages, by n-grams of 2 to 4 characters.

    \b
    Example:
      thresher train lid --texts de=german.txt --texts nl=dutch.txt --out lid.bin
    """
    from thresher.filters.training.classifier_training import TrainingOptions
    from thresher.pipeline.training.model_training import train_language

    options = TrainingOptions(
        epochs=epochs,
        learning_rate=learning_rate,
        dimensions=dimensions,
        word_ngrams=1,
        characters=(2, 4),
        buckets=buckets,
    )
    _check_out(out)
    made = train_language(_labelled(texts, project, max_texts), out, held_out, options)
    found = made.measures
    weak = sorted(found["labels"].items(), key=lambda item: (item[1]["recall"], item[0]))[:5]
    lowest = ", ".join(f"{name} {row['recall']:.2f}" for name, row in weak)
    line = f"accuracy {found['accuracy']:.3f}, macro F1 {found['macro_f1']:.3f}; lowest recall: {lowest}"
    _print(as_json, made, line)


@app.command(name="perplexity")
def perplexity_command(
    corpus: Annotated[list[str], typer.Option("--corpus", help=f"Texts: {SOURCE_HELP}")],
    out: ModelOption,
    order: Annotated[int, typer.Option("--order", min=2, max=6, help="Use n-grams of up to N words.")] = 5,
    pieces: Annotated[
        Path | None,
        typer.Option(
            "--pieces", help="Use the pieces of this SentencePiece model instead of words, as CCNet."
        ),
    ] = None,
    held_out: ShareOption = 0.02,
    max_texts: MaxTextsOption = 200_000,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Train an n-gram model with Kneser-Ney smoothing, for `filters.perplexity_model`.

    The model is an ARPA file. KenLM's build_binary makes it smaller, if you have it.

    \b
    Example:
      thresher train perplexity --corpus wikipedia.jsonl.zst --out en.arpa
    """
    from thresher.pipeline.training.model_training import train_language_model

    _require("kenlm")
    _check_out(out)
    model = None if pieces is None else _piece_model(pieces)
    texts = _texts(corpus, _opened(project, corpus), max_texts)
    made = train_language_model(texts, out, held_out, order, model)
    found = made.measures
    line = (
        f"median perplexity {found['median']:.1f}; thirds end at {found['head_ends']:.1f} and"
        f" {found['middle_ends']:.1f}"
        if "median" in found
        else "none of them has words"
    )
    _print(as_json, made, line)


@app.command(name="pieces")
def pieces_command(
    corpus: Annotated[list[str], typer.Option("--corpus", help=f"Texts: {SOURCE_HELP}")],
    out: ModelOption,
    size: Annotated[
        int, typer.Option("--size", min=1, max=10_000_000, help="Make at most N pieces.")
    ] = 65_536,
    held_out: ShareOption = 0.02,
    max_texts: MaxTextsOption = 200_000,
    project: ProjectOption = CURRENT_DIRECTORY,
    as_json: JsonOption = False,
) -> None:
    """Train a SentencePiece model as CCNet does, for `filters.perplexity_pieces`.

    \b
    Example:
      thresher train pieces --corpus wikipedia.jsonl.zst --out en.sp.model
      thresher train perplexity --corpus wikipedia.jsonl.zst --pieces en.sp.model --out en.arpa
    """
    _require("sentencepiece")
    from thresher.pipeline.training.model_training import train_piece_model

    _check_out(out)
    made = train_piece_model(_texts(corpus, _opened(project, corpus), max_texts), out, held_out, size)
    _print(as_json, made, f"{made.measures.get('characters_per_piece', 0):.2f} characters a piece")


def _piece_model(path: Path) -> bytes:
    _require("sentencepiece")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"--pieces {path}: cannot be read ({error.strerror})") from None


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise missing_extra("signals", f"training needs the package {package}")


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise InputError(f"--out {out}: it is a directory; name a file")
    if out.exists() and not out.is_file():
        raise InputError(f"--out {out}: it is no regular file, and would be replaced; name another file")
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: the directory {out.parent} does not exist")


def _opened(project: Path, specs: tuple[str, ...] | list[str]) -> OpenProject | None:
    """Return the project if a source is in one; files alone need none."""
    from thresher.pipeline.open_project import OpenProject
    from thresher.pipeline.training.text_sources import KINDS

    return OpenProject.at(project) if any(each.partition(":")[0] in KINDS for each in specs) else None


def _texts(specs: list[str], project: OpenProject | None, most: int) -> list[Example]:
    from thresher.pipeline.training.text_sources import read_texts, sample

    return sample((each for spec in specs for each in read_texts(spec, project)), most)


def _labelled(specs: list[str], project: Path, most: int) -> list[Example]:
    from thresher.pipeline.training.text_sources import Example, checked_label, read_texts, sample

    found: list[Example] = []
    for spec in specs:
        label, equals, source = spec.partition("=")
        if equals:
            checked_label(label, f"--texts {spec}: what stands in front of '='")
            if not source:
                raise InputError(f"--texts {spec}: give a file behind '='")
            read = read_texts(source, _opened(project, [source]))
            found += sample((Example(text=each.text, label=label) for each in read), most)
        elif ".jsonl" not in spec:
            raise InputError(
                f"--texts {spec}: its texts have no labels; write CODE={spec}, or give a .jsonl file with `text` and"
                " `language`"
            )
        else:
            by_label: dict[str, list[Example]] = {}
            for each in read_texts(spec, None, label_field="language"):
                by_label.setdefault(each.label, []).append(each)
            found += [each for texts in by_label.values() for each in sample(texts, most)]
    return found


def _print(as_json: bool, made: TrainedModel, measured: str) -> None:
    line = f"wrote {made.path}: {made.bytes:,} bytes, sha256 {made.sha256[:16]}, trained on {made.trained:,} texts"
    if words := made.measures.get("words"):
        line += f" of {words:,} words"
    if ambiguous := made.measures.get("ambiguous"):
        line += f"; {ambiguous:,} texts have several labels and are left out"
    if made.held_out:
        line += f"\nheld out: {made.held_out:,} texts; {measured}"
    else:
        line += "\nnothing was held out, so nothing is measured; give more texts, or a larger --held-out"
    print_result(as_json, asdict(made), line)
