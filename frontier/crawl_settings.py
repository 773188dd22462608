"""`CrawlSettings`: the settings that hold for every worker of a crawl, wherever it runs; and `StorageId`: where the
crawl's archive is. Pure.

The frontier keeps both for the crawl. A command says what its configuration has; if that differs, the command is
refused unless it asks for an update. So two projects never ask one host at two paces, or write one crawl into two
archives.
"""

import json
from dataclasses import asdict, dataclass, field, replace

from thresher.core import CorruptData, InputError
from thresher.frontier.lease import Budget
from thresher.frontier.policy import HostSwitch, UrlPolicy

_NOT_SET = "not set"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """How a crawl treats the web."""

    contact: str = ""
    """Who answers for the crawl; it goes into the User-Agent. Empty if no client has set it yet."""
    min_delay_ms: int = 1_000
    """Milliseconds from the end of one request to a host to the start of the next."""
    min_ip_delay_ms: int = 250
    """Milliseconds between the starts of two requests to one IP address; 0 for any number at once."""
    budget: Budget = field(default_factory=Budget)
    policy: UrlPolicy = field(default_factory=UrlPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageId:
    """Which storage holds the archive of a crawl."""

    id: str
    """The storage's own id, whatever its address."""
    uri: str
    """Its address when the crawl was made."""


def encode_settings(settings: CrawlSettings) -> str:
    """Return the JSON text that the frontier keeps."""
    return json.dumps(asdict(settings), sort_keys=True)


def decode_settings(text: str) -> CrawlSettings:
    """Return the settings that `encode_settings` wrote. Raise `CorruptData` for any other text."""
    try:
        fields = json.loads(text)
        budget = Budget(**fields.pop("budget"))
        policy = UrlPolicy(**{name: HostSwitch(**switch) for name, switch in fields.pop("policy").items()})
        return CrawlSettings(**fields, budget=budget, policy=policy)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptData(f"the frontier keeps settings that cannot be read: {text[:80]!r}") from error


def merge_settings(own: CrawlSettings, crawl: CrawlSettings) -> CrawlSettings:
    """Return `own`; if only one side names a contact, that is the contact."""
    return replace(own, contact=own.contact or crawl.contact)


def check_storage(crawl: str, own: str | None, own_uri: str, its: StorageId | None) -> None:
    """Raise `InputError` if the archive of a crawl is in another storage than the caller's.

    `own` is the id of the caller's storage; None if it has none because it was never used. `its` is None if the crawl
    has no storage yet.
    """
    if its is None or own == its.id:
        return
    if own_uri == its.uri:
        raise InputError(
            f"crawl {crawl!r}: its archive was in the storage {its.uri}, and that is not the same storage any more: it"
            " was emptied or replaced; bring it back, or begin anew with what it has now by"
            f" `thresher frontier rebuild {crawl} --anew`"
        )
    raise InputError(
        f"crawl {crawl!r}: its archive is in the storage {its.uri}, and project.storage here is {own_uri}, another"
        " one; name the crawl otherwise (--crawl), give this project a project.redis of its own, or point"
        " project.storage at the crawl's"
    )


def check_settings(crawl: str, own: CrawlSettings | None, its: CrawlSettings | None) -> None:
    """Raise `InputError` naming the fields in which the settings of a crawl differ from the caller's. None stands for a
    side that has no settings.
    """
    if own is not None and its is not None and (other := differences(own, its)):
        raise InputError(
            f"crawl {crawl!r} has other settings: {'; '.join(other)}. All its workers have the same: change"
            " thresher.toml, or give --update to change the crawl"
        )


def differences(own: CrawlSettings, crawl: CrawlSettings) -> list[str]:
    """Return the fields in which two settings differ, by their names in thresher.toml: `crawler.min_delay is 0.5, here
    1`.

    A contact that one side leaves empty is no difference.
    """
    mine, theirs = _values(own), _values(crawl)
    return [
        f"{key} is {theirs.get(key, _NOT_SET)}, here {mine.get(key, _NOT_SET)}"
        for key in dict.fromkeys((*theirs, *mine))
        if mine.get(key) != theirs.get(key)
        and not (key == "project.contact" and "" in {own.contact, crawl.contact})
    ]


def changes(before: CrawlSettings, after: CrawlSettings) -> list[str]:
    """Return what changes from one settings to others, by the names in thresher.toml: `crawler.min_delay was 1, is 2
    now`.
    """
    old, new = _values(before), _values(after)
    return [
        f"{key} was {old.get(key, _NOT_SET)}, is {new.get(key, _NOT_SET)} now"
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    ]


def _values(settings: CrawlSettings) -> dict[str, str]:
    """Return each field under its name in thresher.toml, and its value as written there."""
    budget, policy = settings.budget, settings.policy
    return {
        "project.contact": json.dumps(settings.contact),
        "crawler.min_delay": f"{settings.min_delay_ms / 1000:g}",
        "crawler.min_ip_delay": f"{settings.min_ip_delay_ms / 1000:g}",
        "crawler.max_pages_per_host": _number(budget.host),
        "crawler.max_pages_per_domain": _number(budget.domain),
        "crawler.max_hosts_per_domain": _number(budget.hosts),
        **_switched("traps", policy.traps),
        **_switched("query_order", policy.query_order),
    }


def _switched(key: str, switch: HostSwitch) -> dict[str, str]:
    hosts = {f'crawler.hosts."{host}".{key}': json.dumps(on) for host, on in sorted(switch.hosts.items())}
    return {f"crawler.{key}": json.dumps(switch.on), **hosts}


def _number(limit: int | None) -> str:
    return _NOT_SET if limit is None else str(limit)
