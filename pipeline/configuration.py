"""`thresher.toml`: one file, one frozen value.

1. Each setting is declared once, by the package that uses it (`core.settings`). This module only says which section
   of the file holds the settings of which owners. Pydantic checks each value against the type and the rules that its
   owner declares.
2. Every key has a default except `contact`.
3. An unknown key, a wrong type or a value out of range is an `InputError` of one line that names the file, the key
   and what would be right. Nothing is ignored. A value of the wrong type is not shown, because it may be a password.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from core import InputError
from core.settings import Key, RuleError, Size, rule
from crawler.archive_settings import ArchiveSettings
from crawler.reading.reading_settings import ReadingSettings
from crawler.render.render_settings import RenderSettings
from crawler.wire.wire_settings import WireSettings
from extract.rights import OBEYABLE
from frontier.pace import BudgetSettings, PaceSettings
from pipeline.fleet_settings import FleetSettings
from pipeline.prices import Prices
from pipeline.url_policy import PolicySettings

FILE = "thresher.toml"
PERMUTATIONS = 112
"""Numbers in a signature, as `filters.dedup.signature` has it; a test holds the two together."""
LANGUAGE = re.compile(r"[a-z]{2,3}")
_SHAPE = re.compile(r"[1-9]\d{0,3}x[1-9]\d{0,3}")


def _is_contact(contact: str) -> bool:
    # It becomes part of a header line: one line of printable ASCII, and something that a person can use.
    usable = contact.isascii() and contact.isprintable() and re.search(r"@|^https?://", contact)
    return not contact or bool(usable)


def _fits_signature(near: str) -> bool:
    if near == "off":
        return True
    bands, rows = near.split("x")
    return int(bands) * int(rows) <= PERMUTATIONS


_CONTACT = rule(_is_contact, "must be mailto:you@example.org or https://...")
_ENGINE = rule(
    re.compile(r"local|ray|ray:[^/:\s]+:\d{1,5}").fullmatch, "must be 'local', 'ray' or 'ray:HOST:PORT'"
)
_COMMONCRAWL = rule(
    re.compile(r"(?:https?|s3)://[^/\s@?#]+(?:/[^\s?#]*)?").fullmatch,
    "must be https://... or s3://BUCKET/..., without credentials",
    shows_value=False,
)
_LANGUAGES = rule(lambda codes: all(map(LANGUAGE.fullmatch, codes)), "must be codes of ISO 639 such as 'en'")
_OBEYABLE = rule(lambda names: set(names) <= set(OBEYABLE), f"must name some of {', '.join(OBEYABLE)}")
_NEAR = rule(
    lambda near: near == "off" or _SHAPE.fullmatch(near), "must be 'off' or bands x rows such as '14x8'"
)
_NEAR_SIZE = rule(
    _fits_signature,
    f"must be bands x rows with a product of at most {PERMUTATIONS}, the numbers in a signature",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectConfig:
    """`[project]`: who crawls, and which servers and directories hold the results."""

    contact: Annotated[
        str,
        _CONTACT,
        Key(
            'required to crawl: "mailto:you@example.org" or "https://..."; goes into the User-Agent',
            is_required=True,
        ),
    ] = ""
    storage: Annotated[
        str,
        Key('directory of WARCs, documents and manifests; or "s3://bucket/prefix" and AWS_* variables'),
    ] = "file:data"
    cache: Annotated[
        Size,
        Key('on this machine, for what is read from s3: storage; "0" for none', is_size=True),
    ] = 10 << 30
    redis: Annotated[
        str,
        Key('or "redis://host:6379/0", "rediss://..."; nodes of a cluster: "redis://host1:6379,host2:6379"'),
    ] = "embedded"
    catalog: Annotated[str, Key("a cache; may be deleted at any time")] = "sqlite:catalog.db"
    engine: Annotated[
        str,
        _ENGINE,
        Key('or "ray" (the cluster of RAY_ADDRESS or of this machine), "ray:HOST:PORT"'),
    ] = "local"

    @property
    def cluster(self) -> str | None:
        """`HOST:PORT` of the Ray cluster that does the work, empty for the one at hand; None for this machine."""
        kind, _, address = self.engine.partition(":")
        return address if kind == "ray" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowSettings:
    """`max_backlog` bounds the archived bytes that wait to be processed."""

    max_backlog: Annotated[
        Size,
        Key(
            "a crawl that `thresher process --follow` follows waits above so many unprocessed bytes",
            is_size=True,
        ),
    ] = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlerConfig:
    """`[crawler]`: how hosts are treated. Delays and time-outs are in seconds."""

    pace: PaceSettings = field(default_factory=PaceSettings)
    wire: WireSettings = field(default_factory=WireSettings)
    budgets: BudgetSettings = field(default_factory=BudgetSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    rendering: RenderSettings = field(default_factory=RenderSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    follow: FollowSettings = field(default_factory=FollowSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestConfig:
    """`[ingest]`: the sources of inputs."""

    commoncrawl: Annotated[
        str,
        _COMMONCRAWL,
        Key('base URL of Common Crawl\'s files or of a mirror; or "s3://commoncrawl/" and AWS_* variables'),
    ] = "https://data.commoncrawl.org/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltersConfig:
    """`[filters]`: which pages become documents, and in which format."""

    preset: Annotated[str, Key("none | gopher | c4 | fineweb")] = "fineweb"
    rules: Annotated[
        tuple[str, ...],
        Key('rules of your own, applied after those of the preset: ["package.module:Class"]; see the docs'),
    ] = ()
    languages: Annotated[tuple[str, ...], _LANGUAGES, Key("[] keeps all")] = ("en",)
    obey: Annotated[
        tuple[str, ...],
        _OBEYABLE,
        Key("pages that say so are dropped; also noindex, noarchive, unavailable_after, ..."),
    ] = ("noai", "tdm-reservation")
    format: Annotated[
        Literal["text", "markdown", "markdown+links"],
        Key('or "markdown": headings, lists, tables, code and emphasis marked; "markdown+links" with URLs'),
    ] = "text"
    blocklist: Annotated[
        str,
        Key(
            "a file of domains or beginnings of URLs that are not kept, one a line; relative to this directory"
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """`[dedup]`: which documents count as duplicates."""

    near: Annotated[
        str,
        _NEAR,
        _NEAR_SIZE,
        Key('bands x rows of MinHash over 5-word shingles; "off" for exact only'),
    ] = "14x8"
    prefer: Annotated[
        tuple[Literal["source", "newest", "oldest", "longest", "shortest"], ...],
        Key("which of several duplicates stays: these in order, then the smallest id"),
    ] = ("source", "newest", "longest")
    sources: Annotated[
        tuple[str, ...], Key("sources whose documents stay rather than those of others, best first")
    ] = ()
    versions: Annotated[
        Literal["newest", "all"], Key('of one URL the newest fetch stays; "all" keeps every different text')
    ] = "newest"
    within: Annotated[Literal["all", "source"], Key('"source" compares only documents of one source')] = "all"
    memory: Annotated[
        Size, Key("bounds what a worker holds, whatever the number of documents", is_size=True)
    ] = 512 << 20

    @property
    def bands_and_rows(self) -> tuple[int, int] | None:
        """Bands and rows of the MinHash, or None if only exact duplicates count."""
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
    fleet: FleetSettings = field(default_factory=FleetSettings)
    prices: Prices = field(default_factory=Prices)

    @property
    def contact(self) -> str:
        """The contact that goes into the User-Agent. Raise `InputError` if none is set."""
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
    "fleet": FleetSettings,
    "prices": Prices,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a section, as its owner declares it."""

    name: str
    owner: str
    """Field of the section that holds the owner's settings; empty if the section declares the key itself."""
    annotation: Any
    key: Key
    default: Any


