"""Start a browser that can reach no network and no files but its own, as the user nobody if we are root.

The browser's own sandbox, which needs user namespaces, keeps its pages from the rest. The walls here stand around all
of the browser, and hold even if a page breaks out of that sandbox. The caller that starts the browser gets a launcher
(`write_launcher`), a program to start in its place.
"""

import os
import resource
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from thresher.isolation import filesystem, privileges, syscalls
from thresher.isolation.environment import scrub_environment
from thresher.isolation.resource_limit import set_resource_limit

BOOTSTRAP_CODE = (
    "import sys; sys.path[:] = {path!r}; "
    "from thresher.isolation.browser_launch import main; main(sys.argv[1:])"
)
PROFILE_OPTION = "--user-data-dir="
EXECUTABLE_PATHS = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/opt", "/sbin")
READABLE_PATHS = ("/etc/fonts", "/etc/chromium", "/etc/chromium.d", "/etc/ld.so.cache", "/etc/localtime")
WRITABLE_PATHS = (
    *("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"),
    "/dev/shm",  # noqa: S108 - shared memory has no other place
    "/proc",  # its sandbox writes there when it makes namespaces; it cannot look into other processes
)
UNREACHABLE_DIRECTORY = "nobody may not enter"
"""Beginning of the message, before the path of a directory, when root starts a browser whose profile lies where nobody
may not go.
"""
MAX_FILE_BYTES = 1 << 30
"""Bytes of one file, shared memory included."""
MAX_PROCESSES = 8192
"""Processes of nobody, each thread counted: as many as some dozen browsers have."""


def write_launcher(program: str, directory: Path, temporary_directory: Path) -> Path:
    """Write a program into a directory that starts the browser `program` within the walls of this module, and return
    its path. The browser's temporary files lie in `temporary_directory`, which should have a short path: the path of
    a socket that the browser makes there has at most 107 bytes (unix(7)).
    """
    script = directory / "browser"
    path = [entry or str(Path.cwd()) for entry in sys.path]
    words = [sys.executable, "-P", "-c", BOOTSTRAP_CODE.format(path=path), program, str(temporary_directory)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o700)
    return script


def main(words: Sequence[str]) -> None:
    """Become the browser. `words` are its path, its directory for temporary files, and its arguments. Exit with a line
    that begins with `UNREACHABLE_DIRECTORY` if root cannot start it.
    """
    program, directory, *arguments = words
    profile = next(
        Path(word.removeprefix(PROFILE_OPTION)) for word in arguments if word.startswith(PROFILE_OPTION)
    )
    temporary = Path(directory)
    for place in (temporary.parent.parent, temporary.parent, profile.parent):
        if os.geteuid() == 0 and not filesystem.is_world_readable([place]):
            sys.exit(f"{UNREACHABLE_DIRECTORY} {place}")
    environment = {**scrub_environment(os.environ), "HOME": str(profile), "TMPDIR": str(temporary)}
    _confine(Path(program), [profile, temporary])
    os.execve(program, [program, *arguments], environment)  # noqa: S606 - no shell, on purpose


def _confine(program: Path, own: Sequence[Path]) -> None:
    """Put up the walls that the kernel offers; `isolation.probe` reports what it does not offer."""
    has_seccomp = True
    try:
        syscalls.load_seccomp()
    except (RuntimeError, ImportError):
        has_seccomp = False
    may_be_nobody = True
    if os.geteuid() == 0:
        try:
            for path in own:
                os.chown(path, privileges.NOBODY_ID, privileges.NOBODY_ID)
        except OSError:  # a container may give root no right to
            may_be_nobody = False
    code = program.resolve().parent
    with suppress(OSError, ImportError):
        filesystem.restrict(
            filesystem.AllowedPaths(
                executable=(*map(Path, EXECUTABLE_PATHS), code),
                readable=tuple(map(Path, READABLE_PATHS)),
                writable=(*map(Path, WRITABLE_PATHS), *own),
            )
        )
    if privileges.drop_privileges(can_be_nobody=may_be_nobody) == "nobody":
        set_resource_limit(resource.RLIMIT_NPROC, MAX_PROCESSES)
    set_resource_limit(resource.RLIMIT_CORE, 0)
    set_resource_limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    if has_seccomp:
        with suppress(OSError):
            syscalls.restrict_browser()
