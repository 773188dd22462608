"""What to type if the packages of an extra are missing."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from thresher.core.errors import InputError


def missing_extra(extra: str, need: str, alternative: str = "") -> InputError:
    """Return the error that says what needs the extra, and the command that installs it.

    `need` is a clause such as `--plot needs matplotlib`; `alternative` is what else the user can do.
    """
    instead = f"; or {alternative}" if alternative else ""
    return InputError(f"{need}; install the extra '{extra}': {install_command(extra)}{instead}")


def install_command(extra: str) -> str:
    """Return the command that installs an extra into this environment, in the way in which Thresher was installed.

    A tool of uv or pipx is installed again, because its environment belongs to that program. Everywhere else pip, or uv
    if the environment has no pip, adds the packages, and keeps those that are there.
    """
    # Nearly every command imports this module and calls nothing; they take 20 ms to import.
    import json  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        found = distribution("thresher")
    except PackageNotFoundError:  # a checkout on PYTHONPATH
        target = ["-e", f"{Path(__file__).resolve().parents[2]}[{extra}]"]
    else:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable"):
            target = ["-e", f"{unquote(urlsplit(origin['url']).path)}[{extra}]"]
        elif origin:
            target = [f"thresher[{extra}] @ {origin['url']}"]
        else:  # from an index, or a directory of wheels
            target = [f"thresher[{extra}]=={found.version}"]
    return shlex.join([*_installer(), *target])


def _installer() -> list[str]:
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").exists():
        return ["uv", "tool", "install"]
    if (prefix / "pipx_metadata.json").exists():
        return ["pipx", "install", "--force"]
    if find_spec("pip") is None:
        return ["uv", "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install"]
