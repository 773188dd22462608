"""thresher.toml: one file, one frozen value, every key with a default except `contact`.

An unknown key, a wrong type or a value out of range is an InputError that names the file, the key, and what
would be right. Nothing is ever ignored.
"""

import dataclasses
import difflib
import ipaddress
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from core import InputError
from extract.rights import OBEYABLE
from pipeline import host_settings

FILE = "thresher.toml"
Tables = Mapping[str, Mapping[str, Any]]
"""A table of TOML whose values are tables."""
PERMUTATIONS = 112
"""Numbers in a signature, as `filters.dedup.signature` has it; a test holds the two together."""
LANGUAGE = re.compile(r"[a-z]{2,3}")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectConfig:
    """`[project]`: who crawls, and where things are kept."""

    contact: str = ""
    storage: str = "file:data"
    redis: str = "embedded"
    catalog: str = "sqlite:catalog.db"
    cache: str = "10GiB"
    engine: str = "local"

    @property
    def cache_bytes(self) -> int:
        """`cache` in bytes; 0 where there is to be none."""
        return parse_size(self.cache)

    @property
    def cluster(self) -> str | None:
        """`HOST:PORT` of the Ray cluster that does the work, empty for the one at hand; None for this machine."""
        kind, _, address = self.engine.partition(":")
        return address if kind == "ray" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlerConfig:
    """`[crawler]`: how hosts are treated. Delays and time-outs in seconds.

    `min_ip_delay` is a quarter of `min_delay` where it is not set, and 0 switches it off; `max_pages_per_host` and
    `max_pages_per_domain` are no limit where they are not set. `timeout` is the time to the first byte: names, connections
    and TLS have 10 seconds each, or `timeout` where that is less, and the whole exchange four times as long. `auth` has a
    table for each domain: `user` and `password`, or `headers`, whose values may be `env:NAME`; and `http = true` where they
    may go over connections that others can read. `traps` and `query_order` hold for all hosts but those that `hosts` has a table for,
    and the hosts under these.
    """

    min_delay: float = 1.0
    min_ip_delay: float | None = None
    max_body: str = "10MiB"
    timeout: float = 30.0
    max_backlog: str = "4GiB"
    allow_networks: tuple[str, ...] = ()
    render: str = "never"
    browser: str = ""
    browser_sandbox: bool = True
    archive: str = "all"
    compression: str = "gzip"
    sitemaps: bool = True
    obey: tuple[str, ...] = ("nofollow",)
    max_pages_per_host: int | None = None
    max_pages_per_domain: int | None = None
    max_hosts_per_domain: int = 4096
    verify_tls: bool = True
    nameservers: tuple[str, ...] = ()
    proxy: str = field(default="", repr=False)
    cookies: bool = False
    traps: bool = True
    query_order: bool = False
    hosts: Tables = field(default_factory=dict)
    auth: Tables = field(default_factory=dict, repr=False)

    @property
    def ip_delay(self) -> float:
        """Seconds between two requests to one IP address."""
        return self.min_delay / 4 if self.min_ip_delay is None else self.min_ip_delay

    @property
    def max_body_bytes(self) -> int:
        """`max_body` in bytes."""
        return parse_size(self.max_body)

    @property
    def max_backlog_bytes(self) -> int:
        """`max_backlog` in bytes."""
        return parse_size(self.max_backlog)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestConfig:
    """`[ingest]`: where inputs come from. `commoncrawl` is the base of Common Crawl's files: over HTTP, or in a bucket with the keys,
    region and endpoint of the AWS_* variables.
    """

    commoncrawl: str = "https://data.commoncrawl.org/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltersConfig:
    """`[filters]`: what is kept, and as what. `rules` names rules of your own, which are asked behind those of the preset, as
    `package.module:Class`. `obey` names what pages say of their use for which they are dropped; `format` is `text`
    or `markdown`; `blocklist` is a file of domains and addresses of which nothing is wanted, beside this file unless absolute.
    """

    preset: str = "fineweb"
    rules: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en",)
    obey: tuple[str, ...] = ("noai", "tdm-reservation")
    format: str = "text"
    blocklist: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """`[dedup]`: what counts as the same."""

    near: str = "14x8"

    @property
    def bands_and_rows(self) -> tuple[int, int] | None:
        """Bands and rows of the MinHash, or None where only exact duplicates count."""
        if self.near == "off":
            return None
        bands, rows = self.near.split("x")
        return int(bands), int(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole of thresher.toml."""

    directory: Path
    project: ProjectConfig = field(default_factory=ProjectConfig)
    crawler: CrawlerConfig = field(default_factory=CrawlerConfig)
    ingest: IngestConfig = field(default_factory=IngestConfig)
    filters: FiltersConfig = field(default_factory=FiltersConfig)
    dedup: DedupConfig = field(default_factory=DedupConfig)

    @property
    def contact(self) -> str:
        """The contact that goes into the User-Agent; InputError where none is set."""
        if not self.project.contact:
            raise InputError(
                f"{self.directory / FILE}: project.contact is not set, and without it nothing is crawled; "
                'write contact = "mailto:you@example.org" under [project]'
            )
        return self.project.contact


SECTIONS: Mapping[str, type] = {
    "project": ProjectConfig,
    "crawler": CrawlerConfig,
    "ingest": IngestConfig,
    "filters": FiltersConfig,
    "dedup": DedupConfig,
}


def load(directory: Path) -> Config:
    """Read `thresher.toml` of a project directory. Raise InputError if there is none, or if it is wrong."""
    path = directory / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{directory}: no project here, for there is no {FILE}; {_remedy(directory)}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return parse(text, directory)


def _remedy(directory: Path) -> str:
    """What helps where a directory is no project."""
    above = next((parent for parent in directory.parents if (parent / FILE).is_file()), None)
    if above is not None:
        return f"the project is in {above}: add --project {above}"
    return f"make one with `thresher init {directory}`, or name one with --project DIR"


def parse(text: str, directory: Path) -> Config:
    """The configuration that a text of TOML says; errors name the file as in `directory`."""
    path = directory / FILE
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    sections: dict[str, Any] = {}
    for name, values in body.items():
        if name not in SECTIONS or not isinstance(values, dict):
            raise InputError(f"{path}: unknown section [{name}]{_nearest(name, list(SECTIONS))}")
        sections[name] = _section(path, name, values)
    config = Config(directory=directory, **sections)
    _check(path, config)
    return config


def parse_size(text: str) -> int:
    """Bytes of a size such as `10MiB` or `500 kB`; ValueError for anything else."""
    match = re.fullmatch(r"\s*+(\d{1,15}+(?:\.\d{1,15}+)?)\s*+([A-Za-z]*+)\s*+", text)
    if not match or match[2].upper() not in UNITS:
        raise ValueError(f"{text!r} is not a size such as 10MiB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def _section(path: Path, name: str, values: Mapping[str, Any]) -> Any:
    known = get_type_hints(SECTIONS[name])
    known = {item.name: known[item.name] for item in dataclasses.fields(SECTIONS[name])}
    made: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise InputError(f"{path}: unknown key {name}.{key}{_nearest(key, list(known))}")
        made[key] = _typed(path, f"{name}.{key}", value, known[key])
    return SECTIONS[name](**made)


def _typed(path: Path, key: str, value: Any, kind: Any) -> Any:
    if kind in {float, float | None} and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind in {int, int | None} and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind in {str, bool} and isinstance(value, kind):
        return value
    if kind == Tables and isinstance(value, dict):
        for host, item in value.items():
            _typed(path, f'{key}."{host}"', item, dict)
        return value
    if kind is dict and isinstance(value, dict):
        return value
    if kind == tuple[str, ...] and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    words = {
        str: "a string",
        bool: "true or false",
        Tables: 'tables such as [crawler.auth."example.org"]',
        dict: f"a table, written as [{key}]",
        tuple[str, ...]: "a list of strings",
        int: "a whole number",
    }
    wanted = words.get(kind, "a whole number" if kind == int | None else "a number")
    raise InputError(f"{path}: {key} must be {wanted}, not {_TOML.get(type(value), 'a date')}")


_TOML = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
"""What a value is called in a message: the value itself may be a password."""


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.0)
    return f"; did you mean {near[0]!r}?"


def _check(path: Path, config: Config) -> None:
    crawler = config.crawler
    checks = [
        (
            0 <= crawler.min_delay < math.inf,
            f"crawler.min_delay must not be negative and must be finite, not {crawler.min_delay}",
        ),
        (
            0 <= crawler.ip_delay < math.inf,
            f"crawler.min_ip_delay must not be negative and must be finite, not {crawler.min_ip_delay}",
        ),
        (
            0 < crawler.timeout < math.inf,
            f"crawler.timeout must be more than 0 and finite, not {crawler.timeout}",
        ),
        (
            crawler.render in {"never", "auto", "always"},
            f"crawler.render must be 'never', 'auto' or 'always', not {crawler.render!r}",
        ),
        (
            crawler.archive in {"all", "kept"},
            f"crawler.archive must be 'all' or 'kept', not {crawler.archive!r}",
        ),
        (
            crawler.compression in {"gzip", "zstd"},
            f"crawler.compression must be 'gzip' or 'zstd', not {crawler.compression!r}",
        ),
        (
            config.dedup.near == "off" or re.fullmatch(r"[1-9]\d{0,3}x[1-9]\d{0,3}", config.dedup.near),
            f"dedup.near must be 'off' or bands x rows such as '14x8', not {config.dedup.near!r}",
        ),
        (
            _fits_signature(config.dedup),
            f"dedup.near = {config.dedup.near!r}: bands x rows must not be more than the {PERMUTATIONS} of a signature",
        ),
        (
            re.fullmatch(r"local|ray|ray:[^/:\s]+:\d{1,5}", config.project.engine),
            f"project.engine must be 'local', 'ray' or 'ray:HOST:PORT', not {config.project.engine!r}",
        ),
        (
            not config.project.contact or _is_contact(config.project.contact),
            f"project.contact must be mailto:you@example.org or https://..., not {config.project.contact!r}",
        ),
    ]
    checks += [
        (
            set(crawler.obey) <= {"nofollow", "noarchive"},
            f"crawler.obey must name 'nofollow' and 'noarchive' at most, not {list(crawler.obey)}",
        ),
        (
            set(config.filters.obey) <= set(OBEYABLE),
            f"filters.obey must name some of {', '.join(OBEYABLE)}, not {list(config.filters.obey)}",
        ),
        (
            all(map(LANGUAGE.fullmatch, config.filters.languages)),
            f"filters.languages must be codes of ISO 639 such as 'en', not {list(config.filters.languages)}",
        ),
        (
            config.filters.format in {"text", "markdown"},
            f"filters.format must be 'text' or 'markdown', not {config.filters.format!r}",
        ),
    ]
    checks.append(
        (
            re.fullmatch(r"(?:https?|s3)://[^/\s@?#]+(?:/[^\s?#]*)?", config.ingest.commoncrawl),
            "ingest.commoncrawl must be https://... or s3://BUCKET/..., without credentials",
        )
    )
    limits = ("max_pages_per_host", "max_pages_per_domain", "max_hosts_per_domain")
    for key in limits:
        limit = getattr(crawler, key)
        checks.append((limit is None or limit >= 1, f"crawler.{key} must be at least 1, not {limit}"))
    try:
        host_settings.check_hosts(crawler.hosts)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    for right, message in checks:
        if not right:
            raise InputError(f"{path}: {message}")
    sizes = {
        "crawler.max_body": crawler.max_body,
        "crawler.max_backlog": crawler.max_backlog,
        "project.cache": config.project.cache,
    }
    for key, text in sizes.items():
        try:
            parse_size(text)
        except ValueError as error:
            raise InputError(f"{path}: {key}: {error}") from None
    for network in crawler.allow_networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise InputError(f"{path}: crawler.allow_networks: {error}") from None


def _fits_signature(dedup: DedupConfig) -> bool:
    shape = dedup.bands_and_rows if re.fullmatch(r"\d+x\d+", dedup.near) else None
    return shape is None or shape[0] * shape[1] <= PERMUTATIONS


def _is_contact(contact: str) -> bool:
    # It becomes part of a header line: one line of printable ASCII, and something that a person can use.
    return contact.isascii() and contact.isprintable() and re.search(r"@|^https?://", contact) is not None


TEMPLATE = """\
# thresher.toml: what this project crawls with and keeps. Every key has a default but `contact`.

[project]
contact = ""                    # required to crawl: "mailto:you@example.org" or "https://..."; goes into the User-Agent
# storage = "file:data"         # where WARCs, documents and manifests are kept; or "s3://bucket/prefix" and AWS_* variables
# cache   = "10GiB"             # of this machine, for what is read from s3: storage; "0" for none
# redis   = "embedded"          # or "redis://host:6379/0", "rediss://..."; nodes of a cluster: "redis://host1:6379,host2:6379"
# catalog = "sqlite:catalog.db" # a cache; may be deleted at any time
# engine  = "local"             # or "ray" (the cluster of RAY_ADDRESS or of this machine), "ray:HOST:PORT"

[crawler]
# min_delay = 1.0               # seconds between two requests to one host, whatever the number of workers
#   min_ip_delay                # the same to one IP address, whatever the hosts; a quarter of min_delay where not set
# max_body = "10MiB"            # longer bodies are cut there and marked WARC-Truncated
# timeout = 30                  # seconds to the first byte; a whole exchange may take four times as long
# max_backlog = "4GiB"          # a crawl that `thresher process --follow` follows waits above so many unprocessed bytes
# render = "never"              # or "auto": what says little without scripts is opened in Chromium; or "always"
#   browser                     # path of Chromium; looked for where not set
# browser_sandbox = true        # false renders where the system does not let Chromium have its sandbox; see docs/security.md
# archive = "all"               # or "kept": what the cheap filters drop leaves a note with its reason, no page
# compression = "gzip"          # of archive files; or "zstd": smaller, but few tools read it yet
# sitemaps = true               # reads the sitemaps that robots.txt files name, within the crawl's scope
# obey = ["nofollow"]           # what pages ask of crawlers; and "noarchive", which leaves a note, no page
# allow_networks = []           # CIDRs exempt from the block on private, loopback and link-local addresses
# verify_tls = true             # false takes pages whose certificate is not trusted, and notes that
# nameservers = []              # "192.0.2.53:53"; the system's where empty
#   proxy                       # "http://user:password@host:port" or "socks5://host:port"; no environment variable sets it
# cookies = false               # true sends back what hosts set, within their domain
#   max_pages_per_host          # URLs let in of one host at most; any number where not set
#   max_pages_per_domain        # the same of one registered domain
# max_hosts_per_domain = 4096   # host names let in of one registered domain
# traps = true                  # false follows links that look endless as well
# query_order = false           # true takes ?a=1&b=2 and ?b=2&a=1 for two pages
#   [crawler.hosts."example.org"] has traps and query_order for that host and those under it
#   [crawler.auth."example.org"] has what that host and those under it are told: user and password, or headers; see the docs

[ingest]
# commoncrawl = "https://data.commoncrawl.org/" # or a mirror; or "s3://commoncrawl/" and AWS_* variables

[filters]
# preset = "fineweb"            # none | gopher | c4 | fineweb
# rules = []                    # rules of your own, asked behind the preset's: ["package.module:Class"]; see the docs
# languages = ["en"]            # [] keeps all
# obey = ["noai", "tdm-reservation"] # pages that say so are dropped; also noindex, noarchive, unavailable_after, ...
# format = "text"                # or "markdown": headings, lists, tables and code marked as such
# blocklist = ""                 # a file of domains, or beginnings of addresses, of which nothing is kept; one a line

[dedup]
# near = "14x8"                 # bands x rows of MinHash over 5-word shingles; "off" for exact only
"""
