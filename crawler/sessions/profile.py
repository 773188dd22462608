"""`Profile`: what a browser keeps of a login, as Playwright's storage state, and what the login was made with. Pure.

No `repr` and no error shows a value of it.
"""

from typing import Any, Literal

import msgspec

from thresher.core import InputError

SESSION_COOKIE = -1.0
"""The `expires` of a cookie that ends with its browser."""


class _Secret(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class ProfileCookie(_Secret, frozen=True, kw_only=True):
    """One cookie. The domain begins with a dot if the hosts under it receive the cookie too."""

    name: str
    value: str
    domain: str
    path: str = "/"
    expires: float = SESSION_COOKIE
    """Seconds since the epoch."""
    http_only: bool = False
    secure: bool = False
    same_site: Literal["Strict", "Lax", "None"] = "Lax"


class StorageItem(_Secret, frozen=True, kw_only=True):
    """One entry of a local storage."""

    name: str
    value: str


class OriginStorage(_Secret, frozen=True, kw_only=True):
    """What the pages of one origin have stored."""

    origin: str
    local_storage: tuple[StorageItem, ...] = ()
    indexed_db: tuple[Any, ...] = msgspec.field(default=(), name="indexedDB")
    """Databases in Playwright's own form."""


class StorageState(_Secret, frozen=True, kw_only=True):
    """Playwright's storage state (`BrowserContext.storage_state`)."""

    cookies: tuple[ProfileCookie, ...] = ()
    origins: tuple[OriginStorage, ...] = ()


class Profile(_Secret, frozen=True, kw_only=True):
    """One login."""

    login_urls: tuple[str, ...]
    """Addresses of the login page: a redirect to one of them means that the login has ended."""
    state: StorageState
    user_agent: str = ""
    """The User-Agent that the login was made with; empty for that of the crawl."""
    proxy: str = ""
    """The proxy that the login was made with, as `crawler.proxy`; empty for that of the crawl."""


def parse_storage_state(text: bytes, name: str) -> StorageState:
    """Return the storage state in a file of that name. Raise `InputError`, which shows no value, if it is none."""
    try:
        state = msgspec.json.decode(text, type=StorageState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # What the message says before the place may be a value of the file.
        _, found, place = str(error).rpartition(" - at ")
        where = f" (wrong at {place})" if found else ""
        raise InputError(f"{name}: no storage state of Playwright{where}") from None
    if not state.cookies and not state.origins:
        raise InputError(f"{name}: a storage state without cookies and without local storage")
    return state


def encode_profile(profile: Profile) -> bytes:
    """Return what `decode_profile` reads."""
    return msgspec.json.encode(profile)


def decode_profile(text: bytes) -> Profile:
    """Return a profile that `encode_profile` wrote. Raise `ValueError` for anything else."""
    return msgspec.json.decode(text, type=Profile)
