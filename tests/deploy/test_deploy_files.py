"""Every file of deploy/ is accepted by the program that reads it, or by a checker of that program's format."""

import json
import re
import subprocess
import sys

import pytest
import yaml  # type: ignore[import-untyped]

from tests.deploy.programs import DEPLOY, ROOT, check, needed_program

COMPOSE = DEPLOY / "compose/compose.yaml"
SERVICES = yaml.safe_load(COMPOSE.read_text())["services"]
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
INTERNET = {"web", "edge"}
"""Networks of the compose file that are not internal."""
MAX_EXPOSED = 3.0
"""The exposure that `systemd-analyze security` may find, of 10."""


def documents(*, of):
    return list(yaml.safe_load_all(check("kubectl", "kustomize", DEPLOY / "kubernetes" / of)))


def test_all_yaml_is_tidy():
    check("yamllint", "--strict", "-c", ROOT / "tests/deploy/yamllint.yaml", DEPLOY)


def test_the_dockerfile_has_no_finding():
    check("hadolint", DEPLOY / "container/Dockerfile")


def test_the_build_context_has_what_the_image_copies_and_no_secret(tmp_path):
    """The build sees the packages, the locks and the files that pyproject.toml names."""
    ignore = (DEPLOY / "container/Dockerfile.dockerignore").read_text()
    seen = set(re.findall(r"^!(.*)$", ignore, re.MULTILINE))
    include = re.search(r"^include = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert include
    assert {name.rstrip("*") for name in json.loads(include[1])} <= seen
    assert {"pyproject.toml", "LICENSE", "NOTICE", "README.md", "requirements-all.lock"} <= seen
    assert all((ROOT / name).exists() for name in seen)


@pytest.mark.parametrize("script", sorted(DEPLOY.rglob("*.sh")), ids=lambda path: path.name)
def test_shell_scripts_have_no_finding(script):
    check("shellcheck", script)


@pytest.mark.parametrize("name", ["compose.yaml", "compose.render.yaml"])
def test_compose_files_follow_the_specification(name):
    check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose" / name)


def test_every_variable_of_the_compose_file_has_a_line_in_the_example():
    used = set(re.findall(r"\$\{(\w+):\?[^}]*\}", COMPOSE.read_text()))
    example = (DEPLOY / "compose/.env.example").read_text()
    named = set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    assert used == named - {"COMPOSE_PROFILES"}
    assert not re.findall(r"\$\{\w+\}", COMPOSE.read_text())


def test_crawlers_share_a_network_with_the_frontier_the_balancer_and_the_console_alone():
    mine = set(SERVICES["fleet"]["networks"])
    beside = {name for name, service in SERVICES.items() if mine & set(service["networks"])} - {"fleet"}
    assert beside == {"valkey", "store", "console"}


def test_only_what_crawls_reaches_the_web_and_only_pages_for_people_are_published():
    assert [name for name, service in SERVICES.items() if "web" in service["networks"]] == ["fleet"]
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"console", "grafana"}
    assert all(port.startswith("${LISTEN:?}:") for ports in published.values() for port in ports)
    networks = yaml.safe_load(COMPOSE.read_text())["networks"]
    assert {name for name, network in networks.items() if not network.get("internal")} == INTERNET


def test_every_server_of_the_compose_file_is_limited_and_comes_back():
    servers = {name: service for name, service in SERVICES.items() if not name.endswith("-setup")}
    assert all("memory" in service["deploy"]["resources"]["limits"] for service in servers.values())
    assert {service["restart"] for service in servers.values()} == {"unless-stopped"}
    assert all(
        ":" in image for image in re.findall(r"_IMAGE=(.*)", (DEPLOY / "compose/.env.example").read_text())
    )


def test_secrets_are_files_that_the_script_makes(tmp_path):
    directory = tmp_path / "compose"
    directory.mkdir()
    (directory / "make-secrets.sh").write_text((DEPLOY / "compose/make-secrets.sh").read_text())
    command = ["bash", directory / "make-secrets.sh", "mailto:a@example.org"]
    subprocess.run(command, check=True, capture_output=True)
    named = {secret["file"] for secret in yaml.safe_load(COMPOSE.read_text())["secrets"].values()}
    assert named == {f"secrets/{path.name}" for path in (directory / "secrets").iterdir()}
    assert (directory / "secrets").stat().st_mode & 0o077 == 0
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (again.returncode, "delete it" in again.stderr) == (2, True)


