"""Uploads in parts that nobody completed: nobody sees them, and they cost room until they are aborted."""

import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from thresher.storage.s3.connection import Connection
from thresher.storage.s3.s3_client import MAX_REQUESTS
from thresher.storage.s3.s3_errors import is_unknown_upload
from thresher.storage.s3.server_clock import age_ms, server_time

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import ListMultipartUploadsOutputTypeDef, ListObjectsV2OutputTypeDef


def abort_uploads(connection: Connection, prefix: str, older_ms: int) -> int:
    """Abort the uploads under the prefix that started at least `older_ms` milliseconds ago, by the server's clock.
    Return how many.
    """
    count = 0
    for page in _upload_pages(connection, prefix):
        now = server_time(page["ResponseMetadata"])
        old = [each for each in page.get("Uploads", ()) if age_ms(each["Initiated"], now) >= older_ms]
        aborts = (partial(_abort, connection, each["Key"], each["UploadId"]) for each in old)
        connection.in_flight.run_all(threading.Semaphore(MAX_REQUESTS), aborts)
        count += len(old)
    return count


def delete_all(connection: Connection, prefix: str, older_ms: int = 0) -> int:
    """Delete the objects under the prefix that were put at least `older_ms` milliseconds ago, whatever their names.
    Return how many.
    """
    count = 0
    for page in _object_pages(connection, prefix):
        now = server_time(page["ResponseMetadata"])
        old = [
            each["Key"] for each in page.get("Contents", ()) if age_ms(each["LastModified"], now) >= older_ms
        ]
        deletes = (partial(delete, connection, key) for key in old)
        connection.in_flight.run_all(threading.Semaphore(MAX_REQUESTS), deletes)
        count += len(old)
    return count


def delete(connection: Connection, key: str) -> None:
    """Delete the object. Do nothing if it is not there."""
    connection.send(lambda s3: s3.delete_object(Bucket=connection.bucket, Key=key))


def _object_pages(connection: Connection, prefix: str) -> "Iterator[ListObjectsV2OutputTypeDef]":
    after = ""
    while True:
        page = connection.send(partial(_list_objects, connection.bucket, prefix, after))
        yield page
        if not page.get("IsTruncated"):
            return
        after = page["NextContinuationToken"]


def _list_objects(bucket: str, prefix: str, token: str, s3: "S3Client") -> "ListObjectsV2OutputTypeDef":
    if not token:
        return s3.list_objects_v2(Bucket=bucket, Prefix=prefix)
    return s3.list_objects_v2(Bucket=bucket, Prefix=prefix, ContinuationToken=token)


def _upload_pages(connection: Connection, prefix: str) -> "Iterator[ListMultipartUploadsOutputTypeDef]":
    key, upload = "", ""
    while True:
        page = connection.send(partial(_list_uploads, connection.bucket, prefix, key, upload))
        yield page
        if not page.get("IsTruncated"):
            return
        key, upload = page["NextKeyMarker"], page["NextUploadIdMarker"]


def _list_uploads(
    bucket: str, prefix: str, key: str, upload: str, s3: "S3Client"
) -> "ListMultipartUploadsOutputTypeDef":
    if not key:
        return s3.list_multipart_uploads(Bucket=bucket, Prefix=prefix)
    return s3.list_multipart_uploads(Bucket=bucket, Prefix=prefix, KeyMarker=key, UploadIdMarker=upload)


def _abort(connection: Connection, key: str, upload: str) -> None:
    try:
        connection.send(
            lambda s3: s3.abort_multipart_upload(Bucket=connection.bucket, Key=key, UploadId=upload)
        )
    except ClientError as error:
        if not is_unknown_upload(error):  # another sweeper was quicker
            raise
