"""`ExportOptions`: what a user chose for an export, by the command or in Python."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from thresher.core import InputError
from thresher.core.settings import format_size, parse_size
from thresher.pipeline.steps.columns.export_columns import check_column_formats
from thresher.shards.chat.chat_file import ChatFile, load_chat_file
from thresher.shards.formats.registry import FORMATS
from thresher.shards.formats.shard_rows import IdType
from thresher.shards.held_out_split import HeldOut, HeldOutBy, Split, parse_share
from thresher.shards.mix import Mix, load_mix
from thresher.shards.packer import Packings
from thresher.shards.packing import MAX_LENGTH
from thresher.shards.special_tokens import SpecialTokens
from thresher.shards.tokenizer import BYTES

MAX_SHARD_BYTES = 2 << 30
"""MDS counts bytes with 32 bits, and a shard may become somewhat larger than asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What the user chose."""

    formats: tuple[str, ...] = ("parquet",)
    shard_bytes: int | None = None
    """Bytes of a shard before compression; None for those that suit its format."""
    eos: str | None = None
    """The end token as typed: an id, a token or `none`; None for that of the tokenizer."""
    bos: str | None = None
    """The token that begins each document, as typed; None for none."""
    special_tokens: SpecialTokens = "text"
    """What the name of a special token in a text becomes."""
    id_type: IdType | None = None
    with_text: bool = True
    mix: Mix | None = None
    pack: int | None = None
    """Length of packed sequences; None for no packing."""
    packing: Packings = "best-fit"
    verdict_set: str = ""
    """Name of the set of verdicts; empty for those of `process`."""
    held_out: HeldOut | None = None
    columns: tuple[str, ...] = ()
    """Names of further columns of the rows."""
    messages: str | None = None
    """The column of conversations that become the tokens; None for those of the texts."""
    chat: ChatFile | None = None
    """Their template."""


def chosen_options(  # noqa: PLR0913 - the options of the command, which Python has as well
    *,
    formats: Iterable[str],
    shard_size: str | None,
    eos: str | None,
    bos: str | None,
    special_tokens: SpecialTokens | None,
    id_type: IdType | None,
    text: bool,
    pack: int | None,
    packing: Packings | None,
    mix: str | Path | None,
    verdicts: str,
    held_out: str | float | None,
    held_out_by: HeldOutBy | None,
    split: Split | None,
    columns: str | Iterable[str],
    messages: str | None = None,
    chat_template: str | Path | None = None,
    tokenizer: str | Path | None = None,
) -> ExportOptions:
    """Return what a user chose for an export. Raise `InputError` if an option is wrong, or does not fit the others."""
    formats = tuple(dict.fromkeys(map(str, formats)))
    for kind, words, known in (
        ("formats", formats, tuple(FORMATS)),
        ("packing", () if packing is None else (packing,), get_args(Packings)),
        ("special_tokens", () if special_tokens is None else (special_tokens,), get_args(SpecialTokens)),
        ("id_type", () if id_type is None else (id_type,), get_args(IdType)),
        ("held_out_by", () if held_out_by is None else (held_out_by,), get_args(HeldOutBy)),
        ("split", () if split is None else (split,), get_args(Split)),
    ):
        for word in words:
            if word not in known:
                raise InputError(f"{kind}: {word!r} is not known; choose from {', '.join(known)}")
    if packing is not None and pack is None:
        raise InputError(f"--packing {packing}: give the length of a sequence with --pack")
    if pack is not None:
        check_length(pack)
    names = tuple(columns.split(",") if isinstance(columns, str) else columns)
    names = tuple(dict.fromkeys(filter(None, map(str.strip, names))))
    if not text and "text" in names:
        raise InputError("--columns text: --no-text leaves the texts out; give one of the two")
    check_column_formats(names, formats, packed=pack is not None)
    if messages is None and chat_template is not None:
        raise InputError("--chat-template: name the column of conversations with --messages")
    if messages is not None:
        _check_messages(formats, eos=eos, bos=bos, special_tokens=special_tokens)
    return ExportOptions(
        formats=formats,
        shard_bytes=None if shard_size is None else parse_shard_size(shard_size),
        eos=eos,
        bos=bos,
        special_tokens=special_tokens or "text",
        id_type=id_type,
        with_text=text,
        mix=None if mix is None else load_mix(Path(mix)),
        pack=pack,
        packing=packing or "best-fit",
        verdict_set=verdicts,
        held_out=_held_out(held_out, held_out_by, split),
        columns=names,
        messages=messages,
        chat=None if messages is None or tokenizer is None else _chat_file(chat_template, tokenizer),
    )


def _check_messages(
    formats: Iterable[str], *, eos: str | None, bos: str | None, special_tokens: SpecialTokens | None
) -> None:
    """Raise `InputError` if an option does not go with conversations."""
    for option, value in (("--eos", eos), ("--bos", bos)):
        if value is not None:
            raise InputError(
                f"{option} {value}: the chat template writes the tokens of --messages; leave it out"
            )
    if special_tokens == "ids":
        raise InputError(
            "--special-tokens ids: with --messages, a message could end its turn and speak as another; leave it out"
        )
    if "megatron" in formats:
        raise InputError("--messages: megatron has no place for labels; choose another --format")


def _chat_file(chat_template: str | Path | None, tokenizer: str | Path) -> ChatFile:
    return load_chat_file(chat_template, None if str(tokenizer) == BYTES else Path(tokenizer))


def _held_out(share: str | float | None, by: HeldOutBy | None, split: Split | None) -> HeldOut | None:
    if share is None:
        if by is not None or split is not None:
            option = f"--split {split}" if by is None else f"--held-out-by {by}"
            raise InputError(f"{option}: say with --held-out which share is held out, such as 1%")
        return None
    return HeldOut(share=parse_share(share), by=by or "domain", split=split or "train")


def parse_shard_size(text: str) -> int:
    """Return the bytes of `--shard-size`. Raise `InputError` if it is no size, or one that no shard can have."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise InputError(f"--shard-size: {error}") from None
    if not 0 < size <= MAX_SHARD_BYTES:
        raise InputError(f"--shard-size {text}: give a size from 1 byte to {format_size(MAX_SHARD_BYTES)}")
    return size


def check_texts(options: ExportOptions) -> None:
    """Raise `InputError` if an option needs token ids, because there is no tokenizer."""
    bare = next((name for name in options.formats if FORMATS[name].needs_tokens), None)
    wanting = [
        (bare is not None, f"--format {bare}"),
        (options.pack is not None, "--pack"),
        (options.messages is not None, "--messages"),
        (options.eos is not None, "--eos"),
        (options.bos is not None, "--bos"),
        (options.id_type is not None, "--id-type"),
    ]
    for is_chosen, option in wanting:
        if is_chosen:
            raise InputError(f"{option} needs token ids; add --tokenizer FILE")
    if options.mix is not None and options.mix.by == "tokens":
        raise InputError('--mix: by = "tokens" needs --tokenizer FILE; without one, write by = "documents"')


def check_length(pack: int) -> None:
    """Raise `InputError` if `--pack` is no length that a sequence can have."""
    if not 1 <= pack <= MAX_LENGTH:
        raise InputError(f"--pack {pack}: give a length from 1 to {MAX_LENGTH:,} tokens")