@pytest.mark.parametrize("of", ["base", "kuberay", "export"])
def test_kustomizations_build_and_meet_the_schemas_of_kubernetes(of, tmp_path):
    built = documents(of=of)
    known = [document for document in built if document["kind"] != "RayCluster"]
    pods = [pod for document in built if document["kind"] == "RayCluster" for pod in ray_pods(document)]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([*known, *pods]))
    answer = check("kubernetes-validate", "--strict", tmp_path / "all.yaml")
    assert answer.count(" passed for resource ") == len(known) + len(pods)


def ray_pods(cluster):
    """Yield the pods of a RayCluster as resources of their own, because Kubernetes has no schema of the rest."""
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    for number, group in enumerate(groups):
        template = group["template"]
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": f"ray-{number}"},
            "spec": template["spec"],
        }


def test_the_example_secret_meets_the_schema():
    check("kubernetes-validate", "--strict", DEPLOY / "kubernetes/base/secret.example.yaml")


def test_manifests_name_only_resources_that_are_there():
    built = documents(of="kuberay")
    secrets = yaml.safe_load_all((DEPLOY / "kubernetes/base/secret.example.yaml").read_text())
    there = {(each["kind"], each["metadata"]["name"]) for each in [*built, *secrets]}
    text = yaml.safe_dump_all(built)
    for key, kind in (
        ("secretName", "Secret"),
        ("priorityClassName", "PriorityClass"),
        ("serviceName", "Service"),
    ):
        names = set(re.findall(rf"{key}: (\S+)", text))
        assert names
        assert {(kind, name) for name in names} <= there
    maps = set(re.findall(r"configMap(?:Ref)?:\n\s+name: (\S+)", text))
    assert {("ConfigMap", name) for name in maps} <= there


def test_exports_outrank_what_may_be_preempted_and_are_not_evicted():
    built = [*documents(of="kuberay"), *documents(of="export")]
    value = {each["metadata"]["name"]: each["value"] for each in built if each["kind"] == "PriorityClass"}
    assert value["thresher-preemptible"] < value["thresher-exports"] < value["thresher-serving"]
    (cluster,) = (each for each in built if each["kind"] == "RayCluster")
    groups = cluster["spec"]["workerGroupSpecs"]
    assert {group["template"]["spec"]["priorityClassName"] for group in groups} == {"thresher-preemptible"}
    (job,) = (each for each in built if each["kind"] == "Job")
    assert job["spec"]["template"]["spec"]["priorityClassName"] == "thresher-exports"
    budgets = {
        each["metadata"]["name"]: each["spec"] for each in built if each["kind"] == "PodDisruptionBudget"
    }
    assert budgets["export"]["maxUnavailable"] == 0
    selected = budgets["export"]["selector"]["matchLabels"].items()
    assert selected <= job["spec"]["template"]["metadata"]["labels"].items()


def test_the_ray_version_of_all_files_is_that_of_the_locks():
    version = re.search(r"^ray==(\S+)", (ROOT / "requirements-all.lock").read_text(), re.MULTILINE)
    assert version
    manifest = (DEPLOY / "kubernetes/kuberay/raycluster.yaml").read_text()
    assert f'rayVersion: "{version[1]}"' in manifest
    assert f"rayproject/ray:{version[1]}-py311" in manifest
    assert "python:3.11" in (DEPLOY / "container/Dockerfile").read_text()


def test_the_ray_cluster_is_one_that_ray_starts():
    pytest.importorskip("ray")
    code = (
        "import sys, yaml; from ray.autoscaler._private.util import prepare_config, validate_config;"
        "made = prepare_config(yaml.safe_load(open(sys.argv[1]))); validate_config(made);"
        "print(made['max_workers'], len(made['provider']['worker_ips']))"
    )
    listed = check(sys.executable, "-c", code, DEPLOY / "ray/cluster.yaml").split()
    assert listed[0] == listed[1]


@pytest.fixture(scope="module")
def unit_root(tmp_path_factory):
    """A root directory with our units, those of the system, and programs of the names that ours start."""
    root = tmp_path_factory.mktemp("root")
    (root / "etc/systemd/system").mkdir(parents=True)
    for unit in UNITS:
        (root / "etc/systemd/system" / unit.name).write_text(unit.read_text())
    for directory in ("/usr/lib/systemd/system", "/lib/systemd/system"):
        copy = root / directory[1:]
        copy.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["cp", "-a", "--no-preserve=ownership", directory, copy], check=False, capture_output=True
        )
    for name in ("thresher", "ray"):
        program = root / "opt/thresher/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return root


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_are_understood_by_systemd_and_little_exposed(unit, unit_root):
    name = unit.name.replace("@", "@main")
    program = needed_program("systemd-analyze")
    verified = subprocess.run(
        [program, "verify", f"--root={unit_root}", "--man=no", name],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in verified.stderr.splitlines() if "thresher" in line]
    assert (verified.returncode, ours) == (0, [])
    security = [
        program,
        "security",
        "--offline=true",
        f"--root={unit_root}",
        f"--threshold={MAX_EXPOSED * 10:.0f}",
    ]
    found = subprocess.run([*security, name], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-300:] + found.stderr


