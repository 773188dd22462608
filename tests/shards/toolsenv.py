"""Loaders of others, which open what an export writes, in an environment of their own: they bring PyTorch."""

from tests.environments import installed

PACKAGES = ["webdataset>=1,<2", "mosaicml-streaming>=0.10,<1", "megatron-core>=0.12,<1", "zstandard>=0.23,<1"]


CROISSANT = ["mlcroissant>=1,<2", "pyarrow>=20"]


def croissant_reader(cache):
    """The Python that has the reader of Croissant; made on first use, then kept."""
    return installed(cache, "croissant", CROISSANT, "the reader of Croissant") / "python"


def loaders(cache):
    """The Python that has them; made on first use, then kept."""
    return installed(cache, "loaders", PACKAGES, "the loaders") / "python"
