"""The files that a confined process may open, restricted by Landlock.

A parser may read code: modules and character sets are imported when they are first needed, and C libraries look for
their tables. Any user may read these files. A parser may read no project directory, home directory or key, nothing in
/proc, and nothing else in /etc.
"""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

SYSTEM_PATHS = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
    *("/usr/share/zoneinfo", "/etc/localtime", "/etc/ld.so.cache"),
)
"""Shared libraries, locales, character sets and time zones."""
PYTHON_PATH_NAMES = ("stdlib", "platstdlib", "purelib", "platlib")
"""Names in `sysconfig` of the places of the standard library and installed packages."""

INSTALLED_PATTERN = "*.dist-info"
"""Each installed package has such a directory beside it ("Recording installed projects" of the Python Packaging User
Guide), in an environment, in a user's own place (`pip install --user`) and elsewhere (`--target`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPaths:
    """Files, and directories with everything below them. Paths that do not exist are left out."""

    readable: tuple[Path, ...] = ()
    listable: tuple[Path, ...] = ()
    """Directories in which names, here and below, may be read, but no file."""
    executable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    """Directories in which files may be made, changed and removed."""


def code_paths() -> AllowedPaths:
    """Return where the code of this interpreter lies, according to its `sys.path`.

    A source tree may hold a project too, so only its packages may be read. A directory that packages were installed
    into holds no project, but libraries that are no packages: all of it may be read.
    """
    # An editable installation is not on the path: imported modules, such as this one, show where it is.
    roots = (
        *map(Path, sys.path),
        *(
            Path(file).parents[1]
            for name, module in [*sys.modules.items()]
            if (file := _initializer(name, module))
        ),
    )
    installed = (
        *(Path(sysconfig.get_path(name)) for name in PYTHON_PATH_NAMES),
        *(path for path in dict.fromkeys(roots) if path.is_dir() and any(path.glob(INSTALLED_PATTERN))),
    )
    trees = tuple(
        path
        for path in dict.fromkeys(roots)
        if path.is_dir() and not any(path.is_relative_to(place) for place in installed)
    )
    modules = (module for tree in trees for module in _importable(tree))
    return AllowedPaths(readable=(*installed, *modules, *map(Path, SYSTEM_PATHS)), listable=trees)


def restrict(allowed: AllowedPaths) -> int:
    """Let this thread, and every process that it starts, open nothing but those paths.

    If the kernel can deny it (version 6 of its interface), they can neither signal processes outside nor connect to
    abstract sockets.

    Return the version of the kernel's interface. Raise `OSError` if the kernel has no Landlock.
    """
    from landlockpy import AccessFS, Ruleset, Scope  # noqa: PLC0415 - it exists only on Linux

    file_rights = AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.EXECUTE | AccessFS.TRUNCATE
    read = AccessFS.READ_FILE | AccessFS.READ_DIR
    write = ~AccessFS.NONE & ~AccessFS.EXECUTE & ~AccessFS.MAKE_CHAR & ~AccessFS.MAKE_BLOCK
    rights = (
        (allowed.readable, read),
        (allowed.listable, AccessFS.READ_DIR),
        (allowed.executable, read | AccessFS.EXECUTE),
        (allowed.writable, write),
    )
    with Ruleset(scoped=Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL) as rules:
        for paths, path_rights in rights:
            for path in paths:
                if path.exists():
                    rules.allow_path(path, path_rights if path.is_dir() else path_rights & file_rights)
        rules.restrict()
        return rules.abi_version


def is_world_readable(paths: Iterable[Path]) -> bool:
    """Return whether every user may read these paths, as far as modes say. Paths that do not exist are left out."""

    def has(path: Path, mode: int) -> bool:
        return path.stat().st_mode & mode == mode

    return all(
        has(path, 0o005 if path.is_dir() else 0o004)
        and all(has(parent, 0o001) for parent in path.resolve().parents)
        for path in paths
        if path.exists()
    )


def _initializer(name: str, module: ModuleType) -> str:
    """Return the file of a package that no other package contains; empty for any other module."""
    file = getattr(module, "__file__", None) or ""
    return file if "." not in name and Path(file).name == "__init__.py" else ""


def _importable(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".py") or _is_package(entry):
                yield Path(entry)


def _is_package(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir() and Path(entry, "__init__.py").exists()
    except OSError:
        return False  # a link in a circle, or to what this user may not see
