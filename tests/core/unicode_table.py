"""Print the table `ADDED` of `core.unicode14`.

usage: python3.11 -m tests.core.unicode_table FOLDER...

Each folder has one version of the package unicodedata2 unpacked (`pip install --target FOLDER unicodedata2==16.0.0`), the oldest
first. What Unicode 14 has is asked of the interpreter.
"""

import subprocess
import sys
import unicodedata

CODE_POINTS = range(0x110000)
ASK = """
import sys; sys.path.insert(0, sys.argv[1])
import unicodedata2 as data
print(data.unidata_version, *(point for point in range(0x110000) if data.category(chr(point)) != "Cn"))
"""


def main():
    """Print a line for each version."""
    assert unicodedata.unidata_version == "14.0.0", "this needs CPython 3.11"
    unknown = {point for point in CODE_POINTS if unicodedata.category(chr(point)) == "Cn"}
    for folder in sys.argv[1:]:
        asked = subprocess.run(
            [sys.executable, "-c", ASK, folder], capture_output=True, text=True, check=True
        )
        version, *points = asked.stdout.split()
        added = sorted(unknown & set(map(int, points)))
        unknown.difference_update(added)
        sys.stdout.write(f"{version}: {' '.join(map(written, runs(added)))}\n")


def runs(points):
    """The first and the last of each run of code points."""
    found = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def written(run):
    """A run in hexadecimal."""
    first, last = run
    return f"{first:x}" if first == last else f"{first:x}-{last:x}"


if __name__ == "__main__":
    main()