def test_units_leave_room_for_our_own_walls():
    """Landlock, seccomp and the user namespaces of Chromium must still work in a unit."""
    for unit in UNITS:
        text = unit.read_text()
        assert "\nNoNewPrivileges=yes" in text  # what Landlock and seccomp need of a user without powers
        assert not re.search(r"^(MemoryDenyWriteExecute|PrivateUsers|ProcSubset)=", text, re.MULTILINE)
        filters = re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE)
        assert filters
        assert all(each.startswith("~") for each in filters)
        denied = syscalls(" ".join(filters)[1:].split())
        assert not denied & {
            "landlock_create_ruleset",
            "landlock_restrict_self",
            "seccomp",
            "prctl",
            "unshare",
        }
    fleet = (DEPLOY / "systemd/thresher-fleet@.service").read_text()
    assert re.search(r"^RestrictNamespaces=user pid net$", fleet, re.MULTILINE)


def syscalls(groups):
    """Return the system calls of groups of systemd."""
    found = set()
    for group in groups:
        listed = check("systemd-analyze", "syscall-filter", group).splitlines()[1:]
        names = {line.strip() for line in listed if not line.strip().startswith("#")} - {""}
        found |= {name for name in names if not name.startswith("@")}
        found |= syscalls(sorted(name for name in names if name.startswith("@")))
    return found


@pytest.mark.parametrize(
    ("program", "name"), [("systemd-sysusers", "sysusers"), ("systemd-tmpfiles", "tmpfiles")]
)
def test_users_and_directories_of_the_units_can_be_made(program, name, tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    sysusers = [f"--root={tmp_path}", DEPLOY / "systemd/thresher.sysusers.conf"]
    check("systemd-sysusers", *sysusers)
    assert "thresher" in (tmp_path / "etc/passwd").read_text()
    if program == "systemd-tmpfiles":
        check(program, f"--root={tmp_path}", "--create", DEPLOY / "systemd/thresher.tmpfiles.conf")
        assert (tmp_path / "var/lib/thresher/spool").is_dir()


@pytest.mark.parametrize(
    ("server", "health"), [("localhost:8333", "/healthz"), ("localhost:9000", "/minio/health/ready")]
)
def test_haproxy_reads_its_configuration(server, health):
    check("haproxy", "-c", "-f", DEPLOY / "haproxy/haproxy.cfg", STORE_SERVER=server, STORE_HEALTH=health)


def test_images_are_pinned_and_named_without_a_registry():
    texts = [path.read_text() for path in (*DEPLOY.rglob("*.yaml"), DEPLOY / "compose/.env.example")]
    images = {
        image for text in texts for image in re.findall(r"(?:image: |_IMAGE=)([\w./-]+:?[\w.-]*)", text)
    }
    images |= set(re.findall(r"^FROM (\S+)", (DEPLOY / "container/Dockerfile").read_text(), re.MULTILINE))
    assert len(images) > 8
    for image in images - {"thresher"}:  # kustomize gives it its version
        name, _, version = image.partition(":")
        assert re.search(r"\d", version), image
        assert "." not in name.partition("/")[0], image


@pytest.mark.slow
def test_what_the_image_installs_from_its_build_context_runs(tmp_path):
    """The last `pip install` of the Dockerfile, in a copy of what .dockerignore lets in."""
    context, target = tmp_path / "context", tmp_path / "target"
    context.mkdir()
    ignore = (DEPLOY / "container/Dockerfile.dockerignore").read_text()
    for name in re.findall(r"^!(.*)$", ignore, re.MULTILINE):
        subprocess.run(["cp", "-r", ROOT / name, context], check=True)
    (install,) = re.findall(
        r"^RUN (.*pip install .*--no-index .*)$", (DEPLOY / "container/Dockerfile").read_text(), re.MULTILINE
    )
    words = install.split()[1:]
    assert words[-1] == "."
    pip = [sys.executable, "-m", "pip", *words, "--target", target]
    subprocess.run(pip, cwd=context, check=True, capture_output=True)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from thresher.pipeline.commands.app import app; import thresher.frontier.link.functions as f; print(f.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, target], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(target))
    lua = {"thresher" / path.relative_to(ROOT) for path in (ROOT / "frontier").rglob("*.lua")}
    assert lua
    assert all((target / path).exists() for path in lua)