def settings_of(section: str) -> list[Setting]:
    """Return the keys of a section, in the order of the template."""
    kind = SECTIONS[section]
    hints = get_type_hints(kind, include_extras=True)
    found: list[Setting] = []
    for item in fields(kind):
        key = _key_of(hints[item.name])
        if key is not None:
            found.append(_setting(item, "", hints[item.name], key))
            continue
        owner_hints = get_type_hints(hints[item.name], include_extras=True)
        for inner in fields(hints[item.name]):
            inner_key = _key_of(owner_hints[inner.name])
            if inner_key is not None:
                found.append(_setting(inner, item.name, owner_hints[inner.name], inner_key))
    return found


def _key_of(annotation: Any) -> Key | None:
    keys = (mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Key))
    return next(keys, None)


def _setting(item: "Field[Any]", owner: str, annotation: Any, key: Key) -> Setting:
    factory = item.default_factory
    default = item.default if factory is MISSING else factory()
    return Setting(name=item.name, owner=owner, annotation=annotation, key=key, default=default)


def load(directory: Path) -> Config:
    """Return the configuration of a project directory. Raise `InputError` if it has no `thresher.toml`, or a wrong
    one.
    """
    path = directory / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{directory}: no project here, because there is no {FILE}; {_remedy(directory)}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    return parse(text, directory)


