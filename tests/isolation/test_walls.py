"""A process that parses pages has nothing to take, whatever a page makes it do: every escape runs in a real one.

Each escape runs in a process without walls as well. If it fails there too, it shows nothing about the walls, and is
skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from tests.isolation import escape_report, escapes
from tests.isolation.escapes import EVERY, FILES, MEMORY, NETWORK, OF_BROWSER, PROCESSES, WRITES
from tests.isolation.kernel_without import remove_features
from thresher.isolation import (
    ConfinementLimits,
    WorkerProcess,
    confine,
    filesystem,
    privileges,
    probe_confinement,
    syscalls,
)

ROOT = Path(__file__).resolve().parents[2]
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""Begins a program as a user who is not root, and may read what root may: this Python may lie in root's home."""
LACKING = (sys.executable, "-m", "tests.isolation.kernel_without")
NAMES = [escape.__name__ for escape in EVERY]


def imprisoned(directory, *before):
    code = f"from tests.isolation.escape_report import main; main({str(directory)!r})"
    words = [*before, sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=["as this user", "as an ordinary user"])
def found(request):
    """Return what every escape got, for each user who starts the process."""
    command = [] if request.param == "as this user" else AS_USER
    if command and os.geteuid() != 0:
        pytest.skip("this user is an ordinary one")
    if command and (
        shutil.which("unshare") is None or subprocess.run([*AS_USER, "true"], check=False).returncode != 0
    ):
        pytest.skip("the kernel makes no user namespaces here")
    # Not below `tmp_path`, which may lie in /dev/shm: there a browser may write.
    with TemporaryDirectory(prefix="thresher-test-") as directory:
        return imprisoned(Path(directory), *command)


@pytest.mark.parametrize("name", NAMES)
def test_an_escape_gets_nothing(found, name):
    if found["probe"]["lacks"]:
        pytest.skip(f"the machine lacks: {found['probe']['lacks']}")
    if not found["unconfined"].get(name, "not tried: it would fill the machine's memory"):
        pytest.skip("no process of this user and machine can do that")
    assert found["confined"][name] == ""


@pytest.mark.parametrize("name", [escape.__name__ for escape in OF_BROWSER])
def test_a_program_started_like_the_browser_gets_nothing_either(found, name):
    if found["browser"] is None:
        pytest.skip("there is no Python here that every user may read, to stand for the browser")
    if found["probe"]["lacks"]:
        pytest.skip(f"the machine lacks: {found['probe']['lacks']}")
    if not found["unconfined"][name]:
        pytest.skip("no process of this user and machine can do that")
    assert found["browser"]["got"][name] == ""


def test_a_confined_process_has_no_rights_and_can_gain_none(found):
    who = {"nobody": "65534", "root": "0", "own": "1000"}[found["probe"]["user"]]
    if found["probe"]["user"] == "own" and os.geteuid() != 0:
        who = str(os.geteuid())
    assert found["status"]["Uid"].split() == [who] * 4
    assert int(found["status"]["CapEff"], 16) == 0
    assert found["status"]["NoNewPrivs"] == "1"
    assert not found["probe"]["seccomp"] or found["status"]["Seccomp"] == "2"


def test_the_browser_is_never_root(found):
    if found["browser"] is None:
        pytest.skip("there is no Python here that every user may read, to stand for the browser")
    status = dict(line.split(":\t", 1) for line in found["browser"]["status"].splitlines())
    assert "0" not in status["Uid"].split()
    assert int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"] == "1"


def test_a_confined_process_never_had_a_secret(found):
    assert not found["secret"]


def told(pipe, target, group, missing):
    """Confine this process on a machine that lacks one of the walls, and send what each escape got."""
    if missing == "libseccomp":
        syscalls.load_seccomp = lambda: (_ for _ in ()).throw(RuntimeError("Unable to find libseccomp"))
    else:
        remove_features(missing)
    confinement = confine(ConfinementLimits(memory_bytes=escape_report.MEMORY))
    got = {escape.__name__: escapes.try_escape(escape, target) for escape in group}
    pipe.send_bytes(msgspec.msgpack.encode((confinement, got)))


def alone(directory, group, missing):
    if lacks := probe_confinement().lacks:
        pytest.skip(f"the machine lacks: {lacks}")
    with escape_report.targets(directory) as target:
        process = WorkerProcess(told, target("alone"), group, missing, is_confined=True)
        confinement, got = msgspec.msgpack.decode(process.pipe.recv_bytes())
        process.close()
    return confinement["lacks"], {name for name, text in got.items() if text}


