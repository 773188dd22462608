"""Write the pages of docs/reference that are generated from the code. With --check,
write nothing, and fail if one of them differs.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from thresher.filters.rules.chosen_rules import RULES
from thresher.filters.rules.presets import PRESETS
from thresher.pipeline import configuration
from thresher.pipeline.commands.app import app
from thresher.pipeline.configuration_template import default_text, template
from thresher.pipeline.console.web.console_app import api_app
from thresher.pipeline.reports.metric_families import FAMILIES
from thresher.pipeline.setting import Setting
from thresher.pipeline.terminal import reasons

REFERENCE = Path(__file__).parent / "reference"


def commands() -> str:
    """Every command with its help, as `--help` says it at 100 columns."""
    names = [info.name or info.callback.__name__ for info in app.registered_commands if info.callback]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        names += [f"{group.name} {info.name}" for info in group.typer_instance.registered_commands]
    parts = ["# Commands\n", "Generated from the code by `make docs`.\n", _help()]
    for name in sorted(names):
        parts += [f"## {name}\n", _help(*name.split())]
    return "\n".join(parts)


def _help(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(REFERENCE.parents[1])}
    # The program is named by its function, or the page would depend on how it was called.
    code = (
        "import sys; sys.argv[0] = 'thresher'; "
        "from thresher.pipeline.commands.app import app; app(prog_name='thresher')"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, *command, "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return f"```\n{said.stdout.strip()}\n```\n"


def configuration_keys() -> str:
    """Every key of thresher.toml with its default."""
    lines = ["# thresher.toml\n", "Generated from the code by `make docs`. An unknown key is an error.\n"]
    for section, kind in configuration.SECTIONS.items():
        settings = configuration.settings_of(section)
        owners = [each for each in get_type_hints(kind).values() if is_dataclass(each)]
        words = [" ".join((each.__doc__ or "").split()) for each in (kind, *owners)]
        lines += [f"## [{section}]\n", f"{' '.join(words)}\n", "| key | default | meaning |", "|---|---|---|"]
        for setting in settings:
            comment = setting.key.comment.replace("|", "\\|")
            lines.append(f"| `{setting.name}` | {_default(setting)} | {comment} |")
        lines.append("")
    lines += ["## As `thresher init` writes it\n", "```toml", template().rstrip(), "```", ""]
    return "\n".join(lines)


def _default(setting: Setting) -> str:
    text = default_text(setting)
    return f"`{text}`" if text else "tables" if setting.key.example else "not set"


def reason_codes() -> str:
    """Every reason code with its words."""
    lines = [
        "# Reason codes\n",
        "Generated from the code by `make docs`. `thresher log`, `thresher status --json` and the metrics have the",
        "codes; `--reason` takes them, alone (`dns`) or with the outcome (`failed:dns`). If a host was given up, the",
        "code begins with `dead_`: `dead_dns`. Another HTTP status than 200 is `status_NNN`.\n",
        "| code | meaning |",
        "|---|---|",
    ]
    lines += [f"| `{code}` | {words} |" for code, words in sorted(reasons.DESCRIPTIONS.items())]
    return "\n".join([*lines, ""])


def rule_sets() -> str:
    """Every preset and rule, with sources, parameters and measurements, as their docstrings say."""
    lines = [
        "# Rules\n",
        "Generated from the code by `make docs`. `filters.preset` names a preset. `filters.rules` names rules, alone",
        'or with parameters: `{rule = "gopher_quality", fewest_words = 30}`. A rule takes the place of the',
        "preset's rule of its name, or comes behind the preset's rules.\n",
        "| preset | rules, in order |",
        "|---|---|",
    ]
    lines += [
        f"| `{name}` | {', '.join(f'`{rule.name}`' for rule in rules) or 'none'} |"
        for name, rules in PRESETS.items()
    ]
    by_module: dict[str, list[Any]] = {}
    for kind in RULES.values():
        by_module.setdefault(kind.__module__, []).append(kind)
    documented = {**by_module, "thresher.filters.rules.fineweb2": [], "thresher.filters.word_tokens": []}
    for name, kinds in documented.items():
        module = import_module(name)
        title, _, rest = (module.__doc__ or "").partition("\n\n")
        lines += ["", f"## {name.rpartition('.')[2]}\n", title.strip(), "", rest.strip()]
        for kind in kinds:
            words = " ".join((kind.__doc__ or "").split())
            lines += ["", f"### `{kind.name}`\n", f"{words}\n", "| parameter | default |", "|---|---|"]
            lines += [f"| `{field.name}` | `{_short(field.default)}` |" for field in fields(kind)]
            lines += ["", f"Measurements: {', '.join(f'`{each}`' for each in kind.measures)}."]
    return "\n".join([*lines, ""])


def _short(value: Any) -> str:
    if isinstance(value, tuple) and value and all(isinstance(each, str) for each in value):
        return f"{len(value)} words, {value[0]!r} first"
    return repr(value)


def rooms() -> str:
    """Return a table of all folders of the product: how many modules each holds, and what its docstring says first."""
    root = REFERENCE.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    lines = [
        "# Rooms\n",
        "Generated from the code by `make docs`: each folder of the product, the number of its modules, and the first",
        "words of its docstring, which says more and names the entry point.\n",
        "| folder | modules | what is in it |",
        "|---|---|---|",
    ]
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"][1:]  # without the module `project`
    packages = [name for layer in reversed(layers) for name in layer.split(" | ")]
    for package in (*packages, "thresher"):
        for path in sorted((root / package).rglob("__init__.py")):
            name = path.parent.relative_to(root)
            number = sum(each.name != path.name for each in path.parent.glob("*.py"))
            story = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
            words, *_ = re.split(
                r" (?:Its |The )?entry points?\b", " ".join(story.split()), flags=re.IGNORECASE
            )
            lines.append(f"| [{name}](../../{name}/__init__.py) | {number} | {words} |")
    return "\n".join([*lines, ""])


def api() -> str:
    """Every route of the console's JSON API with its parameters, and every value with its fields."""
    found = api_app().openapi()
    lines = [
        "# The console's API\n",
        "Generated from the code by `make docs`. `thresher serve` has the same as OpenAPI at `/openapi.json`.\n",
        f"{found['info']['description']}\n",
        "## Routes\n",
        "| route | parameters | returns | |",
        "|---|---|---|---|",
    ]
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            returned = (
                operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
            )
            words = " ".join(operation["description"].split())
            kind = _type(returned) if returned else "text"
            lines.append(f"| `{method.upper()} {path}` | {_parameters(operation)} | {kind} | {words} |")
    lines += ["", "## Values\n"]
    for name, schema in sorted(found["components"]["schemas"].items()):
        if name in {"HTTPValidationError", "ValidationError"}:
            continue
        lines += [f"### {name}\n", f"{' '.join(schema.get('description', '').split())}\n"]
        lines += ["| field | type | meaning |", "|---|---|---|"]
        lines += [
            f"| `{field}` | {_type(value)} | {value.get('description', '')} |"
            for field, value in schema.get("properties", {}).items()
        ]
        lines.append("")
    return "\n".join(lines)


