"""The annotators of examples/ give documents what their models say. Every model is a small one, made by the test."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from tests.environments import installed
from tests.pipeline.steps.annotations.annotated_project import (
    TOML,
    annotations,
    rows,
)
from tests.torchenv import environment
from thresher import Project
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
WORDS = sorted({word.strip(".") for row in rows(20) for word in row["text"].split()})
ONNX = ["onnxruntime==1.23.2", "onnx==1.19.1"]
MODEL = """
import sys
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

logits = np.zeros(({words}, 2), np.float32)
logits[{many}] = (0, 9)
tensor = helper.make_tensor_value_info
nodes = [
    helper.make_node("Gather", ["table", "input_ids"], ["each"]),
    helper.make_node("ReduceSum", ["each", "axes"], ["logits"], keepdims=0),
]
graph = helper.make_graph(
    nodes, "sum",
    [tensor("input_ids", TensorProto.INT64, ["batch", "length"])],
    [tensor("logits", TensorProto.FLOAT, ["batch", 2])],
    [numpy_helper.from_array(logits, "table"), numpy_helper.from_array(np.array([1]), "axes")],
)
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), sys.argv[1])
"""


@pytest.fixture
def with_examples(project, monkeypatch):
    """The project with the annotators of examples/ in its directory, where a user puts them."""
    for path in EXAMPLES.glob("annotate_*.py"):
        shutil.copy(path, project.directory)
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    monkeypatch.chdir(project.directory)
    return project


def write_tokenizer(directory):
    """Write a tokenizer with one token for each word of the documents; the last stands for all others."""
    tokenizer = Tokenizer(WordLevel({word: n for n, word in enumerate([*WORDS, "?"])}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(directory / "tokenizer.json"))


def is_about_many(row):
    return "many" in row["text"]


@pytest.mark.slow
def test_a_fasttext_label(with_examples):
    texts = [("many" if is_about_many(row) else "few", row["text"]) for row in rows(20)]
    model = train_classifier(texts, TrainingOptions(dimensions=8, buckets=1000, epochs=40, learning_rate=0.5))
    (with_examples.directory / "topics.bin").write_bytes(model)
    with_examples.annotate(
        "topic", function="annotate_fasttext:Label", arguments={"model": "topics.bin"}, documents="all"
    )
    found = annotations(with_examples, "topic")
    assert [each["label"] for each in found] == [label for label, _ in texts]
    assert all(0.5 < each["label_score"] <= 1.001 for each in found)


def test_a_regressor_on_embeddings_fitted_to_labels(with_examples):
    """The vectors are random: a stand-in for those of a trained encoder."""
    here = with_examples.directory
    write_tokenizer(here)
    np.save(
        here / "vectors.npy", np.random.default_rng(1).normal(size=(len(WORDS) + 1, 32)).astype(np.float32)
    )
    labels = {row["id"]: 5.0 if is_about_many(row) else 0.0 for row in rows(20)}
    labelled = [{"text": row["text"], "score": labels[row["id"]]} for row in rows(20)]
    (here / "labelled.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in labelled))
    words = ["--tokenizer", "tokenizer.json", "--vectors", "vectors.npy", "labelled.jsonl", "head.npy"]
    done = subprocess.run(
        [sys.executable, "annotate_education.py", *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("head.npy: 20 texts, mean error ")
    files = {"tokenizer": "tokenizer.json", "vectors": "vectors.npy", "head": "head.npy"}
    with_examples.annotate(
        "edu", function="annotate_education:Education", arguments=files, documents="all", batch=3
    )
    found = annotations(with_examples, "edu")
    assert [each["edu"] > 2.5 for each in found] == [score > 2.5 for score in labels.values()]
    assert all(each["edu_class"] == np.clip(np.rint(each["edu"]), 0, 5) for each in found)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_onnx_classifier(tmp_path, pytestconfig):
    """The command runs in a Python that has ONNX Runtime, which Thresher does not need."""
    python = installed(pytestconfig.cache, "onnx", ONNX, "ONNX Runtime") / "python"
    (tmp_path / "thresher.toml").write_text(TOML)
    shutil.copy(EXAMPLES / "annotate_onnx.py", tmp_path)
    write_tokenizer(tmp_path)
    script = MODEL.format(words=len(WORDS) + 1, many=WORDS.index("many"))
    subprocess.run([python, "-c", script, tmp_path / "model.onnx"], check=True, env=environment())
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows(20)))
    project = Project(tmp_path)
    project.ingest("docs", texts)
    project.process(workers=1)
    command = [python, "-m", "thresher", "annotate", "many", "--with", "annotate_onnx:Classifier", "--all"]
    options = {"model": "model.onnx", "tokenizer": "tokenizer.json", "labels": "few,many"}
    for name, value in options.items():
        command += ["-a", f"{name}={value}"]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True)
    (path,) = (tmp_path / "data" / "annotations" / "many" / "docs").glob("*.parquet")
    found = pq.read_table(path).to_pylist()
    assert [each["label"] for each in found] == ["many" if is_about_many(row) else "few" for row in rows(20)]
    assert {round(each["label_score"], 3) for each in found if each["label"] == "few"} == {0.5}
