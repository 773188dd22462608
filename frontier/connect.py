"""`connect`: a client for the Redis or Valkey that an address names, once it has answered."""

from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.exceptions import RedisError

from core import InputError, Unavailable
from frontier.link import Link, Single, one_line

_SCHEMES = ("redis", "rediss", "unix")


async def connect(address: str) -> Link:
    """Return a client of the server at `address` (redis://, rediss:// or unix://) that answered a ping.

    Raises `InputError` for another kind of address, `Unavailable` where nothing answers. A password in the
    address is in no message.
    """
    if urlsplit(address).scheme not in _SCHEMES:
        raise InputError(
            f'project.redis: {_shown(address)} is not an address; write "embedded" or redis://HOST:PORT'
        )
    try:
        client = Redis.from_url(address)
    except ValueError as error:
        raise InputError(f"project.redis: {_shown(address)} is not an address: {one_line(error)}") from error
    try:
        await client.ping()
    except (RedisError, OSError) as error:
        await client.aclose()
        raise Unavailable(
            f"Redis at {_shown(address)} does not answer: {one_line(error)};"
            ' start it, or set project.redis = "embedded"'
        ) from error
    return Single(client)


def _shown(address: str) -> str:
    credentials, at, rest = address.rpartition("@")
    return f"{credentials.partition('://')[0]}://{rest}" if at else address
