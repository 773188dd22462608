"""The files that `[filters]` names for signals: they are checked, and put into the storage under their digests."""

from __future__ import annotations

import glob
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from thresher.core import InputError
from thresher.core.installation.extras import missing_extra
from thresher.filters.signals.pseudonyms import MIN_KEY_BYTES
from thresher.filters.signals.signal_settings import BucketEnds, PerplexityModel, SignalSettings
from thresher.pipeline.configuration import LANGUAGE, FiltersConfig
from thresher.pipeline.steps.records.model_check import check_model
from thresher.pipeline.steps.records.stored_signals import KENLM, PIECES, PREFIX
from thresher.storage.inputs.whole_file import open_whole, plain_name
from thresher.storage.store import Store

LOGGER = logging.getLogger(__name__)
BY_LANGUAGE = "{language}"
"""What stands for the code of a language in the name of a file."""


def stored_filters(store: Store, directory: Path, filters: FiltersConfig) -> FiltersConfig:
    """Put the files of `filters` into the storage, and return `filters` with their names there and with the secret.

    Paths are relative to `directory`. Raise `InputError` if a file cannot be read or is not what its key names.
    """
    settings = filters.signals
    _require_packages(settings)
    stored = replace(
        settings,
        key=_secret(directory, settings.mask_key),
        word_lists=_stored_lists(store, directory, settings.word_lists),
        toxicity_model=_stored_classifier(
            store, directory, "toxicity_model", settings.toxicity_model, settings.toxicity_label
        ),
        quality_model=_stored_classifier(
            store, directory, "quality_model", settings.quality_model, settings.quality_label
        ),
        perplexity_models=_stored_perplexity(store, directory, settings),
        bucket_ends=_bucket_ends(directory, settings),
        benchmarks=_stored_benchmarks(store, directory, settings),
    )
    return replace(filters, signals=stored)


def _require_packages(settings: SignalSettings) -> None:
    """Raise `InputError` if a package is missing that these signals need."""
    kinds = set(settings.mask)
    needed = {
        "phonenumbers": 'filters.mask with "phone"' if "phone" in kinds else "",
        "stdnum": 'filters.mask with "card" or "iban"' if kinds & {"card", "iban"} else "",
        "kenlm": "filters.perplexity_model" if settings.perplexity_model else "",
        "sentencepiece": "filters.perplexity_pieces" if settings.perplexity_pieces else "",
    }
    for module, key in needed.items():
        if key and find_spec(module) is None:
            raise missing_extra("signals", f"{key} needs the package {module}")
    if "phone" in kinds:
        _require_regions(settings.mask_regions)


def _require_regions(regions: Sequence[str]) -> None:
    """Raise `InputError` if phone numbers of a country are not known: none would be found there."""
    from phonenumbers import SUPPORTED_REGIONS

    for region in regions:
        if region not in SUPPORTED_REGIONS:
            raise InputError(
                f"filters.mask_regions: {region!r} is no country with phone numbers; use codes of ISO 3166 such as 'US'"
            )


def _stored_lists(store: Store, directory: Path, written: str) -> str:
    from thresher.filters.signals.word_lists import LIST_NAME, encode_lists

    if not written:
        return ""
    path = directory / written
    if path.is_dir():
        named = {each: LIST_NAME.fullmatch(each.name) for each in sorted(path.iterdir()) if each.is_file()}
        lists: dict[str, list[str]] = {}
        for each, name in named.items():
            if name is not None:
                lists.setdefault(name[1], []).extend(_list_of("word_lists", each))
        if not lists:
            raise InputError(
                f"filters.word_lists = {written!r}: no file of the directory is named as a language, such as en or"
                " en.txt"
            )
    else:
        lists = {"": _list_of("word_lists", path)}
    return _put(store, "words", "json", encode_lists(lists))


def _list_of(key: str, path: Path) -> list[str]:
    from thresher.filters.signals.word_lists import parse_list

    try:
        entries = parse_list(_read(key, path).decode("utf-8-sig").splitlines())
    except UnicodeDecodeError as error:
        raise InputError(f"filters.{key}: {path}: not UTF-8 ({error.reason})") from None
    if not entries:
        raise InputError(f"filters.{key}: {path}: it has no words; write a word or a phrase a line")
    return entries


def _stored_classifier(store: Store, directory: Path, key: str, written: str, label: str) -> str:
    from thresher.filters.models.fasttext_layout import labels

    if not written:
        return ""
    data = _read(key, directory / written)
    try:
        known = labels(data)
    except ValueError as error:
        raise InputError(
            f"filters.{key} = {written!r}: {error}; name another file, or get it again"
        ) from None
    if label not in known:
        wanted = key.removesuffix("model") + "label"
        raise InputError(
            f"filters.{wanted} = {label!r}: the model {written} has no such label, but {', '.join(sorted(known)[:10])}"
        )
    return _put(store, "fasttext", "bin", data)


def _stored_perplexity(
    store: Store, directory: Path, settings: SignalSettings
) -> tuple[PerplexityModel, ...]:
    """Put the models of every language that has one."""
    from thresher.filters.signals.kenlm_file import load_pieces, load_scorer

    model, pieces = settings.perplexity_model, settings.perplexity_pieces
    if not model:
        for key in ("perplexity_pieces", "perplexity_cutoffs"):
            if getattr(settings, key):
                raise InputError(f"filters.{key} is set without filters.perplexity_model; name a model too")
        return ()
    codes = _languages_of(directory, model)
    if not codes:
        raise InputError(f"filters.perplexity_model = {model!r}: there is no such file for any language")

    def put(key: str, written: str, kind: str, load: Callable[[bytes], object], language: str) -> str:
        name = written.replace(BY_LANGUAGE, language)
        return _put_model(store, kind, (key, name), directory / name, load)

    return tuple(
        PerplexityModel(
            language=code,
            kenlm=put("perplexity_model", model, KENLM, load_scorer, code),
            pieces=put("perplexity_pieces", pieces, PIECES, load_pieces, code) if pieces else "",
        )
        for code in codes
    )


