"""Become the first process of a container without an image: `container.py SPEC.json`, under `unshare --mount --pid`.

The root directory is an overlay of this machine's own, so that every path of the compose file can be mounted at its place
and nothing here is changed. Then the process takes the user and the environment of the container, and becomes its program.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

LAYERS = "/mnt"
"""Where the overlay is mounted, in this mount namespace alone."""
PASSED = ("/proc", "/dev", "/sys")


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


def make_root(root_links):
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "layers", LAYERS)
    for name in ("upper", "work", "root"):
        Path(LAYERS, name).mkdir()
    root = Path(LAYERS, "root")
    options = f"lowerdir=/,upperdir={LAYERS}/upper,workdir={LAYERS}/work"
    run("mount", "-t", "overlay", "root", "-o", options, root)
    for name in PASSED:
        run("mount", "--rbind", name, root / name[1:])
    run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmp", root / "tmp")
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "run", root / "run")
    for name, target in root_links.items():
        link = root / name[1:]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    return root


def let_pass(root, path):
    """Let every user pass the directories above `path`, as in an image. Only the overlay changes."""
    for parent in Path(path).resolve().parents:
        place = root / str(parent)[1:]
        place.chmod(place.stat().st_mode | 0o111)


def mount(root, source, target):
    place = root / target[1:]
    if Path(source).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    run("mount", "--bind", source, place)


def main():
    spec = json.loads(Path(sys.argv[1]).read_text())
    root = make_root(spec["links"])
    for path in (sys.base_prefix, sys.prefix, __file__):
        let_pass(root, path)
    for source, target in spec["mounts"]:  # a mount within another one comes later
        mount(root, source, target)
    os.chroot(root)
    os.chdir(spec["directory"])
    user = spec["user"]
    words = spec["command"]
    if user:
        confined = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        words = [*confined, "--no-new-privs", "--bounding-set=-all", "--", *words]
    os.execvpe(words[0], words, spec["environment"])


if __name__ == "__main__":
    main()
