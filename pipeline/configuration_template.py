"""The text of a new `thresher.toml`, generated from the settings that `pipeline.configuration` reads."""

import json
from typing import Any

from thresher.core.settings import format_size
from thresher.pipeline.configuration import SECTIONS, settings_of
from thresher.pipeline.setting import Setting

_HEADER = "# thresher.toml: what this project crawls with and keeps. Every key has a default but `contact`.\n"


def template(contact: str = "") -> str:
    """Return the text that `thresher init` writes: every key with its default, commented out, and the contact."""
    return "\n".join([_HEADER, *(_section(name, contact) for name in SECTIONS)])


def default_text(setting: Setting) -> str:
    """Return the default of a key as TOML; empty if the key has none."""
    default: Any = setting.default
    if default is None or setting.key.example:
        return ""
    return json.dumps(format_size(default) if setting.key.is_size else default)


def _section(name: str, contact: str) -> str:
    # A table ends the keys of its section: the tables come last, so that each line may be uncommented alone.
    settings = sorted(settings_of(name), key=lambda setting: bool(setting.key.example))
    starts = [_start(setting, contact) for setting in settings]
    width = min(max(map(len, starts)), 32)
    lines = [
        f"{start.ljust(width)} # {setting.key.comment}"
        for start, setting in zip(starts, settings, strict=True)
    ]
    return "\n".join([f"[{name}]", *lines, ""])


def _start(setting: Setting, contact: str) -> str:
    if setting.key.is_required:
        # JSON and TOML's basic strings escape the same characters.
        return f"{setting.name} = {json.dumps(contact)}"
    if setting.key.example:
        return f"#   {setting.key.example}"
    text = default_text(setting)
    return f"# {setting.name} = {text}" if text not in {"", '""'} else f"#   {setting.name}"
