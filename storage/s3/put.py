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

import base64
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from botocore.exceptions import ClientError

from thresher.core import InputError, Unavailable
from thresher.storage.s3.connection import Connection
from thresher.storage.s3.s3_errors import (
    is_invalid_part_list,
    is_missing,
    is_precondition_failed,
    is_unknown_condition,
    is_unknown_upload,
)

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import CompletedPartTypeDef


class Condition(TypedDict, total=False):
    """The condition of a request that creates an object."""

    IfNoneMatch: str


MARK = "thresher-mark"
DIGEST = "thresher-sha256"
IF_NAME_FREE: Condition = {"IfNoneMatch": "*"}
UNCONDITIONAL: Condition = {}
PROBES = ".probe/"
"""Where the objects of that trial lie, under the prefix. `sweep` removes what a killed process left."""
MAX_PARTS = 10_000
"""Limit of the S3 API for multipart uploads."""
ABORT_S = 5
"""Seconds for a request that only tidies up: a server that does not answer must not delay the end of a command, and
`sweep` removes what is left.
"""
STARTS = 3
"""How often a put starts again: its name was freed meanwhile, or AWS ended its upload because of a conflict."""


def put(connection: Connection, key: str, data: bytes) -> bool:
    """Create the object in one request. Return True if it was created, False if the name was taken."""
    mark, digest = _mark(), hashlib.sha256(data)
    checksum = base64.b64encode(digest.digest()).decode()
    metadata = {MARK: mark, DIGEST: digest.hexdigest()}

    def create(condition: Condition) -> None:
        connection.send(
            lambda s3: s3.put_object(
                Bucket=connection.bucket,
                Key=key,
                Body=data,
                ChecksumSHA256=checksum,
                Metadata=metadata,
                **condition,
            )
        )

    if not _honours_put(connection):
        if _mark_at(connection, key) is not None:
            return False
        create(UNCONDITIONAL)
        return _mark_at(connection, key) == mark
    for _ in range(STARTS):
        try:
            create(IF_NAME_FREE)
        except ClientError as error:
            if not is_precondition_failed(error):
                raise
            there = _mark_at(connection, key)
            if there is not None:
                return there == mark
            # It was deleted since: the name is free again.
        else:
            return True
    raise _never_ends(connection, key)


