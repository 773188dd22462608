"""`Setting`: one key of `thresher.toml` as its owner declares it, and the check of its value."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from thresher.core import InputError
from thresher.core.settings import Key, RuleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One key of a section, as its owner declares it."""

    name: str
    owner: str
    """Field of the section that holds the owner's settings; empty if the section declares the key itself."""
    annotation: Any
    key: Key
    default: Any


def declared_settings(kind: Any) -> list[Setting]:
    """Return the keys of the type of a section, in the order of the template."""
    hints = get_type_hints(kind, include_extras=True)
    found: list[Setting] = []
    for item in fields(kind):
        key = _key_of(hints[item.name])
        if key is not None:
            found.append(_setting(item, "", hints[item.name], key))
            continue
        if not is_dataclass(hints[item.name]):
            continue  # set by `parse`
        owner_hints = get_type_hints(hints[item.name], include_extras=True)
        for inner in fields(hints[item.name]):
            inner_key = _key_of(owner_hints[inner.name])
            if inner_key is not None:
                found.append(_setting(inner, item.name, owner_hints[inner.name], inner_key))
    return found


def _key_of(annotation: Any) -> Key | None:
    keys = (mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Key))
    return next(keys, None)


def _setting(item: "Field[Any]", owner: str, annotation: Any, key: Key) -> Setting:
    factory = item.default_factory
    default = item.default if factory is MISSING else factory()
    return Setting(name=item.name, owner=owner, annotation=annotation, key=key, default=default)


def valid_value(key: str, setting: Setting, value: Any) -> Any:
    """Return the value that TOML gives for `key`, checked and converted. Raise `InputError` with one line if it is
    wrong.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - takes 0.1 to 0.2 s; `--help` reads no file

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(setting.annotation)
        return adapter.validate_python(_with_tuples(value), strict=True)
    except ValidationError as errors:
        error = errors.errors(include_url=False)[0]
    match error["type"]:
        case "value_error":
            raised = error["ctx"]["error"]
            raise InputError(f"{key} {raised}" if isinstance(raised, RuleError) else f"{key}: {raised}")
    inner = error["loc"][:1] if isinstance(value, dict) else ()
    place = "".join(f'."{name}"' for name in inner)
    if error["type"] == "literal_error":
        raise InputError(f"{key}{place} must be {error['ctx']['expected']}, not {error['input']!r}")
    found = error["input"] if inner else value
    wanted = _wanted_within(key, place, setting) if inner else _wanted(key, setting)
    raise InputError(f"{key}{place} must be {wanted}, not {_TOML.get(type(found), 'a date')}")


def _with_tuples(value: Any) -> Any:
    """Return a value of TOML whose lists, those in its table included, are tuples, as settings hold them."""
    if isinstance(value, dict):
        return {name: tuple(inner) if isinstance(inner, list) else inner for name, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value


_TOML = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}
"""How a message calls a value: the value itself may be a password."""


def _wanted(key: str, setting: Setting) -> str:
    """Return the words for the type of a key."""
    kind = setting.annotation.__origin__
    if setting.key.is_size:
        return "a string"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {
        str: "a string",
        bool: "true or false",
        int: "a whole number",
        int | None: "a whole number",
        tuple[str, ...]: "a list of strings",
        Mapping[str, float]: "a table of numbers",
        tuple[float, ...]: "a list of numbers",
        Mapping[str, Mapping[str, Any]]: f'tables such as [{key}."example.org"]',
    }
    return words.get(kind, "a number")


def _wanted_within(key: str, place: str, setting: Setting) -> str:
    """Return the words for the type of an entry of a key that holds a table."""
    of_entries = get_args(setting.annotation.__origin__)[1]
    if of_entries is float:
        return "a number"
    return "a list" if get_origin(of_entries) is tuple else f"a table, written as [{key}{place}]"
