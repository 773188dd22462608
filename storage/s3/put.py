"""`put` and `upload`: objects are created once, whatever becomes of the replies.

1. The commit is one request on condition that the name is free (`If-None-Match: *`): PutObject, or
   CompleteMultipartUpload. The server decides who was first.
2. Every call marks its object with a random text. If a taken name bears our mark, the object is ours: an earlier
   attempt had arrived, and its reply was lost. This holds even if a library or gateway on the way repeats a request by
   itself.
3. Every body carries its SHA-256, which the server checks. The SHA-256 of the whole object is kept in its metadata, and
   whole reads are checked against it.
4. A trial, once a process, shows whether a server ignores the condition. With such a server, `put` looks whether the
   name is free, puts, and reads the mark back. A name that was found taken keeps its object. If several writers put one
   name at the same moment, more than one may learn that it was first, and the last one's bytes stay. In every case an
   object is one writer's, whole.
"""

import asyncio
import base64
import hashlib
import os
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from core import InputError, Unavailable
from storage.s3.connection import Connection, gather_all
from storage.s3.s3_errors import (
    is_invalid_part_list,
    is_missing,
    is_precondition_failed,
    is_unknown_condition,
    is_unknown_upload,
)

MARK = "thresher-mark"
DIGEST = "thresher-sha256"
IF_NAME_FREE = {"IfNoneMatch": "*"}
PROBES = ".probe/"
"""Where the objects of that trial lie, under the prefix. `sweep` removes what a killed process left."""
MOST_PARTS = 10_000
"""Limit of the S3 API for multipart uploads."""
ABORT_S = 10
STARTS = 3
"""How often a put starts again: its name was freed meanwhile, or AWS ended its upload because of a conflict."""


async def put(connection: Connection, key: str, data: bytes) -> bool:
    """Create the object in one request. Return True if it was created, False if the name was taken."""
    mark, digest = _mark(), hashlib.sha256(data)
    arguments = {
        "Key": key,
        "Body": data,
        "ChecksumSHA256": base64.b64encode(digest.digest()).decode(),
        "Metadata": {MARK: mark, DIGEST: digest.hexdigest()},
    }
    conditional = await _honours_put(connection)
    if not conditional:
        if await _mark_at(connection, key) is not None:
            return False
        await connection.call("put_object", **arguments)
        return await _mark_at(connection, key) == mark
    for _ in range(STARTS):
        try:
            await connection.call("put_object", **arguments, **IF_NAME_FREE)
        except ClientError as error:
            if not is_precondition_failed(error):
                raise
            there = await _mark_at(connection, key)
            if there is not None:
                return there == mark
            # It was deleted since: the name is free again.
        else:
            return True
    raise _never_ends(connection, key)


async def put_file(connection: Connection, key: str, file: int, size: int) -> bool:
    """Create the object from an open file in one request. Return as `put` does."""
    async with connection.part_slots:
        return await put(connection, key, await asyncio.to_thread(os.pread, file, size, 0))


