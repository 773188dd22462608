"""How a browser is begun, where it has nothing to take: no network, no files but its own, no user but nobody where we are root.

Its pages are kept from the rest by its own sandbox, which needs user namespaces. These walls stand around all of it: they hold where a
page has broken out of that sandbox. Whoever starts the browser is given a `launcher`, a program to start in its place.
"""

import os
import resource
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from isolation import filesystem, privileges, syscalls
from isolation.environment import scrub_environment
from isolation.resource_limit import set_resource_limit

BOOTSTRAP_CODE = (
    "import sys; sys.path[:] = {path!r}; from isolation.browser_launch import main; main(sys.argv[1:])"
)
PROFILE_OPTION = "--user-data-dir="
EXECUTABLE_PATHS = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/opt", "/sbin")
READABLE_PATHS = ("/etc/fonts", "/etc/chromium", "/etc/chromium.d", "/etc/ld.so.cache", "/etc/localtime")
WRITABLE_PATHS = (
    *("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"),
    "/dev/shm",  # noqa: S108 - shared memory has no other place
    "/proc",  # its sandbox writes there when it makes namespaces; what is not its own it cannot look into
)
UNREACHABLE_DIRECTORY = "nobody may not enter"
"""What is said, before the path of a directory, where root begins a browser whose profile lies where nobody may not go."""
MAX_FILE_BYTES = 1 << 30
"""Of one file, shared memory included."""
MAX_PROCESSES = 8192
"""Of nobody, threads counted each: as many as some dozen browsers have."""


def write_launcher(program: str, directory: Path, temporary_directory: Path) -> Path:
    """Write a program into a directory that begins the browser `program` as this module says, and return its path. The browser's temporary
    files lie in `temporary`, which should be short: a socket that it makes there has a path of at most 107 bytes (unix(7)).
    """
    script = directory / "browser"
    path = [entry or str(Path.cwd()) for entry in sys.path]
    words = [sys.executable, "-P", "-c", BOOTSTRAP_CODE.format(path=path), program, str(temporary_directory)]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o700)
    return script


def main(words: Sequence[str]) -> None:
    """Become the browser. `words` are its path, its directory for temporary files, and its arguments. Ends with a line that begins with `UNREACHABLE_DIRECTORY` where root cannot begin it."""
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
    os.execve(program, [program, *arguments], environment)  # noqa: S606 - without a shell, as it should be


def _confine(program: Path, own: Sequence[Path]) -> None:
    """Put up the walls that the kernel offers; what it does not offer is said of it elsewhere (`isolation.probe`)."""
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
