"""Compare the rows of conversations with `apply_chat_template` of transformers, template by template.

    pip install transformers
    python -m bench.shards.conversations --templates DIRECTORY --texts TEXTS.jsonl.zst

`--templates` has Jinja files, such as `trl/chat_templates` of TRL. Three tokenizers are trained on the texts: bytes in
BPE, BPE with a space before each text as Llama 2 has it, and Unigram. All conversations are random pieces of the texts.
"""

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from thresher.core import InputError
from thresher.shards.chat.chat_file import ChatFile
from thresher.shards.chat.conversation_encoder import ConversationEncoder
from thresher.shards.loss_marks import NO_LABEL, unmarked
from thresher.shards.special_tokens import with_private_names
from thresher.storage.columns.conversations import UnusableConversation

CONTROL = re.compile(
    r"<[|\uff5c][^|\uff5c<>\s'\"]+[|\uff5c]>|<(?:start_of_turn|end_of_turn|sop)>|\[(?:gMASK|INST|/INST)\]"
)
NAMED = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
TAKES_BLANKS = {"<|assistant|>", "<|end|>", "<|user|>"}
ODD = [
    "e\u0301 \u6f22\u5b57 \U0001f469\u200d\U0001f680",
    "  leading",
    "trailing  \n",
    "a < b and <|im",
    "1234567890",
]
DATED = "strftime_now"
"""A template that asks for the day has other ids, because ours has none."""


def main() -> None:
    """Print a line for each template and tokenizer whose rows are not all equal, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=Path, required=True)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--conversations", type=int, default=300)
    args = parser.parse_args()
    templates = {path.name: path.read_text() for path in sorted(args.templates.glob("*.jinja"))}
    texts = list(_texts(args.texts))
    talks = list(_talks(texts, args.conversations))
    control = sorted(
        {*NAMED.values(), *(name for text in templates.values() for name in CONTROL.findall(text))}
    )
    total: Counter[str] = Counter()
    spent = tokens = 0.0
    for kind, tokenizer in _tokenizers(texts, control).items():
        for name, text in templates.items():
            counts, seconds, count = _compare(tokenizer, text, talks)
            total.update(counts)
            spent, tokens = spent + seconds, tokens + count
            if counts.keys() - {"ids and masks equal", "ids equal"}:
                print(f"{name} {kind}: {dict(counts)}{' (asks for the day)' * (DATED in text)}")
    print(dict(total))
    print(f"{tokens / max(spent, 1e-9):,.0f} tokens for each CPU second, {len(templates)} templates")


def _compare(tokenizer: Tokenizer, template: str, talks: list[Any]) -> tuple[Counter[str], float, int]:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - no dependency of ours

    theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **NAMED)
    chat = ChatFile(name="bench", text=template, variables=tuple(NAMED.items()))
    try:
        ours = ConversationEncoder(with_private_names(tokenizer.to_str(), "bench"), chat)
    except InputError as error:
        return Counter({f"refused: {error}": len(talks)}), 0.0, 0
    has_blocks = "generation %}" in template
    found: Counter[str] = Counter()
    spent, tokens = 0.0, 0
    for talk in talks:
        begin = time.process_time()
        try:
            ids, labels = unmarked(ours.encode(talk).view(np.uint32).astype(np.int64))
        except UnusableConversation as error:
            found[f"left out: {error}"] += 1
            continue
        finally:
            spent += time.process_time() - begin
        tokens += len(ids)
        expected = theirs.apply_chat_template(
            talk, chat_template=template, return_dict=True, return_assistant_tokens_mask=has_blocks
        )
        if ids.tolist() != list(expected["input_ids"]):
            found["ids differ"] += 1
        elif not has_blocks:
            found["ids equal"] += 1
        else:
            is_equal = (labels != NO_LABEL).astype(int).tolist() == list(expected["assistant_masks"])
            found["ids and masks equal" if is_equal else "masks differ"] += 1
    return found, spent, tokens


def _texts(path: Path) -> Iterator[str]:
    with zstandard.open(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(400), lines, strict=False):
            yield next(
                value for value in json.loads(line).values() if isinstance(value, str) and len(value) > 200
            )[:3000]


def _talks(texts: list[str], count: int) -> Iterator[list[dict[str, str]]]:
    chooser = random.Random(1)

    def said() -> str:
        text = chooser.choice(texts)
        start = chooser.randrange(len(text) - 100)
        piece = text[start : start + chooser.randrange(1, 300)]
        before, behind = (chooser.choice(ODD) if chooser.random() < 0.3 else "" for _ in range(2))
        return before + piece + behind

    for _ in range(count):
        talk = [{"role": "system", "content": said()}] if chooser.random() < 0.4 else []
        for _ in range(chooser.randrange(1, 4)):
            talk += [{"role": "user", "content": said()}, {"role": "assistant", "content": said()}]
        yield talk


def _tokenizers(texts: list[str], control: list[str]) -> dict[str, Tokenizer]:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    in_bytes = Tokenizer(models.BPE())
    in_bytes.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    in_bytes.post_processor = processors.ByteLevel(trim_offsets=True)
    in_bytes.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False)
    )
    llama = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    llama.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    llama.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=3000, special_tokens=["<unk>"], show_progress=False)
    )
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.NFKC()
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    unigram.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=3000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        ),
    )
    made = {"bytes": in_bytes, "llama": llama, "unigram": unigram}
    for tokenizer in made.values():
        tokenizer.add_special_tokens(
            [AddedToken(name, normalized=False, rstrip=name in TAKES_BLANKS) for name in control]
        )
        tokenizer.add_tokens([AddedToken(name, normalized=False) for name in ("<think>", "</think>")])
    return made


if __name__ == "__main__":
    main()