def _remedy(directory: Path) -> str:
    above = next((parent for parent in directory.parents if (parent / FILE).is_file()), None)
    if above is not None:
        return f"the project is in {above}: add --project {above}"
    return f"make one with `thresher init {directory}`, or name one with --project DIR"


def parse(text: str, directory: Path) -> Config:
    """Return the configuration that a TOML text holds. Raise `InputError`, which names the file in `directory`."""
    path = directory / FILE
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    sections: dict[str, Any] = {}
    for name, values in body.items():
        if name not in SECTIONS or not isinstance(values, dict):
            raise InputError(f"{path}: unknown section [{name}]{_nearest(name, list(SECTIONS))}")
        try:
            sections[name] = _section(name, values)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return Config(directory=directory, **sections)


def _section(name: str, values: Mapping[str, Any]) -> Any:
    known = {setting.name: setting for setting in settings_of(name)}
    by_owner: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key not in known:
            raise InputError(f"unknown key {name}.{key}{_nearest(key, list(known))}")
        setting = known[key]
        by_owner.setdefault(setting.owner, {})[key] = _valid(f"{name}.{key}", setting, value)
    owners = get_type_hints(SECTIONS[name])
    own = by_owner.pop("", {})
    return SECTIONS[name](**own, **{owner: owners[owner](**made) for owner, made in by_owner.items()})


def _valid(key: str, setting: Setting, value: Any) -> Any:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - takes 0.1 to 0.2 s; `--help` reads no file

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(setting.annotation)
        return adapter.validate_python(tuple(value) if isinstance(value, list) else value, strict=True)
    except ValidationError as errors:
        error = errors.errors(include_url=False)[0]
    match error["type"]:
        case "value_error":
            raised = error["ctx"]["error"]
            raise InputError(f"{key} {raised}" if isinstance(raised, RuleError) else f"{key}: {raised}")
        case "literal_error":
            raise InputError(f"{key} must be {error['ctx']['expected']}, not {value!r}")
    inner = error["loc"][:1] if isinstance(value, dict) else ()
    place = "".join(f'."{name}"' for name in inner)
    found = error["input"] if inner else value
    wanted = f"a table, written as [{key}{place}]" if inner else _wanted(key, setting)
    raise InputError(f"{key}{place} must be {wanted}, not {_TOML.get(type(found), 'a date')}")


_TOML = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}
"""How a message calls a value: the value itself may be a password."""


def _wanted(key: str, setting: Setting) -> str:
    """Return the words for the type of a key."""
    kind = setting.annotation.__origin__
    if setting.key.is_size:
        return "a string"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {
        str: "a string",
        bool: "true or false",
        int: "a whole number",
        int | None: "a whole number",
        tuple[str, ...]: "a list of strings",
        Mapping[str, Mapping[str, Any]]: f'tables such as [{key}."example.org"]',
    }
    return words.get(kind, "a number")


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.0)
    return f"; did you mean {near[0]!r}?"
