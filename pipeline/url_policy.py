"""`policy`: what a configuration says of traps and of the order of parameters, as the frontier is told."""

from frontier import HostSwitch, InvalidUrl, UrlPolicy, canonicalize
from pipeline.configuration import CrawlerConfig
from pipeline.host_settings import invalid_host_error


def policy(settings: CrawlerConfig) -> UrlPolicy:
    """The policy of a crawl. Raises `InputError` for a table of a name that is no host's."""
    return UrlPolicy(
        traps=_switch(settings, "traps", on=settings.traps),
        query_order=_switch(settings, "query_order", on=settings.query_order),
    )


def _switch(settings: CrawlerConfig, key: str, *, on: bool) -> HostSwitch:
    return HostSwitch(
        on=on, hosts={_host(name): table[key] for name, table in settings.hosts.items() if key in table}
    )


def _host(name: str) -> str:
    """As it stands in URLs: in lower case, and in ASCII."""
    try:
        return canonicalize(f"http://{name}/").host
    except InvalidUrl:
        raise invalid_host_error(name) from None
