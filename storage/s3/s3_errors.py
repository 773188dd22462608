"""What an S3 client's exceptions mean: send the request again, act on the answer, or tell the user in one line.

1. These are sent again: no connection, no reply or a broken one, 5xx, 429, and the codes by which servers ask for time
   or say that the body was damaged on the way.
2. Wrong keys, addresses and settings are `InputError`, because the user must act. What the server's owner must mend
   (rights, room, clocks) is `Unavailable`.
3. No line repeats what the server wrote beyond its error code, because the server's text may quote what was signed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError as BrokenReply

from thresher.core import InputError, ThresherError, Unavailable
from thresher.core.printable_address import redact_secrets
from thresher.storage.request_retry import retry_after_ms

RETRYABLE_CODES = frozenset(
    {
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "OperationAborted",
        "ConditionalRequestConflict",
        "InternalError",
        "ServiceUnavailable",
        # The body arrived otherwise than it was sent; it is sent again.
        "BadDigest",
        "IncompleteBody",
        "XAmzContentChecksumMismatch",
        "XAmzContentSHA256Mismatch",
    }
)
"""Codes after which the same request may succeed, whatever their status (list of error codes of the S3 API)."""
WRONG_KEYS = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired"}
)
WRONG_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraint"})
ACCESS_DENIED_CODES = frozenset({"AccessDenied", "AllAccessDisabled", "AccountProblem", "401", "403"})


class DamagedReply(Exception):
    """A reply that cannot be what the server sent: too short, or of another range."""


REASONS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((ConnectTimeoutError, ReadTimeoutError, TimeoutError), "no answer in time"),
    ((NoConnectionError,), "no connection"),
    # botocore reads the body of a refused GetObject late, and lets urllib3's errors of that pass.
    ((HTTPClientError, BrokenReply, OSError, EOFError), "connection lost"),
    ((DamagedReply, IncompleteReadError, ResponseParserError), "a damaged reply"),
    ((CredentialRetrievalError, MetadataRetrievalError), "credentials cannot be had"),
)
"""Exceptions after which the same request may succeed, in the order in which they are matched, each with what the user
reads of it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryableFailure:
    """A failure after which the request is to be sent again."""

    reason: str
    wait_ms: int = 0
    """The pause that the server asked for (Retry-After)."""
    has_reply: bool = False
    """Whether the server sent a reply."""


def retryable_failure(error: Exception) -> RetryableFailure | None:
    """Return why the request may be sent again, and after which pause; None if sending it again would change
    nothing.
    """
    if isinstance(error, ClientError):
        passes = code(error) in RETRYABLE_CODES or status(error) in (408, 429) or _is_servers_fault(error)
        reason = f"{code(error)}, status {status(error)}"
        wait_ms = retry_after_ms(headers(error))
        return RetryableFailure(reason=reason, wait_ms=wait_ms, has_reply=True) if passes else None
    if isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return None
    for kinds, reason in REASONS:
        if isinstance(error, kinds):
            return RetryableFailure(reason=reason)
    return None


def user_error(error: Exception, subject: str) -> ThresherError:
    """Return the error of one line for a failure that no retry can help."""
    match error:
        case NoCredentialsError() | PartialCredentialsError():
            return InputError(
                f"no credentials for {subject}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
            )
        case SSLError():
            return InputError(
                f"{subject}: the server's certificate is not trusted; set AWS_CA_BUNDLE to the one that signed it"
            )
        case ClientError():
            return _refused(code(error), status(error), subject)
        case BotoCoreError():
            return InputError(f"{subject}: {_line(error)}; see the AWS_* variables")
    return Unavailable(f"{subject}: {type(error).__name__}; see to it and run the command again")


def code(error: ClientError) -> str:
    """Return the S3 error code; the status if the reply has no body (HEAD)."""
    return str(error.response.get("Error", {}).get("Code", "")) or str(status(error))


def status(error: ClientError) -> int:
    """Return the HTTP status."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def headers(error: ClientError) -> Mapping[str, str]:
    """Return the headers of the reply; names are in lower case."""
    found: Mapping[str, str] = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return found


def is_missing(error: ClientError) -> bool:
    """Return whether there is no such object."""
    return code(error) in ("404", "NoSuchKey")


def is_empty(error: ClientError) -> bool:
    """Return whether the object has no bytes in the requested range."""
    return status(error) == 416


def is_unknown_upload(error: ClientError) -> bool:
    """Return whether there is no such multipart upload: it was completed or aborted."""
    return code(error) == "NoSuchUpload"


def is_invalid_part_list(error: ClientError) -> bool:
    """Return whether the list of an upload's parts differs from what the server has. The server cannot check that list
    by a checksum.
    """
    return code(error) in ("InvalidPart", "InvalidPartOrder", "MalformedXML")


def is_precondition_failed(error: ClientError) -> bool:
    """Return whether a precondition failed: the name is taken, or the object was replaced."""
    return status(error) == 412


def is_unknown_condition(error: ClientError) -> bool:
    """Return whether the server refuses the header of a conditional put as such."""
    return status(error) == 501 or code(error) in ("NotImplemented", "InvalidArgument", "InvalidRequest")


def _refused(code: str, status: int, subject: str) -> ThresherError:
    if code == "NoSuchBucket":
        return InputError(f"{subject}: there is no such bucket; create it, or correct the address")
    if code in WRONG_KEYS:
        return InputError(
            f"{subject}: the server does not accept the credentials ({code}); correct AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if code in WRONG_REGION or status == 301:
        return InputError(f"{subject}: the bucket is in another region ({code}); correct AWS_REGION")
    if code == "RequestTimeTooSkewed":
        return Unavailable(
            f"{subject}: this machine's clock and the server's differ too much; set them right"
        )
    if code in ACCESS_DENIED_CODES or status in (401, 403):
        return Unavailable(
            f"{subject}: access refused ({code}); let the key read, write, list and delete there"
        )
    return Unavailable(
        f"{subject}: request refused ({code}, status {status}); see to it and run the command again"
    )


def _is_servers_fault(error: ClientError) -> bool:
    return status(error) >= 500 and status(error) not in (501, 505)


def _line(error: Exception) -> str:
    return redact_secrets(" ".join(str(error).split())).rstrip(".") or type(error).__name__
