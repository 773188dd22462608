"""The name of a special token in a text is text, whatever the tokenizer; all other texts have the ids of before."""

import json

import gigatoken
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from thresher.core import InputError
from thresher.shards.special_tokens import special_tokens, without_special_tokens
from thresher.shards.tokenizer import load_tokenizer_file

TEXTS = ["the end of the text, and </s> of a system: <|endoftext|> [SEP] <pad> words of words " * 5]
SPECIAL = ["<unk>", "<|endoftext|>", "</s>", "[SEP]", "<pad>"]


def trained(model, trainer, splitter, normalizer=None):
    made = Tokenizer(model)
    made.pre_tokenizer = splitter
    if normalizer is not None:
        made.normalizer = normalizer
    made.train_from_iterator(TEXTS, trainer)
    return made.to_str()


def changed(text, **fields):
    file = json.loads(text)
    file["model"] |= fields
    return json.dumps(file)


BPE = trained(
    models.BPE(),
    trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL[1:],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    ),
    pre_tokenizers.ByteLevel(add_prefix_space=False),
)
TOKENIZERS = {
    "BPE": BPE,
    "BPE that ignores merges": changed(BPE, ignore_merges=True),
    "Unigram": trained(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=100, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
        ),
        pre_tokenizers.Metaspace(),
    ),
    "WordPiece": trained(
        models.WordPiece(unk_token="<unk>"),
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=SPECIAL, show_progress=False),
        pre_tokenizers.WhitespaceSplit(),
        normalizers.BertNormalizer(),
    ),
    "WordLevel": trained(
        models.WordLevel(unk_token="<unk>"),
        trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False),
        pre_tokenizers.WhitespaceSplit(),
    ),
}


def ids(file, text):
    return Tokenizer.from_str(file).encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_text_becomes_a_special_token(name):
    file = TOKENIZERS[name]
    special = special_tokens(file)
    assert special.keys() == set(SPECIAL) - {"<unk>"}
    text = " ".join(special) + "".join(special)
    assert set(special.values()) <= set(ids(file, text)), "by the library's own way they do"
    assert not set(special.values()) & set(ids(without_special_tokens(file, name), text))


WORDS = st.text(st.sampled_from("the end, of words \n<|>[]/ép "), max_size=60)


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=WORDS)
def test_every_other_text_has_the_ids_of_before(name, text):
    assert not any(token in text for token in SPECIAL)
    assert ids(PLAIN[name], text) == ids(TOKENIZERS[name], text)


PLAIN = {name: without_special_tokens(file, name) for name, file in TOKENIZERS.items()}


def test_the_fast_tokenizer_gives_the_same_ids():
    fast = gigatoken.Tokenizer.from_json(PLAIN["BPE"])
    for text in (*TEXTS, *SPECIAL, "a<|endoftext|>b"):
        assert fast.encode(text).tolist() == ids(PLAIN["BPE"], text)


def test_a_tokenizer_without_special_tokens_stays_as_it_is():
    file = load_tokenizer_file(None).json
    assert without_special_tokens(file, "bytes") == file


def test_a_model_that_makes_a_special_token_of_text_all_the_same_is_refused():
    file = json.loads(BPE)
    file["model"]["merges"][:0] = [["<", "p"], ["<p", "a"], ["<pa", "d"], ["<pad", ">"]]
    file["model"]["vocab"] |= {"<p": 900, "<pa": 901, "<pad": 902}
    file["pre_tokenizer"]["use_regex"] = False
    with pytest.raises(
        InputError, match="tokenizer odd: makes its special token '<pad>' of a text that has its name"
    ):
        without_special_tokens(json.dumps(file), "odd")
