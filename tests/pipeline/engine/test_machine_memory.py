"""Memory is what a container has, not what the machine has on which the container stands."""

import os

import pytest

from thresher.pipeline.engine.local.machine_memory import machine_memory

PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("", {}, PHYSICAL),
        ("0::/\n", {"memory.max": "max\n"}, PHYSICAL),
        ("0::/\n", {"memory.max": f"{64 * MIB}\n"}, 64 * MIB),
        ("0::/a/b\n", {"a/memory.max": f"{32 * MIB}\n", "a/b/memory.max": f"{64 * MIB}\n"}, 32 * MIB),
        ("0::/a/b\n", {"a/memory.max": "max\n", "a/b/memory.max": f"{64 * MIB}\n"}, 64 * MIB),
        ("5:memory:/docker/1\n0::/\n", {"memory/memory.limit_in_bytes": f"{64 * MIB}\n"}, 64 * MIB),
        ("5:memory:/a\n", {"memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, PHYSICAL),
        ("4:cpu,cpuacct:/a\n", {"cpu/a/memory.limit_in_bytes": f"{MIB}\n"}, PHYSICAL),
    ],
)
def test_the_least_limit_of_our_control_groups_counts(tmp_path, own, files, expected):
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert machine_memory(tmp_path / "groups", tmp_path / "own") == expected


def test_a_machine_without_control_groups_has_its_memory(tmp_path):
    assert machine_memory(tmp_path / "none", tmp_path / "none") == PHYSICAL
