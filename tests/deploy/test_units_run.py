"""A unit, started by systemd itself with all of its hardening: crawling, rendering in Chromium's sandbox and confined
processing still work in it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.programs import ENVIRONMENT, ROOT
from tests.pipeline.test_first_process import _can_unshare
from thresher.crawler.render.chromium.program import find_browser

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MAX_DURATION_S = 240
NAMESPACES = [
    "--mount",
    "--pid",
    "--net",
    "--ipc",
    "--uts",
    "--cgroup",
    "--fork",
    "--kill-child",
    "--mount-proc",
]
TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
render = "always"
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
[filters]
preset = "none"
languages = []
"""
COMMANDS = """
python=/opt/thresher/bin/python3
thresher=/opt/thresher/bin/thresher
printf '<title>A</title><p id=p>plain<script>p.textContent = "written by a script"</script>' > /tmp/page.html
$python -m http.server 8765 --bind 127.0.0.1 --directory /tmp >/dev/null 2>&1 &
sleep 1
$thresher status
echo http://127.0.0.1:8765/page.html | $thresher seed - --crawl main --depth 0
$thresher crawl main; echo "crawl: exit code $?"
$thresher process main; echo "process: exit code $?"
$python -c 'import glob, pyarrow.parquet as p; print(p.read_table(glob.glob("/var/lib/thresher/data/documents/*/*.parquet")[0])["text"])'
touch /etc/written 2>/dev/null && echo "wrote into /etc"
cat /home/probe/readable 2>/dev/null && echo "read a home directory"
true
"""
DROP_IN = """
[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/bin/sh /result/commands
StandardOutput=file:/result/output
StandardError=inherit
ExecStopPost=+/bin/systemctl exit 0
"""
"""Runs several commands in the place of one. The hardening stays."""


def needed():
    if not _can_unshare() or not Path("/lib/systemd/systemd").exists() or shutil.which("pivot_root") is None:
        pytest.skip("there is no systemd, or this user may not make namespaces")
    try:
        find_browser("")
    except Exception as error:  # noqa: BLE001 - whatever keeps a browser away
        pytest.skip(str(error))


def test_a_hardened_unit_crawls_renders_and_processes(tmp_path):
    needed()
    tmp_path.chmod(0o755)  # the unit has a user of its own
    (tmp_path / "drop-in").mkdir()
    (tmp_path / "drop-in/test.conf").write_text(DROP_IN)
    (tmp_path / "thresher.toml").write_text(TOML)
    (tmp_path / "commands").write_text(COMMANDS)
    boot = [ROOT / "tests/deploy/boot.sh", ROOT, ENVIRONMENT, sys.base_prefix, tmp_path]
    with (tmp_path / "boot.log").open("w") as log:
        subprocess.run(
            ["timeout", "--signal=KILL", str(MAX_DURATION_S), "unshare", *NAMESPACES, *map(str, boot)],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    output = tmp_path / "output"
    assert output.exists(), (tmp_path / "boot.log").read_text()[-3000:]
    text = output.read_text()
    assert "isolation: workers are confined by Landlock" in text, text
    assert "crawl: exit code 0" in text, text
    assert "process: exit code 0" in text, text
    assert "written by a script" in text, text
    assert "wrote into /etc" not in text
    assert "read a home directory" not in text
