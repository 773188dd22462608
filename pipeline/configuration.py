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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from thresher.core import InputError
from thresher.core.rule_entries import entry_texts, with_files
from thresher.core.settings import Conversion, Key, Size, rule
from thresher.crawler.archive_settings import ArchiveSettings
from thresher.crawler.reading.reading_settings import ReadingSettings
from thresher.crawler.render.behaviours.behaviour_script import parse_scripts
from thresher.crawler.render.render_settings import RenderSettings
from thresher.crawler.sessions.session_settings import SessionSettings
from thresher.crawler.wire_settings import WireSettings
from thresher.extract.engines.page_engine import MARKDOWN, EngineName
from thresher.extract.rights import OBEYABLE
from thresher.filters.signals.signal_settings import SignalSettings
from thresher.frontier.pace import BudgetSettings, PaceSettings
from thresher.pipeline.fleet_settings import FleetSettings
from thresher.pipeline.prices import Prices
from thresher.pipeline.setting import Setting, declared_settings, valid_value
from thresher.pipeline.url_policy import PolicySettings

FILE = "thresher.toml"
PERMUTATIONS, MAX_PERMUTATIONS = 112, 10_000
"""Numbers in a signature, as `filters.dedup.signature` has them; a test holds the two together."""
LANGUAGE = re.compile(r"[a-z]{2,3}")
_SHAPE = re.compile(r"[1-9]\d{0,3}x[1-9]\d{0,3}", re.ASCII)


def _is_contact(contact: str) -> bool:
    # It becomes part of a header line: one line of printable ASCII, and something that a person can use.
    usable = contact.isascii() and contact.isprintable() and re.search(r"@|^https?://", contact)
    return not contact or bool(usable)


