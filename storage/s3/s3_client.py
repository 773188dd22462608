"""The S3 client, set up as every user of S3 in this project needs it.

Keys, region and endpoint come from the AWS_* variables and profiles, as with other AWS tools.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.configprovider import ConfiguredEndpointProvider
from botocore.handlers import add_expect_header
from botocore.loaders import JSONFileLoader, create_loader

from thresher.core import InputError
from thresher.core.printable_address import redact_secrets
from thresher.storage.s3.http_connections import CONNECT_S, use_own_connections

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

MAX_REQUESTS = 64
"""Connections that one client keeps, and requests of a `Connection` on the wire at the same time."""
READ_S = 60
"""Seconds without a byte. A contended conditional put takes SeaweedFS up to 8 s (measured)."""


class _SharedFiles(JSONFileLoader):
    """Parses each file once in a process."""

    @staticmethod
    @cache
    def _parsed(file_path: str) -> Any:
        return JSONFileLoader().load_file(file_path)

    def load_file(self, file_path: str) -> Any:
        return self._parsed(file_path)


def open_session() -> boto3.Session:
    """Return a session of its own, with the keys and settings that hold now."""
    core = botocore.session.get_session()
    share_data_files(core)
    return boto3.Session(botocore_session=core)


def share_data_files(core: botocore.session.Session) -> None:
    """Let a session use the description of S3 that other sessions have parsed: 2 MB of JSON, which takes 0.1 s."""
    loader = create_loader(core.get_config_variable("data_path"))
    loader.file_loader = _SharedFiles()
    core.register_component("data_loader", loader)


def open_client(
    uri: str, session: boto3.Session, *, endpoint: str | None = None, extra: Config | None = None
) -> "S3Client":
    """Open a client, whose `close` closes its network connections. `endpoint` overrides the configured one; `extra` is
    merged into the client's configuration. Send its requests in `InFlight.attempt`: only that bounds their time.

    Raise `InputError`, which names `uri`, if the configured endpoint is no URL.
    """
    endpoint = endpoint or configured_endpoint(session)
    config = client_config(session, endpoint)
    if extra is not None:
        config = config.merge(extra)
    try:
        client = session.client("s3", endpoint_url=endpoint, config=config)
    except ValueError as error:  # botocore raises it for an endpoint that is no URL
        raise InputError(f"{uri}: {redact_secrets(str(error))}; correct AWS_ENDPOINT_URL_S3") from error
    correct_requests(client)
    use_own_connections(client)
    return client


def correct_requests(client: Any) -> None:
    """Take from a client of boto3 or aioboto3 two habits of botocore.

    `Expect: 100-continue` costs every put a round trip, and a gateway that does not know it would let us wait. After a
    redirect that names no region, botocore asks by HEAD for the bucket, whose redirect it follows in the same way,
    until the recursion is too deep.
    """
    client.meta.events.unregister("before-call.s3", add_expect_header)
    client.meta.events.register("before-call.s3.HeadBucket", _no_region)


def _no_region(**_: Any) -> tuple[AWSResponse, dict[str, dict[str, dict[str, str]]]]:
    """Reply to botocore's search for a bucket's region."""
    return AWSResponse("", 200, HTTPHeaders(), None), {"ResponseMetadata": {"HTTPHeaders": {}}}


def configured_endpoint(session: boto3.Session) -> str | None:
    """Return AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's endpoint, in botocore's own order; None
    means AWS.
    """
    core = session._session  # noqa: SLF001 - boto3 offers no other access
    if core.get_config_variable("ignore_configured_endpoint_urls"):
        return None
    endpoint: str | None = ConfiguredEndpointProvider(
        full_config=core.full_config, scoped_config=core.get_scoped_config(), client_name="s3"
    ).provide()
    return endpoint


def client_config(session: boto3.Session, endpoint: str | None) -> Config:
    """Return the client's configuration: path-style addresses if an endpoint is set, because few servers have a DNS
    name for each bucket; on AWS botocore's choice (the bucket in the host name, if it can be). A profile's own choice
    wins over both.
    """
    chosen = session._session.get_scoped_config().get("s3", {})  # noqa: SLF001 - as above
    style = chosen.get("addressing_style") if isinstance(chosen, dict) else None
    return Config(  # type: ignore[call-arg]  # the stubs lack user_agent_appid
        retries={"total_max_attempts": 1, "mode": "standard"},  # only our own senders send a request again
        connect_timeout=CONNECT_S,
        read_timeout=READ_S,
        max_pool_connections=MAX_REQUESTS,
        s3={"addressing_style": style or ("path" if endpoint else "auto")},
        # We send and check SHA-256 ourselves; older servers do not know the trailers of the default.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        user_agent_appid="thresher",
    )
