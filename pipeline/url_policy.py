"""`policy`: what a configuration says of traps and of the order of parameters, as the frontier is told."""

from frontier import NotAUrl, Policy, Switch, canonical
from pipeline.configuration import CrawlerConfig
from pipeline.host_settings import no_host


def policy(settings: CrawlerConfig) -> Policy:
    """The policy of a crawl. Raises `InputError` for a table of a name that is no host's."""
    return Policy(
        traps=_switch(settings, "traps", on=settings.traps),
        query_order=_switch(settings, "query_order", on=settings.query_order),
    )


def _switch(settings: CrawlerConfig, key: str, *, on: bool) -> Switch:
    return Switch(
        on=on, hosts={_host(name): table[key] for name, table in settings.hosts.items() if key in table}
    )


def _host(name: str) -> str:
    """As it stands in URLs: in lower case, and in ASCII."""
    try:
        return canonical(f"http://{name}/").host
    except NotAUrl:
        raise no_host(name) from None
