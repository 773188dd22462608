"""The cells of the example notebook run from first to last in an empty folder, and its model learns."""

import json
import subprocess
import sys

import pytest

from tests.packages import ROOT

NOTEBOOK = ROOT / "examples" / "table_to_model.ipynb"
RUN = """
import json, sys
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
print(json.dumps([names["losses"][0], names["losses"][-1], len(names["losses"]), names["origin"].document]))
"""


@pytest.mark.slow
def test_a_table_becomes_a_trained_model(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUN, NOTEBOOK], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, last, batches, document = json.loads(done.stdout.splitlines()[-1])
    assert batches == 150
    assert first == pytest.approx(8)
    assert last < 5
    assert len(document) == 32


def test_the_notebook_is_stored_without_results():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
