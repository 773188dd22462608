"""Profiles on the disk: one encrypted file each, in a folder of the project that is no part of its storage.

The encryption is Fernet (AES-128 in CBC mode, HMAC with SHA-256): a changed file is refused, as a wrong key is.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from thresher.core import InputError
from thresher.crawler.sessions.profile import Profile, decode_profile, encode_profile

if TYPE_CHECKING:
    from cryptography.fernet import Fernet  # 11 ms: for commands with a profile alone

FOLDER = "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HEAD = b"thresher profile 1\n"
"""First line of a file; the number is the version of what follows."""


def profile_path(directory: Path, name: str) -> Path:
    """Return where a profile of a project lies. Raise `InputError` if the name cannot be that of a file."""
    if not _NAME.fullmatch(name):
        raise InputError(f"profile {name!r}: a name has letters, digits, dots, hyphens and underscores")
    return directory / FOLDER / f"{name}.profile"


def write_profile(path: Path, profile: Profile, key: "Fernet") -> None:
    """Write a profile. Readers see the old one until the new one is complete; nobody but the owner may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:  # mode 600
        try:
            file.write(_HEAD + key.encrypt(encode_profile(profile)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise


def read_profile(path: Path, key: "Fernet") -> Profile:
    """Return the profile in a file. Raise `InputError` if there is none, or if it was written with another key."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415 - as above

    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the profile cannot be read ({error.strerror}); make it with "
            f"`thresher login URL --profile {path.stem}`"
        ) from None
    if not text.startswith(_HEAD):
        raise InputError(
            f"{path}: no profile of this version of Thresher; make it again with `thresher login`"
        )
    try:
        return decode_profile(key.decrypt(text.removeprefix(_HEAD).strip()))
    except (InvalidToken, ValueError):
        raise InputError(
            f"{path}: the profile was written with another key, or is damaged; set the key that it was written with, "
            "or make it again with `thresher login`"
        ) from None
