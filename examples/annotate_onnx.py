r"""Annotate documents with a text classifier in ONNX, on CPUs or GPUs.

    pip install onnxruntime          # or onnxruntime-gpu
    thresher annotate toxicity docs --with annotate_onnx:Classifier --batch 32 \
        -a model=model.onnx -a tokenizer=tokenizer.json -a labels=fine,toxic --version-of model.onnx

Such files come out of `optimum-cli export onnx --model NAME OUT`, for BERT-like classifiers. Each document gets the
columns `label` and `label_score`.
"""

from typing import ClassVar

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from thresher import Document

MAX_TOKENS = 512


class Classifier:
    """A model with the inputs `input_ids` and `attention_mask`, and logits as its first output."""

    VERSION: ClassVar[int] = 1
    COLUMNS: ClassVar[dict[str, str]] = {"label": "string", "label_score": "float32"}

    def __init__(self, model: str, tokenizer: str, labels: str, threads: str = "1") -> None:
        """`labels` are the names of the classes with commas between them. `threads` are those of each worker."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads)
        self._session = onnxruntime.InferenceSession(
            model, options, providers=onnxruntime.get_available_providers()
        )
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._labels = np.array(labels.split(","))

    def __call__(self, documents: list[Document]) -> dict[str, object]:
        """Return a label and its probability for each document."""
        encoded = self._tokenizer.encode_batch([each.text for each in documents])
        values = {
            "input_ids": np.array([each.ids for each in encoded], np.int64),
            "attention_mask": np.array([each.attention_mask for each in encoded], np.int64),
            "token_type_ids": np.array([each.type_ids for each in encoded], np.int64),
        }
        known = {name: value for name, value in values.items() if name in self._inputs}
        logits = np.asarray(self._session.run(None, known)[0], np.float64)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        best = shares.argmax(axis=1)
        return {"label": self._labels[best], "label_score": shares[np.arange(len(best)), best]}
