"""Programs of others that judge and replay archives, in an environment of their own: pywb holds back packages of ours."""

from tests.environments import installed

PACKAGES = [
    "pywb>=2.9,<3",
    "wacz>=0.5,<1",
    "warcio>=1.7,<2",
    "cdxj-indexer>=1.4,<2",
    "warctools>=4,<6",
    "setuptools<81",
]


def programs(cache):
    """The directory of `pywb`, `wb-manager`, `wacz`, `cdxj-indexer` and `warcvalid`; made on first use, then kept."""
    return installed(cache, "pywb", PACKAGES, "pywb")