def put_file(connection: Connection, key: str, file: int, size: int) -> bool:
    """Create the object from an open file in one request. Return as `put` does."""
    with connection.part_slots:
        return put(connection, key, os.pread(file, size, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """An upload that was started on the server."""

    connection: Connection
    key: str
    upload_id: str

    @classmethod
    def start(cls, connection: Connection, key: str, metadata: dict[str, str]) -> "_Upload":
        begun = connection.send(
            lambda s3: s3.create_multipart_upload(
                Bucket=connection.bucket, Key=key, ChecksumAlgorithm="SHA256", Metadata=metadata
            )
        )
        return cls(connection=connection, key=key, upload_id=begun["UploadId"])

    def send_part(self, number: int, data: bytes) -> "CompletedPartTypeDef":
        checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
        sent = self.connection.send(
            lambda s3: s3.upload_part(
                Bucket=self.connection.bucket,
                Key=self.key,
                UploadId=self.upload_id,
                PartNumber=number,
                Body=data,
                ChecksumSHA256=checksum,
            )
        )
        return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum}

    def complete(self, parts: "list[CompletedPartTypeDef]", condition: Condition) -> None:
        self.connection.send(
            lambda s3: s3.complete_multipart_upload(
                Bucket=self.connection.bucket,
                Key=self.key,
                UploadId=self.upload_id,
                MultipartUpload={"Parts": parts},
                **condition,
            )
        )

    def abort(self) -> None:
        """Try to abort the upload, once."""
        self.connection.try_once(
            lambda s3: s3.abort_multipart_upload(
                Bucket=self.connection.bucket, Key=self.key, UploadId=self.upload_id
            ),
            ABORT_S,
        )


def upload(connection: Connection, key: str, file: int, size: int, *, part_bytes: int) -> bool:
    """Create the object from an open file, in parts. Return True if it was created, False if the name was taken.

    Hold at most `MAX_PARTS_IN_MEMORY` parts in memory, over all uploads of the connection. Abort the upload on the
    server unless it is completed.
    """
    if _mark_at(connection, key) is not None:
        return False
    condition = IF_NAME_FREE if _honours_completion(connection) else UNCONDITIONAL
    digest = _digest(file)
    part_bytes = max(part_bytes, -(-size // MAX_PARTS))
    for _ in range(STARTS):
        mark = _mark()
        this = _Upload.start(connection, key, {MARK: mark, DIGEST: digest})
        created = None
        try:
            parts = _send_parts(this, file, size, part_bytes)
            if not condition and _mark_at(connection, key) is not None:
                return False
            created = _complete(this, parts, mark, condition)
        finally:
            if not created:
                this.abort()
        if created is not None:
            return created
    raise _never_ends(connection, key)


def _send_parts(this: _Upload, file: int, size: int, part_bytes: int) -> "list[CompletedPartTypeDef]":
    def send(number: int) -> "CompletedPartTypeDef":
        return this.send_part(number, os.pread(file, part_bytes, (number - 1) * part_bytes))

    count = max(1, -(-size // part_bytes))
    works = (partial(send, number) for number in range(1, count + 1))
    return this.connection.in_flight.run_all(this.connection.part_slots, works)


def _complete(
    this: _Upload, parts: "list[CompletedPartTypeDef]", mark: str, condition: Condition
) -> bool | None:
    """Return True if the object is ours, False if it is another's, None if there is none and the upload must start
    again.
    """
    try:
        this.complete(parts, condition)
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
    there = _mark_at(this.connection, this.key)
    return None if there is None else there == mark


def _mark_at(connection: Connection, key: str) -> str | None:
    """Return the mark of the object; None if there is no object."""
    try:
        head = connection.send(lambda s3: s3.head_object(Bucket=connection.bucket, Key=key))
    except ClientError as error:
        if is_missing(error):
            return None
        raise
    return head.get("Metadata", {}).get(MARK, "")


def _honours_put(connection: Connection) -> bool:
    """Return whether the server obeys the condition of a PutObject. Raise `InputError` if it does not keep marks."""
    known = connection.capabilities.get("put")
    if known is None:
        key, mark = _probe_key(connection), _mark()
        try:
            _put_empty(connection, key, {MARK: mark}, UNCONDITIONAL)
            if _mark_at(connection, key) != mark:
                raise InputError(
                    f"{connection.location.uri}: the server keeps no metadata of objects, which Thresher needs; "
                    "use another (docs/guides/s3.md)"
                )
            known = _is_refused(connection, key, lambda: _put_empty(connection, key, {}, IF_NAME_FREE))
        finally:
            _try_delete(connection, key)
        connection.capabilities["put"] = known
    return known


def _honours_completion(connection: Connection) -> bool:
    """Return whether the server obeys the condition of a CompleteMultipartUpload; some obey that of PutObject only."""
    known = connection.capabilities.get("complete")
    if known is not None:
        return known
    known = _honours_put(connection)
    if known:
        key = _probe_key(connection)
        _put_empty(connection, key, {}, UNCONDITIONAL)
        this = _Upload.start(connection, key, {})
        try:
            parts = [this.send_part(1, b"probe")]
            known = _is_refused(connection, key, lambda: this.complete(parts, IF_NAME_FREE))
        finally:
            this.abort()
            _try_delete(connection, key)
    connection.capabilities["complete"] = known
    return known


def _is_refused(connection: Connection, key: str, overwrite: Callable[[], None]) -> bool:
    """Return whether the server refuses `overwrite`, because of its condition."""
    for _ in range(STARTS):
        try:
            overwrite()
        except ClientError as error:
            if is_precondition_failed(error):
                return True
            if is_invalid_part_list(error):
                continue
            if not is_unknown_condition(error) and not is_unknown_upload(error):
                raise
        return False
    raise _never_ends(connection, key)


def _put_empty(connection: Connection, key: str, metadata: dict[str, str], condition: Condition) -> None:
    connection.send(
        lambda s3: s3.put_object(Bucket=connection.bucket, Key=key, Body=b"", Metadata=metadata, **condition)
    )


def _try_delete(connection: Connection, key: str) -> None:
    connection.try_once(lambda s3: s3.delete_object(Bucket=connection.bucket, Key=key), ABORT_S)


def _digest(file: int) -> str:
    with open(file, "rb", closefd=False) as whole:
        return hashlib.file_digest(whole, "sha256").hexdigest()


def _never_ends(connection: Connection, key: str) -> Unavailable:
    return Unavailable(
        f"{connection.location.uri}: others took and freed the name {key} {STARTS} times while it was put; run the "
        "command again"
    )


def _probe_key(connection: Connection) -> str:
    return f"{connection.location.prefix}{PROBES}{_mark()}"


def _mark() -> str:
    return os.urandom(16).hex()
