"""The identity of a server is verified, and each fault of a certificate has a name."""

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.crawler.server import Server, page
from thresher.core import Capture
from thresher.crawler.wire.network.tls import iana_cipher_name
from thresher.frontier import canonicalize


@asynccontextmanager
async def served(context):
    async with Server({"/": page("secret")}).serve(tls=context) as server:
        yield server, canonicalize(f"https://localhost:{server.port}/")


async def test_a_trusted_server_is_requested_and_its_tls_session_recorded(authority, client):
    async with served(authority.server("localhost")) as (_, url), client(tls=authority.trust) as http_client:
        found = await http_client.get(url)
    assert found.payload == b"secret"
    assert (found.tls.version, found.tls.trust) == ("1.3", "trusted")
    assert found.tls.cipher.startswith("TLS_")
    assert found.timing.tls_ms is not None


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "expired": ("tls_expired", {"names": ["localhost"], "age_days": 3}),
    "self_signed": ("tls_self_signed", {"names": ["localhost"], "self_signed": True}),
    "wrong_host": ("tls_wrong_host", {"names": ["other.test", "192.0.2.1"]}),
}


def wrong(authority, verdict):
    options = dict(WRONG[verdict][1])
    return authority.server(*options.pop("names"), **options)


@pytest.mark.parametrize("verdict", WRONG)
async def test_a_certificate_that_is_not_trusted_is_a_failure_with_its_reason(authority, client, verdict):
    async with served(wrong(authority, verdict)) as (server, url), client(tls=authority.trust) as http_client:
        found = await http_client.get(url)
    assert found.reason == WRONG[verdict][0]
    assert server.requests == []


async def test_an_unknown_authority_is_a_failure(authority, client):
    async with served(authority.server("localhost")) as (_, url), client() as http_client:
        assert (await http_client.get(url)).reason == "tls"


@pytest.mark.parametrize("verdict", [*WRONG, "untrusted"])
async def test_without_verification_the_page_is_fetched_and_the_verdict_recorded(authority, client, verdict):
    context = authority.server("localhost") if verdict == "untrusted" else wrong(authority, verdict)
    trust = None if verdict == "untrusted" else authority.trust
    async with served(context) as (server, url), client(tls=trust, verify_tls=False) as http_client:
        found = await http_client.get(url)
    assert (found.payload, found.tls.trust) == (b"secret", verdict)
    assert len(server.requests) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_old_versions_are_accepted_only_without_verification(authority, client):
    context = authority.server("localhost")
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with served(context) as (_, url):
        async with client(tls=authority.trust) as http_client:
            assert (await http_client.get(url)).reason in {"tls", "reset"}  # the server's own report
        async with client(tls=authority.trust, verify_tls=False) as http_client:
            found = await http_client.get(url)
    assert (found.tls.version, found.tls.trust) == ("1.1", "trusted")


async def test_the_name_of_the_host_is_sent_in_the_handshake(authority, client, names):
    names["named.test"] = ["127.0.0.1"]
    asked = []
    context = authority.server("named.test")
    context.sni_callback = lambda _, name, __: asked.append(name)
    async with (
        served(context) as (server, _),
        client(tls=authority.trust, nameservers=names.servers) as http_client,
    ):
        assert isinstance(await http_client.get(canonicalize(f"https://named.test.:{server.port}/")), Capture)
    assert asked == ["named.test"]


async def test_an_address_may_stand_in_a_certificate(authority, client):
    async with (
        served(authority.server("127.0.0.1")) as (server, _),
        client(tls=authority.trust) as http_client,
    ):
        found = await http_client.get(canonicalize(f"https://127.0.0.1:{server.port}/"))
    assert found.tls.trust == "trusted"


async def silent(reader, writer):
    await reader.read()
    writer.close()


async def hangs_up(reader, writer):
    await reader.read(1)
    writer.transport.abort()


async def babbles(reader, writer):
    writer.write(b"220 mail.example.org ESMTP\r\n")
    await reader.read()
    writer.close()


@pytest.mark.parametrize(
    ("answer", "reason"), [(silent, "timeout_tls"), (hangs_up, "reset"), (babbles, "tls")]
)
async def test_a_failed_handshake_has_a_reason(client, answer, reason):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with client() as http_client:
        found = await http_client.get(canonicalize(f"https://127.0.0.1:{port}/"))
    server.close()
    assert found.reason == reason


def test_cipher_suites_have_the_names_of_iana():
    assert iana_cipher_name("TLS_AES_256_GCM_SHA384") == "TLS_AES_256_GCM_SHA384"
    assert iana_cipher_name("ECDHE-RSA-AES128-GCM-SHA256") == "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    assert (
        iana_cipher_name("ECDHE-ECDSA-CHACHA20-POLY1305") == "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    )
    assert iana_cipher_name("AES256-SHA") == "TLS_RSA_WITH_AES_256_CBC_SHA"
    assert iana_cipher_name("DES-CBC3-SHA") == "TLS_RSA_WITH_3DES_EDE_CBC_SHA"
    assert iana_cipher_name("ECDHE-ECDSA-AES256-CCM8") == "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8"
    assert iana_cipher_name("DHE-RSA-AES256-SHA256") == "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256"