def test_without_landlock_only_reading_escapes(tmp_path):
    (said,), got = alone(tmp_path, EVERY, "landlock")
    assert "no Landlock" in said
    assert "may read what its user may read" in said
    kept = {escape.__name__ for escape in (*WRITES, *NETWORK, *PROCESSES, *MEMORY)}
    assert got & kept == set()
    assert got <= {escape.__name__ for escape in FILES}
    assert {"read_own_environment", "read_own_memory_of_the_start"} & got == set()
    if os.geteuid() == 0:  # or the process is the same user's as the one that keeps the secret
        assert "read_environment_of_keeper" not in got


@pytest.mark.parametrize(
    ("missing", "reason"),
    [("seccomp", "the kernel or the container takes no filter"), ("libseccomp", "libseccomp2")],
)
def test_without_seccomp_the_walls_of_landlock_hold(tmp_path, missing, reason):
    (said,), got = alone(tmp_path, [*FILES, *WRITES, *MEMORY], missing)
    assert "no seccomp" in said
    assert reason in said
    # No limit counts shared memory, and Landlock knows no modes.
    assert got <= {"share_memory", "change_mode", "change_root"}


def status_of_nobody(pipe):
    pipe.send((privileges.drop_privileges(can_be_nobody=True), Path("/proc/self/status").read_text()))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_becomes_nobody(tmp_path):
    process = WorkerProcess(status_of_nobody, is_confined=False)
    who, status = process.pipe.recv()
    process.close()
    lines = dict(line.split(":\t", 1) for line in status.splitlines())
    if who != "nobody":
        pytest.skip("nobody is no user here")
    assert lines["Uid"].split() == lines["Gid"].split() == ["65534"] * 4
    assert lines["Groups"].strip() == ""
    assert int(lines["CapPrm"], 16) == int(lines["CapEff"], 16) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lack what makes it another user")
def test_root_that_cannot_become_nobody_has_no_capability():
    code = (
        "from thresher.isolation import privileges; print(privileges.drop_privileges(can_be_nobody=True));"
        " print(open('/proc/self/status').read())"
    )
    words = [*LACKING, "capabilities", sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    who, *rest = done.stdout.splitlines()
    lines = dict(line.split(":\t", 1) for line in rest if line)
    assert who == "root"
    assert lines["Uid"].split() == ["0"] * 4
    assert int(lines["CapPrm"], 16) == int(lines["CapEff"], 16) == int(lines["CapInh"], 16) == 0
    assert lines["NoNewPrivs"] == "1"


def test_the_process_becomes_nobody_only_if_nobody_may_read_the_code():
    with TemporaryDirectory() as directory:
        shut, file = Path(directory), Path(directory, "module.py")
        file.touch()
        file.chmod(0o644)
        shut.chmod(0o711)
        assert filesystem.is_world_readable([file, shut / "not-there"])
        shut.chmod(0o700)
        assert not filesystem.is_world_readable([file])
        shut.chmod(0o711)
        file.chmod(0o600)
        assert not filesystem.is_world_readable([file])


def test_only_the_packages_of_a_source_tree_may_be_read(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "data").mkdir()
    (tmp_path / "thresher.toml").touch()
    (tmp_path / "module.py").touch()
    (tmp_path / "circle").symlink_to("circle")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    allowed = filesystem.code_paths()
    assert tmp_path in allowed.listable
    assert {path for path in allowed.readable if path.is_relative_to(tmp_path)} == {
        tmp_path / "package",
        tmp_path / "module.py",
    }


def test_an_editable_installation_is_found_through_its_imported_modules(monkeypatch):
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path and Path(path) != ROOT])
    assert ROOT / "pipeline" in filesystem.code_paths().readable


def confine_beside_a_thread(pipe):
    import threading

    threading.Thread(target=threading.Event().wait, daemon=True).start()
    try:
        confine(ConfinementLimits(memory_bytes=escape_report.MEMORY))
    except RuntimeError as error:
        pipe.send(str(error))


def test_a_process_with_a_second_thread_cannot_be_confined():
    process = WorkerProcess(confine_beside_a_thread, is_confined=True)
    assert "a library started a thread" in process.pipe.recv()
    process.close()


def test_all_of_a_directory_that_packages_were_installed_into_may_be_read(tmp_path, monkeypatch):
    """As by `pip install --user` or `--target`: the libraries beside numpy are no package."""
    (tmp_path / "numpy.libs").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert tmp_path not in filesystem.code_paths().readable
    (tmp_path / "numpy-2.4.0.dist-info").mkdir()
    assert tmp_path in filesystem.code_paths().readable
