"""`connect`: the link to the Redis or Valkey server, or the cluster, at an address."""

from redis.asyncio import Redis
from redis.asyncio.connection import parse_url
from redis.exceptions import RedisError

from thresher.core import InputError, Unavailable
from thresher.core.printable_address import printable_address
from thresher.frontier.link.call import Link
from thresher.frontier.link.call_retry import one_line
from thresher.frontier.link.cluster import ClusterLink
from thresher.frontier.link.redis_client import redis_client, reply_timeout
from thresher.frontier.link.single import SingleLink

_BEGINNINGS = ("redis://", "rediss://", "unix://")


async def connect(address: str) -> Link:
    """Return a link to the server at `address` (redis://, rediss:// or unix://), or to the cluster that it belongs to.

    The address may name several nodes of a cluster, separated by commas (redis://HOST:PORT,HOST:PORT): one that answers
    is enough to learn of the others. Raise `InputError` for another kind of address, and `Unavailable` if nothing
    answers. No message contains a password of the address.
    """
    addresses = _addresses(address)
    last_error: Exception | None = None
    for each in addresses:
        server = _client(each)
        try:
            async with reply_timeout():
                info = await server.info("cluster")
                clustered = bool(info.get("cluster_enabled"))
        except (RedisError, OSError) as error:
            await server.aclose()
            last_error = error
            continue
        if clustered:
            await server.aclose()
            return ClusterLink(addresses)
        if len(addresses) > 1:
            await server.aclose()
            raise InputError(
                f"project.redis: {printable_address(each)} is not in a cluster; name one server, or nodes of a cluster"
            )
        return SingleLink(server)
    raise Unavailable(
        f"Redis at {','.join(map(printable_address, addresses))} does not answer: {one_line(last_error or OSError())};"
        ' start it, or set project.redis = "embedded"'
    ) from last_error


def _addresses(address: str) -> list[str]:
    """Return each address of a list, with the scheme and the credentials of the first: a list names only hosts."""
    if not address.startswith(("redis://", "rediss://")):
        return [address]
    scheme, _, rest = address.partition("://")
    credentials, at, hosts = rest.rpartition("@")  # a password may contain commas
    return [
        f"{scheme}://{credentials}{at}{host.strip().removeprefix(f'{scheme}://')}"
        for host in hosts.split(",")
    ]


def _client(address: str) -> Redis:
    # The parser's own error may contain the password.
    wrong = InputError(
        f'project.redis: {printable_address(address)} is not an address; write "embedded" or redis://USER:PASSWORD@HOST:PORT'
    )
    if not address.startswith(_BEGINNINGS):
        raise wrong
    try:
        return redis_client(parse_url(address))
    except ValueError:
        raise wrong from None
