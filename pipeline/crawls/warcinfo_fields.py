"""What the first record of an archive file says of its crawl, beside the program that wrote it.

The names of the fields are those of Heritrix. `thresher-configuration` is JSON: the settings with which pages are
requested, read and archived. A setting is named here or it is not written, so none that holds a password, a login or a
host of the user's network gets into an archive.
"""

import json
from typing import Any

from thresher.pipeline.configuration import Config

WRITTEN = {
    "pace": ("min_delay",),
    "budgets": ("max_pages_per_host", "max_pages_per_domain"),
    "wire": ("max_body", "timeout", "verify_tls", "cookies"),
    "reading": ("sitemaps", "obey"),
    "rendering": ("render", "behaviours", "screenshot"),
    "archive": ("archive", "compression", "warc_bytes", "warc_age"),
}
"""The keys of `[crawler]` that are written, by their owner."""


def warcinfo_fields(config: Config) -> dict[str, str]:
    """Return the fields, without those that are empty."""
    written: dict[str, Any] = {}
    for owner, keys in WRITTEN.items():
        written |= {key: getattr(getattr(config.crawler, owner), key) for key in keys}
    fields = {
        "operator": config.crawler.archive.operator or config.project.contact,
        "description": config.crawler.archive.description,
        "thresher-configuration": json.dumps(written, sort_keys=True),
    }
    return {name: value for name, value in fields.items() if value}
