"""`read_key`: the key that profiles are encrypted with. It lies apart from the project that it protects.

1. `THRESHER_PROFILE_KEY` is the key, or `THRESHER_PROFILE_KEY_FILE` is the path of a file with it. Without either, the
   file is `thresher/profile.key` in the user's configuration directory.
2. Nobody but its owner may read or write the file.
3. It is a key of Fernet: 32 random bytes in base64 (`thresher login` makes one if there is none).
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.core import InputError

if TYPE_CHECKING:
    from cryptography.fernet import Fernet  # 11 ms: for commands with a profile alone

KEY_VARIABLE = "THRESHER_PROFILE_KEY"
KEY_FILE_VARIABLE = "THRESHER_PROFILE_KEY_FILE"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_URL_SAFE = str.maketrans("+/", "-_")


def read_key(environment: Mapping[str, str]) -> "Fernet":
    """Return the key. Raise `InputError`, without a word of the key, if there is none or it is of no use."""
    if text := environment.get(KEY_VARIABLE, ""):
        return _fernet(text, f"the environment variable {KEY_VARIABLE}")
    path = key_file(environment)
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            if os.fstat(file.fileno()).st_mode & _OTHERS:
                raise InputError(f"{path}: others may read this key; run `chmod 600 {path}`")
            return _fernet(file.read(), str(path))
    except OSError as error:
        raise InputError(
            f"{path}: the key of the profiles cannot be read ({error.strerror}); set {KEY_VARIABLE} or "
            f"{KEY_FILE_VARIABLE}, or make a profile with `thresher login`"
        ) from None


def ensure_key(environment: Mapping[str, str]) -> Path | None:
    """Make a key file if there is no key. Return its path if it was made, and None if there is a key."""
    from cryptography.fernet import Fernet  # noqa: PLC0415 - as above

    if environment.get(KEY_VARIABLE):
        return None
    path = key_file(environment)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(Fernet.generate_key() + b"\n")
        return path
    return None


def key_file(environment: Mapping[str, str]) -> Path:
    """Return the path of the key's file, whether it is there or not. Raise `InputError` if the user has no home."""
    if named := environment.get(KEY_FILE_VARIABLE, ""):
        return Path(named)
    if base := environment.get("XDG_CONFIG_HOME", ""):
        return Path(base) / "thresher" / "profile.key"
    try:
        return Path.home() / ".config" / "thresher" / "profile.key"
    except RuntimeError:
        raise InputError(f"profiles need a key: set {KEY_VARIABLE} or {KEY_FILE_VARIABLE}") from None


def _fernet(text: str, where: str) -> "Fernet":
    from cryptography.fernet import Fernet  # noqa: PLC0415 - as above

    try:
        return Fernet(text.strip().translate(_URL_SAFE))
    except ValueError:
        raise InputError(
            f"{where}: no key of profiles; it is 32 bytes in base64, such as `openssl rand -base64 32` writes"
        ) from None