async def upload(connection: Connection, key: str, file: int, size: int, *, part_bytes: int) -> bool:
    """Create the object from an open file, in parts. Return True if it was created, False if the name was taken.

    Hold at most `MAX_PARTS_IN_MEMORY` parts in memory, over all uploads of the connection. Abort the upload on the
    server unless it is completed.
    """
    if await _mark_at(connection, key) is not None:
        return False
    conditional = await _honours_completion(connection)
    digest = await asyncio.to_thread(_digest, file)
    part_bytes = max(part_bytes, -(-size // MOST_PARTS))
    for _ in range(STARTS):
        mark = _mark()
        begun = await connection.call(
            "create_multipart_upload",
            Key=key,
            ChecksumAlgorithm="SHA256",
            Metadata={MARK: mark, DIGEST: digest},
        )
        this = {"Key": key, "UploadId": begun["UploadId"]}
        created = None
        try:
            parts = await _send_parts(connection, this, file, size, part_bytes)
            if not conditional and await _mark_at(connection, key) is not None:
                return False
            created = await _complete(
                connection, this, parts, mark, condition=IF_NAME_FREE if conditional else {}
            )
        finally:
            if not created:
                await connection.call_once("abort_multipart_upload", ABORT_S, **this)
        if created is not None:
            return created
    raise _never_ends(connection, key)


async def _send_parts(
    connection: Connection, this: Mapping[str, Any], file: int, size: int, part_bytes: int
) -> list[dict[str, Any]]:
    async def send(number: int) -> dict[str, Any]:
        async with connection.part_slots:
            data, checksum = await asyncio.to_thread(_part, file, (number - 1) * part_bytes, part_bytes)
            sent = await connection.call(
                "upload_part", **this, PartNumber=number, Body=data, ChecksumSHA256=checksum
            )
        return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum}

    count = max(1, -(-size // part_bytes))
    return await gather_all(send(number) for number in range(1, count + 1))


async def _complete(
    connection: Connection,
    this: Mapping[str, Any],
    parts: list[dict[str, Any]],
    mark: str,
    *,
    condition: Mapping[str, str],
) -> bool | None:
    """Return True if the object is ours, False if it is another's, None if there is none and the upload must start
    again.
    """
    try:
        await connection.call(
            "complete_multipart_upload", **this, MultipartUpload={"Parts": parts}, **condition
        )
    except ClientError as error:
        if (
            not is_precondition_failed(error)
            and not is_unknown_upload(error)
            and not is_invalid_part_list(error)
        ):
            raise
    else:
        if condition:
            return True
    there = await _mark_at(connection, this["Key"])
    return None if there is None else there == mark


async def _mark_at(connection: Connection, key: str) -> str | None:
    """Return the mark of the object; None if there is no object."""
    try:
        head = await connection.call("head_object", Key=key)
    except ClientError as error:
        if is_missing(error):
            return None
        raise
    return str(head.get("Metadata", {}).get(MARK, ""))


async def _honours_put(connection: Connection) -> bool:
    """Return whether the server obeys the condition of a PutObject. Raise `InputError` if it does not keep marks."""
    known = connection.capabilities.get("put")
    if known is None:
        key, mark = _probe_key(connection), _mark()
        try:
            await connection.call("put_object", Key=key, Body=b"", Metadata={MARK: mark})
            if await _mark_at(connection, key) != mark:
                raise InputError(
                    f"{connection.location.uri}: the server keeps no metadata of objects, which Thresher needs; "
                    "use another (docs/guides/s3.md)"
                )
            known = await _is_refused(connection, "put_object", Key=key, Body=b"")
        finally:
            await connection.call_once("delete_object", ABORT_S, Key=key)
        connection.capabilities["put"] = known
    return known


async def _honours_completion(connection: Connection) -> bool:
    """Return whether the server obeys the condition of a CompleteMultipartUpload; some obey that of PutObject only."""
    known = connection.capabilities.get("complete")
    if known is not None:
        return known
    known = await _honours_put(connection)
    if known:
        key = _probe_key(connection)
        await connection.call("put_object", Key=key, Body=b"")
        begun = await connection.call("create_multipart_upload", Key=key)
        this = {"Key": key, "UploadId": begun["UploadId"]}
        try:
            sent = await connection.call("upload_part", **this, PartNumber=1, Body=b"probe")
            parts = {"Parts": [{"PartNumber": 1, "ETag": sent["ETag"]}]}
            known = await _is_refused(connection, "complete_multipart_upload", **this, MultipartUpload=parts)
        finally:
            await connection.call_once("abort_multipart_upload", ABORT_S, **this)
            await connection.call_once("delete_object", ABORT_S, Key=key)
    connection.capabilities["complete"] = known
    return known


async def _is_refused(connection: Connection, operation: str, **arguments: Any) -> bool:
    """Return whether the server refuses, because of its condition, an operation that would overwrite."""
    for _ in range(STARTS):
        try:
            await connection.call(operation, **arguments, **IF_NAME_FREE)
        except ClientError as error:
            if is_precondition_failed(error):
                return True
            if is_invalid_part_list(error):
                continue
            if not is_unknown_condition(error) and not is_unknown_upload(error):
                raise
        return False
    raise _never_ends(connection, arguments["Key"])


def _digest(file: int) -> str:
    with open(file, "rb", closefd=False) as whole:
        return hashlib.file_digest(whole, "sha256").hexdigest()


def _part(file: int, offset: int, length: int) -> tuple[bytes, str]:
    data = os.pread(file, length, offset)
    return data, base64.b64encode(hashlib.sha256(data).digest()).decode()


def _never_ends(connection: Connection, key: str) -> Unavailable:
    return Unavailable(
        f"{connection.location.uri}: others took and freed the name {key} {STARTS} times while it was put; run the "
        "command again"
    )


def _probe_key(connection: Connection) -> str:
    return f"{connection.location.prefix}{PROBES}{_mark()}"


def _mark() -> str:
    return os.urandom(16).hex()
