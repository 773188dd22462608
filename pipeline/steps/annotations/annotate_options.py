"""What a user asks of `annotate`, and the plan that follows from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from thresher.core import InputError
from thresher.pipeline.engine.local.gpu_set import visible_gpus
from thresher.pipeline.steps.annotations.annotate_step import BATCH, AnnotatePlan, Documents
from thresher.pipeline.steps.annotations.annotation_tables import check_annotation_name
from thresher.pipeline.steps.annotations.annotator import find_annotator
from thresher.pipeline.steps.annotations.score_tables import ScorePlan, parse_key
from thresher.storage.manifest import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions:
    """The options of the command."""

    annotation: str
    path: str = ""
    """`package.module:NAME` of the user's function or class; empty if there is a table."""
    arguments: tuple[tuple[str, str], ...] = ()
    version_of: tuple[Path, ...] = ()
    batch: int = BATCH
    documents: Documents = "kept"
    verdict_set: str = ""
    table: Path | None = None
    key: str = ""
    into: str = ""
    """Source that gets the texts as new documents; empty for none."""
    workers: int | None = None
    on_ray: bool = False
    """Whether the workers run on a cluster, as the user or the configuration says."""
    gpus: int = 0

    @property
    def worker_count(self) -> int | None:
        """Number of workers; None for one per CPU. With GPUs it is one per GPU of this machine."""
        if self.workers is not None or not self.gpus or self.on_ray:
            return self.workers
        return max(len(visible_gpus()) // self.gpus, 1)


def make_plan(options: AnnotateOptions, directory: Path) -> AnnotatePlan | ScorePlan:
    """Return what to do. `directory` is the project's. Raise `InputError` if options are wrong or do not fit together,
    or if the function or the table cannot be found.
    """
    check_annotation_name(options.annotation)
    if bool(options.path) == (options.table is not None):
        raise InputError(
            "annotate: give either --with package.module:NAME, a function of yours, or --table FILE, a table of values"
        )
    if options.table is not None:
        _refuse(
            "--table",
            {
                "-a": options.arguments,
                "--version-of": options.version_of,
                "--all": options.documents == "all",
                "--deduplicated": options.documents == "deduplicated",
                "--verdicts": options.verdict_set,
                "--into": options.into,
                "--gpu": options.gpus,
            },
        )
        if not options.key:
            raise InputError(
                "--table: say with --key what joins it with the documents: id, url or external_id"
            )
        key, column = parse_key(options.key)
        return ScorePlan(annotation=options.annotation, table=options.table, key=key, column=column)
    _refuse("--with", {"--key": options.key})
    if options.gpus and not options.on_ray and not visible_gpus():
        raise InputError(
            "--gpu: this machine shows no GPU of NVIDIA; leave the option out, or run on a cluster with --ray"
        )
    return AnnotatePlan(
        annotation=options.annotation,
        annotator=find_annotator(options.path, options.arguments, directory),
        files=tuple(sorted(map(_digest, options.version_of))),
        documents=options.documents,
        verdict_set=options.verdict_set,
        batch=options.batch,
        gpus=options.gpus,
    )


def chosen_sources(sources: tuple[str, ...], names: Sequence[str] | None, into: str) -> tuple[str, ...]:
    """Return the sources to annotate: those that the user named, or all but the one that gets the new documents."""
    return sources if names else tuple(source for source in sources if source != into)


def chosen_documents(*, every: bool, deduplicated: bool) -> Documents:
    """Return which documents are annotated. Raise `InputError` if both are asked for."""
    if every and deduplicated:
        raise InputError("annotate: give --all or --deduplicated, not both")
    return "all" if every else "deduplicated" if deduplicated else "kept"


def parse_arguments(arguments: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of `-a`. Raise `InputError` if one is not NAME=VALUE."""
    pairs = [argument.partition("=") for argument in arguments]
    for name, equals, _ in pairs:
        if not name.isidentifier() or not equals:
            raise InputError(f"-a {name}: give NAME=VALUE, as in -a model=weights.onnx")
    return tuple((name, value) for name, _, value in pairs)


def _refuse(option: str, others: dict[str, object]) -> None:
    for other, value in others.items():
        if value:
            raise InputError(f"annotate: {other} does not go with {option}")


def _digest(path: Path) -> str:
    try:
        return digest(path)
    except OSError as error:
        raise InputError(f"--version-of {path}: it cannot be read ({error.strerror})") from None
