"""Try every escape twice, in a process without walls and in a confined one, and print what each got.

usage: python -c 'from tests.isolation.escape_report import main; main("DIRECTORY")'
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import pyseccomp

from tests.isolation import escapes
from tests.isolation.escapes import SECRET, Target
from thresher.isolation import WorkerProcess, probe_confinement
from thresher.isolation.browser_launch import EXECUTABLE_PATHS, write_launcher
from thresher.isolation.filesystem import is_world_readable
from thresher.pipeline.engine.local.part_process import PartProcess
from thresher.pipeline.engine.step import Part, Step
from thresher.pipeline.engine.task import PartOutputs, Task, TaskSuccess
from thresher.storage.directory_store import DirectoryStore

MEMORY = 512 << 20
CODE = "import sys, time; sys.stdout.write(hex(id(sys))); sys.stdout.flush(); time.sleep(600)"
"""Of a process that is there to be attacked; it says where something lies in its memory."""
PYTHONS = (Path(sys.executable), Path("/usr/bin/python3"))
PROGRAM = """#!{python}
import json, sys
sys.path.insert(0, "{place}")
import escapes
target = escapes.Target(**json.loads(sys.argv[2]))
got = dict((escape.__name__, escapes.try_in_process(escape, target)) for escape in escapes.OF_BROWSER)
status = open("/proc/self/status").read()
print(json.dumps(dict(got=got, status=status)))
"""
SHOWN = ("Uid", "CapEff", "NoNewPrivs", "Seccomp")
"""Lines of /proc/PID/status."""


@contextmanager
def targets(directory):
    """Yield a function that makes a new target."""
    with ExitStack() as held:

        def listener(address, family=socket.AF_UNIX):
            server = held.enter_context(socket.socket(family))
            server.bind(address)
            server.listen()
            return server

        def victim():
            environment = {**os.environ, "AWS_SECRET_ACCESS_KEY": SECRET}
            process = subprocess.Popen([sys.executable, "-c", CODE], env=environment, stdout=subprocess.PIPE)
            held.enter_context(process)
            held.callback(process.kill)
            assert process.stdout
            return process.pid, int(process.stdout.read(14), 16)

        def target(place):
            project = Path(directory, place)
            project.mkdir()
            (project / "thresher.toml").write_text(f'[crawler.auth."x"]\npassword = "{SECRET}"')
            for name in escapes.OBJECTS:
                (project / name).write_text("of another part")
            listener(str(project / "redis.sock"))
            listener(f"\0{project}")
            keeper, address = victim()
            return Target(
                directory=str(project),
                port=listener(("127.0.0.1", 0), socket.AF_INET).getsockname()[1],
                unix=str(project / "redis.sock"),
                abstract=f"\0{project}",
                keeper=keeper,
                address=address,
                neighbour=victim()[0],
            )

        yield target


def run_unconfined(pipe, target):
    """Try the escapes in a process that is not confined, except those that fill the memory."""
    every = [escape for escape in escapes.EVERY if escape not in escapes.MEMORY]
    pipe.send({escape.__name__: escapes.try_in_process(escape, target) for escape in every})


def work(store, step, part, watch):
    """Try the escapes in a part whose page has taken over its process. If a wall is missing, try none: the process would
    become another program.
    """
    target, walls = part.parameters
    every = () if walls.lacks else escapes.EVERY
    got = json.dumps({escape.__name__: escapes.try_escape(escape, target) for escape in every}).encode()
    return PartOutputs(counts={}, outputs=(store.write("got.json", 1, lambda file: file.write(got)),))


def in_browser(directory, target):
    """Return what a program gets that starts like the browser; None if no Python is readable for every user."""
    # An environment's name for a Python may lie anywhere, and the walls let a browser run what lies in a few places.
    pythons = [path.resolve() for path in PYTHONS if path.exists()]
    allowed = (*EXECUTABLE_PATHS, *map(os.path.realpath, EXECUTABLE_PATHS))
    python = next(
        (it for it in pythons if is_world_readable([it]) and any(map(it.is_relative_to, allowed))), None
    )
    if python is None:
        return None
    place = Path(tempfile.mkdtemp(prefix="thresher-test-"))
    profile = place / "profile"
    profile.mkdir()
    place.chmod(0o755)
    for module in (escapes, pyseccomp):
        shutil.copy(str(module.__file__), place)
    program = place / "program"
    program.write_text(PROGRAM.format(python=python, place=place))
    program.chmod(0o755)
    words = [
        str(write_launcher(str(program), place, profile)),
        f"--user-data-dir={profile}",
        json.dumps(asdict(target)),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    shutil.rmtree(place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main(directory):
    os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET
    walls = probe_confinement()
    with targets(directory) as target:
        free = WorkerProcess(run_unconfined, target("free"), is_confined=False)
        unconfined = free.pipe.recv()
        free.close()
        files = DirectoryStore(Path(directory, "storage"))
        step, part = (
            Step(name="escape", version=1, recipe={}),
            Part(name="main/part", inputs=(), parameters=(target("cell"), walls), writes=("got.json",)),
        )
        process = PartProcess(memory=MEMORY)
        ended = process.make(Task(store=files, step=step, part=part, work=work).assignment())
        assert isinstance(ended, TaskSuccess), ended
        status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        environment = Path(f"/proc/{process.pid}/environ").read_text()
        process.close()
        browser = in_browser(Path(directory), target("browser"))
        found = {
            "unconfined": unconfined,
            "confined": json.loads(files.read("got.json")),
            "probe": asdict(walls),
            "status": dict(line.split(":\t", 1) for line in status if line.partition(":")[0] in SHOWN),
            "secret": SECRET in environment,
            "browser": browser,
        }
    escapes.MARK.unlink(missing_ok=True)
    sys.stdout.write(json.dumps(found))
