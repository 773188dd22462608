"""Commands, options, variables and keys that the files of deploy/ and their guides name are there."""

import re
import shlex
import tomllib

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.programs import DEPLOY, ROOT
from tests.docs.test_claims import PLANNED, fault
from thresher.pipeline import configuration

UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TEXTS = sorted(
    [
        *DEPLOY.rglob("*.md"),
        *DEPLOY.rglob("*.y*ml"),
        *(ROOT / "docs/guides").glob("operations*.md"),
        ROOT / "docs/guides/runbook.md",
    ]
)
COMPOSE_RUN = re.compile(r"docker compose run --rm -T (?:fleet|console) (?!\.)([^|<>`&#\n]+)")
INSIDE = re.compile(r"exec deployment/\w+ -- thresher ([^|<>`&#\n]+)")


def manifests():
    """Yield the command of each container that runs our image, as Kubernetes starts it."""
    for path in sorted((DEPLOY / "kubernetes").rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            for container in containers(document):
                if container.get("args"):
                    yield path.name, [*container.get("command", ["thresher"]), *container["args"]]


def containers(value):
    if isinstance(value, dict):
        for key, each in value.items():
            yield from each if key == "containers" else containers(each)
    elif isinstance(value, list):
        for each in value:
            yield from containers(each)


def services():
    for name, service in yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text())["services"].items():
        if "THRESHER_IMAGE" in service["image"]:
            yield (
                f"compose {name}",
                ["thresher", *[re.sub(r"\$\{\w+:\?\}", "1", word) for word in service["command"]]],
            )


def units():
    example = (DEPLOY / "systemd/thresher.env").read_text()
    shown = re.findall(r"^(?:# )?(THRESHER_\w+=.*)$", example, re.MULTILINE)
    for path in UNITS:
        text = path.read_text()
        (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        lines = re.findall(r"^Environment=(THRESHER_\w+=.*)$", text, re.MULTILINE) + shown
        for name, _, value in (each.partition("=") for each in lines):
            line = re.sub(rf"\$\{{?{name}\}}?", value, line) if value else line
        program, *words = shlex.split(line.replace("%i", "main"))
        yield path.name, [program.removeprefix("/opt/thresher/bin/"), *words]


def cluster():
    described = yaml.safe_load((DEPLOY / "ray/cluster.yaml").read_text())
    for line in described["head_start_ray_commands"] + described["worker_start_ray_commands"]:
        for part in line.split(";"):
            if " ray " in f" {part.replace('/opt/thresher/bin/', '')}":
                yield "ray/cluster.yaml", shlex.split(part.replace("/opt/thresher/bin/", ""))


def typed():
    for path in TEXTS:
        for found in [*COMPOSE_RUN.findall(path.read_text()), *INSIDE.findall(path.read_text())]:
            yield path.name, ["thresher", *shlex.split(found)]


COMMANDS = [*manifests(), *services(), *units(), *cluster(), *typed()]


@pytest.mark.parametrize(
    ("file", "words"), COMMANDS, ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_every_command_can_be_typed(file, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, *rest = words
    if program == "ray":
        scripts = pytest.importorskip("ray.scripts.scripts")
        command = {"start": scripts.start, "stop": scripts.stop}[rest[0]]
        command.make_context("ray", rest[1:])
        return
    assert program == "thresher"
    if rest[0] in PLANNED:
        pytest.skip(f"thresher {rest[0]} is not there yet")
    error = fault(rest)
    assert error is None, f"{file}: {shlex.join(words)}: {error.format_message()}"


def test_the_files_have_commands():
    assert {words[0] for _, words in COMMANDS} == {"thresher", "ray"}
    assert len({file for file, _ in COMMANDS}) >= 10


def test_every_variable_of_thresher_is_read_by_the_code_or_by_a_unit():
    code = "\n".join(path.read_text() for path in (ROOT / "pipeline").rglob("*.py"))
    exec_lines = "\n".join(
        re.findall(r"^ExecStart=.*$", "\n".join(unit.read_text() for unit in UNITS), re.MULTILINE)
    )
    for path in [
        *DEPLOY.rglob("*.y*ml"),
        *UNITS,
        DEPLOY / "systemd/thresher.env",
        DEPLOY / "container/Dockerfile",
    ]:
        for name in set(re.findall(r"\b(THRESHER_[A-Z_]+)\b", path.read_text())) - {"THRESHER_IMAGE"}:
            assert f'"{name}"' in code or name in exec_lines, f"{path}: nobody reads {name}"


def configurations():
    made = (DEPLOY / "compose/make-secrets.sh").read_text()
    (compose,) = re.findall(r"thresher\.toml <<END\n(.*?)^END$", made, re.DOTALL | re.MULTILINE)
    yield compose.replace("$contact", "mailto:a@example.org").replace("$redis", "x").replace("$postgres", "x")
    for secret in yaml.safe_load_all((DEPLOY / "kubernetes/base/secret.example.yaml").read_text()):
        if "thresher.toml" in secret["stringData"]:
            yield secret["stringData"]["thresher.toml"]


@pytest.mark.parametrize("text", list(configurations()), ids=["compose", "kubernetes"])
def test_every_configuration_is_read_without_a_complaint(text, tmp_path):
    (tmp_path / "thresher.toml").write_text(text)
    found = configuration.load(tmp_path)
    assert found.project.storage == tomllib.loads(text)["project"]["storage"]