def _languages_of(directory: Path, written: str) -> list[str]:
    """Return the languages for which there is a file that `written` names, sorted; an empty code for a file that is of
    no language.
    """
    if BY_LANGUAGE not in written:
        return [""]
    pattern = re.escape(written).replace(re.escape(BY_LANGUAGE), f"({LANGUAGE.pattern})", 1)
    named = re.compile(pattern.replace(re.escape(BY_LANGUAGE), r"\1"))
    wildcards = glob.escape(written).replace(BY_LANGUAGE, "*")
    found = map(named.fullmatch, glob.glob(wildcards, root_dir=directory))  # noqa: PTH207 - a path may be absolute
    return sorted(each[1] for each in found if each)


def _put_model(
    store: Store, kind: str, named: tuple[str, str], path: Path, load: Callable[[bytes], object]
) -> str:
    """Put a model, and return its name. Raise `InputError` if it cannot be loaded; a model that is there could be."""
    key, written = named
    data = _read(key, path)
    name = _name(kind, "bin", data)
    if not store.exists(name):
        try:
            check_model(path, load)
        except ValueError as error:
            raise InputError(f"filters.{key} = {written!r}: {error}") from None
    return _put(store, kind, "bin", data)


def _bucket_ends(directory: Path, settings: SignalSettings) -> tuple[BucketEnds, ...]:
    from thresher.filters.signals.perplexity import parse_cutoffs

    written = settings.perplexity_cutoffs
    if not written:
        if settings.max_perplexity_bucket != "tail":
            raise InputError(
                "filters.max_perplexity_bucket is set without filters.perplexity_cutoffs; name a table too"
            )
        return ()
    try:
        return parse_cutoffs(_read("perplexity_cutoffs", directory / written).decode().splitlines())
    except ValueError as error:
        problem = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError(f"filters.perplexity_cutoffs = {written!r}: {problem}") from None


def _stored_benchmarks(store: Store, directory: Path, settings: SignalSettings) -> tuple[str, ...]:
    """Put the hashes of all benchmarks, and return the one name."""
    from thresher.filters.signals.contamination import benchmark_hashes, encode_hashes

    if not settings.benchmarks:
        return ()
    n = settings.benchmark_words
    try:
        hashes, short = benchmark_hashes(_benchmark_texts(directory, settings.benchmarks), n)
    except ValueError as error:
        raise InputError(f"filters.benchmarks: {error}") from None
    if not len(hashes):
        raise InputError(f"filters.benchmarks: no text has {n} words; set filters.benchmark_words lower")
    if short:
        LOGGER.warning("filters.benchmarks: %d texts have fewer than %d words and cannot be found", short, n)
    return (_put(store, "ngrams", "u64", encode_hashes(hashes)),)


def _benchmark_texts(directory: Path, written: Sequence[str]) -> Iterator[str]:
    from thresher.filters.signals.benchmark_texts import texts_of

    for pattern in written:
        paths = sorted(glob.glob(str(directory / pattern), recursive=True))  # noqa: PTH207 - a path may be absolute
        if not paths:
            raise InputError(f"filters.benchmarks: {pattern!r}: there is no such file")
        for path in paths:
            try:
                with open_whole(Path(path)) as file:
                    yield from texts_of(plain_name(path), file.read())
            except InputError as error:
                raise InputError(f"filters.benchmarks: {error}") from None
            except ValueError as error:
                raise InputError(f"filters.benchmarks: {path}: {error}") from None


def _read(key: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"filters.{key}: {path}: cannot be read ({error.strerror})") from None


def _secret(directory: Path, written: str) -> bytes:
    """Return the secret that `filters.mask_key` names; empty if it is not set."""
    if not written:
        return b""
    kind, _, variable = written.partition(":")
    if kind == "env":
        if variable not in os.environ:
            unset = f"the environment variable {variable} is not set; set it to the output of `openssl rand -hex 32`"
            problem = unset if variable else "it names no variable; write env:VARIABLE"
            raise InputError(f"filters.mask_key = {written!r}: {problem}")
        secret = os.environ[variable].encode(errors="surrogateescape")
        problem = f"the environment variable {variable} has"
    else:
        try:
            secret = (directory / written).read_bytes().strip()
        except OSError as error:
            raise InputError(
                f"filters.mask_key = {written!r}: cannot be read ({error.strerror}); name a file, or env:VARIABLE"
            ) from None
        problem = "the file has"
    if len(secret) < MIN_KEY_BYTES:
        raise InputError(
            f"filters.mask_key = {written!r}: {problem} {len(secret)} bytes; a secret has at least {MIN_KEY_BYTES},"
            " such as those of `openssl rand -hex 32`"
        )
    return secret


def _put(store: Store, kind: str, suffix: str, data: bytes) -> str:
    """Put `data` under its digest, and return the name of the object."""
    name = _name(kind, suffix, data)
    if not store.put(name, data) and store.read(name) != data:
        store.delete(name)
        store.put(name, data)
    return name


def _name(kind: str, suffix: str, data: bytes) -> str:
    return f"{PREFIX}/{kind}-{hashlib.sha256(data).hexdigest()}.{suffix}"
