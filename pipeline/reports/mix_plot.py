"""Draw the mix of a dataset: for each source a bar of its share, beside the wanted one."""

import os
from pathlib import Path

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra
from thresher.shards.dataset import Dataset
from thresher.shards.mix import Mix


def check_plot(path: Path, mix: Mix | None) -> None:
    """Raise `InputError` if a mix cannot be drawn into this file: before anything is made."""
    if mix is None:
        raise InputError(f"--plot {path}: draws a mix; give one with --mix")
    if path.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InputError(f"--plot {path}: give the name of a .png, .svg or .pdf file")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"--plot {path}: give a file in a directory that exists")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InputError(f"--plot {path}: cannot be written; give another file")
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise missing_extra("plot", "--plot needs matplotlib") from None
    assert mpl


def draw_mix(dataset: Dataset, path: Path) -> None:
    """Draw the realised and the wanted shares of a dataset. Raise `InputError` if the file cannot be written."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    total = sum(source["realised"] for source in dataset.mix)
    names = [f"{source['name']}{' (ran dry)' if source['limit'] == 'dry' else ''}" for source in dataset.mix]
    figure = Figure(figsize=(8, 1.2 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    rows = range(len(names))
    axes.barh(rows, [source["share"] for source in dataset.mix], height=0.8, color="#d8d8d8", label="wanted")
    bars = axes.barh(
        rows, [source["realised"] / total for source in dataset.mix], height=0.5, label="realised"
    )
    axes.bar_label(
        bars, [f" {source['realised']:,} {dataset.recipe['mix']['by']}" for source in dataset.mix], fontsize=8
    )
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.margins(x=0.25)
    axes.legend()
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"--plot {path}: cannot be written ({error.strerror or error})") from None
