"""Peers of which one script has several: the tool to run is an argument, and each needs an environment of its own.

Standard library only.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.peers.costs import peak_mb


def chosen_tool(tools: Mapping[str, Any], description: str | None) -> tuple[str, Path]:
    """Read the arguments: one of `tools`, and `--texts FILE.jsonl`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool", choices=sorted(tools))
    parser.add_argument("--texts", type=Path, required=True)
    args = parser.parse_args()
    return args.tool, args.texts.resolve()


def name_and_version(tool: str) -> str:
    """Return what a line calls a tool."""
    return f"{tool} {version(tool)}"


def measure_tool(tools: Mapping[str, Callable[[Path], Mapping[str, float]]], description: str | None) -> None:
    """Run the tool that the arguments choose over their texts, and print what it finds, as one JSON line."""
    tool, texts = chosen_tool(tools, description)
    found = tools[tool](texts)
    print(json.dumps({"peer": name_and_version(tool), **found, "rss_mb": peak_mb()}))
