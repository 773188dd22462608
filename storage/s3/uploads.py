"""Uploads in parts that nobody completed: nobody sees them, and they cost room until they are aborted."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from storage.s3.connection import Connection, gather_all
from storage.s3.s3_errors import is_unknown_upload
from storage.s3.server_clock import age_ms, server_time


async def abort_uploads(connection: Connection, prefix: str, older_ms: int) -> int:
    """Abort the uploads under the prefix that started at least `older_ms` milliseconds ago, by the server's clock.
    Return how many.
    """
    count = 0
    async for page, now in _pages(connection, prefix):
        old = [each for each in page if age_ms(each["Initiated"], now) >= older_ms]
        await gather_all(_abort(connection, each["Key"], each["UploadId"]) for each in old)
        count += len(old)
    return count


async def delete_all(connection: Connection, prefix: str, older_ms: int = 0) -> int:
    """Delete the objects under the prefix that were put at least `older_ms` milliseconds ago, whatever their names.
    Return how many.
    """
    count = 0
    more: dict[str, str] = {}
    while True:
        page = await connection.call("list_objects_v2", Prefix=prefix, **more)
        now = server_time(page)
        old = [
            each["Key"] for each in page.get("Contents", ()) if age_ms(each["LastModified"], now) >= older_ms
        ]
        await gather_all(connection.call("delete_object", Key=key) for key in old)
        count += len(old)
        if not page.get("IsTruncated"):
            return count
        more = {"ContinuationToken": page["NextContinuationToken"]}


async def _pages(connection: Connection, prefix: str) -> AsyncIterator[tuple[list[dict[str, Any]], datetime]]:
    more: dict[str, str] = {}
    while True:
        page = await connection.call("list_multipart_uploads", Prefix=prefix, **more)
        yield page.get("Uploads", []), server_time(page)
        if not page.get("IsTruncated"):
            return
        more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}


async def _abort(connection: Connection, key: str, upload: str) -> None:
    try:
        await connection.call("abort_multipart_upload", Key=key, UploadId=upload)
    except ClientError as error:
        if not is_unknown_upload(error):  # another sweeper was quicker
            raise
