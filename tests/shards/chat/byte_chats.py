"""A tokenizer of bytes with control tokens, and templates, for tests of conversations."""

import json
from itertools import groupby

import numpy as np
from tokenizers import AddedToken, Tokenizer

from thresher.shards.chat.chat_file import ChatFile
from thresher.shards.chat.conversation_encoder import ConversationEncoder
from thresher.shards.loss_marks import unmarked
from thresher.shards.special_tokens import with_private_names
from thresher.shards.tokenizer import load_tokenizer_file

CONTROL = ("<|im_start|>", "<|im_end|>", "</s>")
PLAIN = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""ChatML, without blocks around the answers."""
BLOCKS = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}
    {%- else %}
        {{- message.content + '<|im_end|>' }}
    {%- endif %}
    {{- '\\n' }}
{%- endfor %}"""
INSTRUCT = """\
{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{%- if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}
{%- else %}{{ ' ' + message.content | trim + eos_token }}{% endif %}
{%- endfor %}"""
"""As early templates were: it knows no prompt, and refuses some conversations."""
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hello"},
    {"role": "user", "content": "bye"},
    {"role": "assistant", "content": "see you"},
]


def chat_tokenizer(**flags):
    """The text of a `tokenizer.json` whose tokens are bytes and control tokens."""
    tokenizer = Tokenizer.from_str(load_tokenizer_file(None).json)
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False, **flags) for name in CONTROL]
    )
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    return tokenizer.to_str()


def encoder_of(template, json_text=None):
    chat = ChatFile(name="test", text=template, variables=(("eos_token", "</s>"),))
    return ConversationEncoder(with_private_names(json_text or chat_tokenizer(), "test"), chat)


def shown(encoder, conversation):
    """What a conversation becomes: text of bytes, control tokens in `‹›`, and what bears loss in `⟦⟧`."""
    ids, labels = unmarked(encoder.encode(conversation).view(np.uint32).astype(np.int64))
    return shown_ids(ids, labels)


def shown_ids(ids, labels):
    reader = Tokenizer.from_str(chat_tokenizer())
    control = {reader.token_to_id(name): f"‹{name}›" for name in CONTROL}
    found = []
    for bears_loss, group in groupby(zip(ids, labels, strict=True), key=lambda each: each[1] != -100):
        pairs = list(group)
        assert all(one == label for one, label in pairs) or not bears_loss
        text = "".join(
            control.get(key[1]) or reader.decode([int(one) for one, _ in some], skip_special_tokens=False)
            for key, some in groupby(
                pairs, key=lambda each: (each[0] in control, each[0] in control and each[0])
            )
        )
        found.append(f"⟦{text}⟧" if bears_loss else text)
    return "".join(found)


def sharegpt(conversation):
    names = {"user": "human", "assistant": "gpt"}
    return [
        {"from": names.get(each["role"], each["role"]), "value": each["content"]} for each in conversation
    ]


def as_json(conversation):
    return json.dumps(conversation)