def _fits_signature(near: str) -> bool:
    if near == "off":
        return True
    bands, rows = near.split("x")
    return int(bands) * int(rows) <= MAX_PERMUTATIONS


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
_SCORES = rule(
    lambda scores: all(0 <= score <= 1 for score in scores.values()), "must have values from 0 to 1"
)
_OBEYABLE = rule(lambda names: set(names) <= set(OBEYABLE), f"must name some of {', '.join(OBEYABLE)}")
_NEAR = rule(
    lambda near: near == "off" or _SHAPE.fullmatch(near), "must be 'off' or bands x rows such as '14x8'"
)
_NEAR_SIZE = rule(
    _fits_signature,
    f"must be bands x rows with a product of at most {MAX_PERMUTATIONS}, the numbers in a signature",
)
_RATE = rule(lambda rate: 0 < rate < 1, "must be above 0 and below 1")
_WINDOW = rule(lambda words: words == 0 or 10 <= words <= 1000, "must be 0, or from 10 to 1000")
_DOCUMENTS = rule(lambda documents: documents == 0 or documents >= 2, "must be 0, or 2 or more")
_SIMILARITY = rule(lambda share: 0 < share <= 1, "must be above 0 and at most 1")


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
    sessions: SessionSettings = field(default_factory=SessionSettings)
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
class ExtractConfig:
    """`[extract]`: what reads the text of a page."""

    engine: Annotated[
        EngineName,
        Key('for HTML; or "trafilatura" (as FineWeb; extra "extract-trafilatura"), "resiliparse" (as DCLM)'),
    ] = "thresher"


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltersConfig:
    """`[filters]`: which pages become documents, and in which format."""

    engine: EngineName = "thresher"
    """No key of this section: `parse` sets it to `[extract]`'s, because one step reads both."""

    preset: Annotated[str, Key("none | gopher | c4 | fineweb | fineweb2 | refinedweb | dclm")] = "fineweb"
    rules: Annotated[
        tuple[str, ...],
        Conversion(entry_texts),
        Key(
            'rules in place of the preset\'s or after them: ["length", {rule = "c4", ...}, "my_module:my_rule"]'
        ),
    ] = ()
    languages: Annotated[tuple[str, ...], _LANGUAGES, Key("[] keeps all")] = ("en",)
    language_model: Annotated[
        Literal["ensemble", "lid.176"],
        Key('or "lid.176": fastText\'s model alone, as FineWeb uses it, with .65 for every language'),
    ] = "ensemble"
    language_thresholds: Annotated[
        Mapping[str, float],
        _SCORES,
        Key(
            "minimum scores of languages in place of FineWeb-2's, such as hr = 0.5",
            example="[filters.language_thresholds]",
        ),
    ] = field(default_factory=dict)
    thresholds: Annotated[
        Mapping[str, float],
        Key(
            "other thresholds than those of the preset (docs/guides/thresholds.md)",
            example="[filters.thresholds]",
        ),
    ] = field(default_factory=dict)
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
    signals: SignalSettings = field(default_factory=SignalSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupConfig:
    """`[dedup]`: which documents count as duplicates."""

    near: Annotated[
        str,
        _NEAR,
        _NEAR_SIZE,
        Key('bands x rows of MinHash over 5-word shingles; "off" for exact only'),
    ] = "14x8"
    similarity: Annotated[
        float,
        _SIMILARITY,
        Key("share of equal numbers of two MinHashes, from which on their documents are near duplicates"),
    ] = 0.7
    prefer: Annotated[
        tuple[Literal["source", "newest", "oldest", "longest", "shortest"], ...],
        Key(
            "which of several duplicates stays: these in order, then the hash of the text, then the smallest id"
        ),
    ] = ("source", "newest", "longest")
    sources: Annotated[
        tuple[str, ...], Key("sources whose documents stay rather than those of others, best first")
    ] = ()
    versions: Annotated[
        Literal["newest", "all"], Key('of one URL the newest fetch stays; "all" keeps every different text')
    ] = "newest"
    within: Annotated[Literal["all", "source"], Key('"source" compares only documents of one source')] = "all"
    substring_words: Annotated[
        int,
        _WINDOW,
        Key("cut passages of so many words that an earlier text has; 50 as RefinedWeb; 0 leaves them"),
    ] = 0
    line_documents: Annotated[
        int,
        _DOCUMENTS,
        Key("cut lines that so many documents have, from all but the best; 7 as Llama 3; 0 leaves them"),
    ] = 0
    paragraph_documents: Annotated[
        int,
        _DOCUMENTS,
        Key("cut paragraphs that so many documents have, from all but the best; 2 as CCNet; 0 leaves them"),
    ] = 0
    lines_within: Annotated[
        Literal["all", "domain"],
        Key('"domain" counts the documents of lines and paragraphs for each registered domain apart'),
    ] = "all"
    min_words: Annotated[
        int,
        rule(lambda words: words >= 0, "must be 0 or more"),
        Key("a document that was cut is dropped if it has fewer words left; 50 as Gopher"),
    ] = 50
    memory: Annotated[
        Size, Key("bounds what a worker holds, whatever the number of documents", is_size=True)
    ] = 512 << 20

    screen: Annotated[
        bool,
        Key(
            "`thresher process` leaves out documents that the newest index of `thresher dedup` has, before it filters "
            "them"
        ),
    ] = False
    screen_rate: Annotated[
        float,
        _RATE,
        Key("share of new documents that a screen may look up in vain; a smaller one takes more memory"),
    ] = 0.01

    @property
    def bands_and_rows(self) -> tuple[int, int] | None:
        """Bands and rows of the MinHash, or None if only exact duplicates count."""
        if self.near == "off":
            return None
        bands, rows = self.near.split("x")
        return int(bands), int(rows)

    @property
    def permutations(self) -> int:
        """Numbers of a signature: as many as the bands need, but never fewer than `PERMUTATIONS`."""
        bands, rows = self.bands_and_rows or (0, 0)
        return max(PERMUTATIONS, bands * rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole of thresher.toml."""

    directory: Path
    project: ProjectConfig = field(default_factory=ProjectConfig)
    crawler: CrawlerConfig = field(default_factory=CrawlerConfig)
    ingest: IngestConfig = field(default_factory=IngestConfig)
    extract: ExtractConfig = field(default_factory=ExtractConfig)
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
    "extract": ExtractConfig,
    "filters": FiltersConfig,
    "dedup": DedupConfig,
    "fleet": FleetSettings,
    "prices": Prices,
}


def settings_of(section: str) -> list[Setting]:
    """Return the keys of a section, in the order of the template."""
    return declared_settings(SECTIONS[section])


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
            if isinstance(sections[name], FiltersConfig) and sections[name].rules:
                files = with_files(
                    sections[name].rules, lambda file: (directory / file).read_text(encoding="utf-8")
                )
                sections[name] = replace(sections[name], rules=files)
            if isinstance(sections[name], CrawlerConfig) and sections[name].rendering.behaviour_file:
                sections[name] = _with_scripts(sections[name], directory)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    return _with_engine(Config(directory=directory, **sections), path)


def _with_scripts(crawler: CrawlerConfig, directory: Path) -> CrawlerConfig:
    """Return the settings with the scripts of their `behaviour_file`."""
    file = crawler.rendering.behaviour_file
    try:
        scripts = parse_scripts((directory / file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"crawler.behaviour_file: {file} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"crawler.behaviour_file: {file} is no text in UTF-8; save it as that") from None
    except InputError as error:
        raise InputError(f"crawler.behaviour_file: {file}: {error}") from None
    return replace(crawler, rendering=replace(crawler.rendering, behaviour_scripts=scripts))


def _with_engine(config: Config, path: Path) -> Config:
    """Return the configuration with the engine of `[extract]` where the process step reads it."""
    engine = config.extract.engine
    if config.filters.format == "markdown+links" and engine != "thresher":
        raise InputError(
            f'{path}: extract.engine = "{engine}" writes no links; set filters.format = "markdown"'
        )
    if config.filters.format == "markdown" and engine not in MARKDOWN:
        raise InputError(
            f'{path}: extract.engine = "{engine}" writes no Markdown; leave out filters.format, or use another engine'
        )
    return replace(config, filters=replace(config.filters, engine=engine))


def _section(name: str, values: Mapping[str, Any]) -> Any:
    known = {setting.name: setting for setting in settings_of(name)}
    by_owner: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        if key not in known:
            raise InputError(f"unknown key {name}.{key}{_nearest(key, list(known))}")
        setting = known[key]
        by_owner.setdefault(setting.owner, {})[key] = valid_value(f"{name}.{key}", setting, value)
    owners = get_type_hints(SECTIONS[name])
    own = by_owner.pop("", {})
    return SECTIONS[name](**own, **{owner: owners[owner](**made) for owner, made in by_owner.items()})


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.0)
    return f"; did you mean {near[0]!r}?"
