"""The example of the S3 guide, typed as it stands: a server, a bucket, and a project in it."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT
from tests.storage.s3server import free_ports

GUIDE = (ROOT / "docs/guides/s3.md").read_text(encoding="utf-8")
PORTS = {"master.port": 9333, "s3.port": 8333}
"""Ports that the guide names, which are SeaweedFS's own."""
OTHERS = (
    *("master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port.grpc"),
)


def blocks():
    section = GUIDE.partition("### SeaweedFS\n")[2].partition("### Garage\n")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def shell(tmp_path):
    """Runs lines of a shell in one directory; what they leave in the background is ended with the test."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    groups = []

    def run(lines):
        with (tmp_path / "log").open("a+") as log:
            process = subprocess.Popen(
                ["bash", "-e", "-c", lines],
                cwd=tmp_path,
                env={**environment, "PATH": path, "TMPDIR": str(sockets), "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            groups.append(process.pid)
            code = process.wait(timeout=120)
        text = (tmp_path / "log").read_text()
        assert code == 0, text[-3000:]
        return text

    yield run
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue
    time.sleep(0.1)


def test_the_seaweedfs_example_makes_a_bucket_and_a_project_uses_it(shell, tmp_path):
    server, project = blocks()
    names = [*PORTS, *OTHERS]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    flags = [f"-{name}={port}" for name, port in ports.items()]
    flags += ["-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.localSocket={tmp_path / 'sockets' / 's3'}"]
    flags.append(f"-filer.localSocket={tmp_path / 'sockets' / 'filer'}")
    # Other ports than the guide's, for others may have those; everything else is typed as it stands.
    server = server.replace(" &\n", f" {' '.join(flags)} &\n")
    server = server.replace(
        "weed shell", f"weed shell -filer=127.0.0.1:{ports['filer.port']}.{ports['filer.port.grpc']}"
    )
    server = server.replace(
        f":{PORTS['master.port']}", f":{ports['master.port']}.{ports['master.port.grpc']}"
    )
    project = project.replace(f":{PORTS['s3.port']}", f":{ports['s3.port']}")
    assert "created bucket crawl" in shell(server)
    assert "storage s3://crawl/docs" in shell(project)