def _parameters(operation: dict[str, Any]) -> str:
    names = [f"`{each['name']}`" for each in operation.get("parameters", []) if each["in"] == "query"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return ", ".join([*names, *([_type(body)] if body else [])])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    return str(schema.get("const") or schema.get("type", "any"))


def metrics() -> str:
    """Every metric with its type, its labels and its meaning."""
    lines = [
        "# Metrics\n",
        "Generated from the code by `make docs`. `thresher status --metrics` and `/metrics` of the console export",
        "these to Prometheus. `source` is the name of a crawl or an ingest; `kind` is that of a worker: `crawler`,",
        "`processor` or `exporter`.",
        "No label holds a URL or a host. Counters of a crawl start anew only when the crawl is forgotten or rebuilt.\n",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    ]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        lines.append(f"| `{family.name}` | {family.type} | {labels} | {family.help} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Write the pages, or compare them with the code. Return the exit code."""
    stale = []
    pages = (
        ("commands.md", commands()),
        ("configuration.md", configuration_keys()),
        ("metrics.md", metrics()),
        ("reasons.md", reason_codes()),
        ("rooms.md", rooms()),
        ("rules.md", rule_sets()),
        ("api.md", api()),
    )
    for path, text in ((REFERENCE / name, text) for name, text in pages):
        if "--check" in sys.argv:
            stale += [str(path)] if not path.exists() or path.read_text() != text else []
        else:
            path.write_text(text)
    for name in stale:
        sys.stderr.write(f"{name} is not what the code says; run `make docs`\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
