"""Names are looked up at a real server that answers well, badly, or not at all."""

import asyncio
import socket

import pycares
import pytest

from tests.crawler.nameserver import AAAA, SERVFAIL, A
from tests.crawler.server import Server, page
from tests.expect import expect
from thresher.core import InputError
from thresher.crawler.wire import FetchFailure
from thresher.crawler.wire.network.dns import MAX_ADDRESSES, MAX_CACHED_HOSTS, NO_ANSWER_TTL_S, Resolver
from thresher.frontier import canonicalize


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
async def clock():
    return Clock()


@pytest.fixture
async def resolver(names, clock: Clock):
    made = Resolver(names.servers, clock=clock)
    yield made
    made.close()


async def test_addresses_of_both_families_are_found_ipv4_first(names, resolver):
    names["both.test"] = ["::7", "127.0.0.7", "127.0.0.8"]
    assert await resolver.addresses("both.test", 2) == ("127.0.0.7", "127.0.0.8", "::7")


async def test_an_address_needs_no_look_up(names, resolver):
    assert await resolver.addresses("192.0.2.1", 2) == ("192.0.2.1",)
    assert await resolver.addresses("::1", 2) == ("::1",)
    assert names.asked == []


@pytest.mark.parametrize("host", ["localhost", "anything.localhost"])
async def test_localhost_is_this_machine(names, resolver: Resolver, host):
    assert set(expect(tuple, await resolver.addresses(host, 2))) <= {"127.0.0.1", "::1"}
    assert names.asked == []


@pytest.mark.parametrize(
    ("answer", "reason", "said"),
    [
        (3, "dns", "not found"),
        (SERVFAIL, "dns", "general failure"),
        ([], "dns", "no data"),
        (["=loop.test"], "dns", "loop.test"),
        (None, "dns_timeout", "no name server answered"),
    ],
    ids=["NXDOMAIN", "SERVFAIL", "no record", "CNAME loop", "silence"],
)
async def test_reasons_for_a_missing_address_are_distinguished_and_cached(
    names, resolver, answer, reason, said
):
    names["loop.test"] = answer
    found = await resolver.addresses("loop.test", 0.6)
    assert isinstance(found, FetchFailure)
    assert found.reason == reason
    assert said in found.detail.lower()
    asked = len(names.asked)
    assert await resolver.addresses("loop.test", 0.6) == found
    assert len(names.asked) == asked


async def test_a_name_that_was_not_found_is_looked_up_again_after_a_minute(names, resolver, clock):
    assert isinstance(await resolver.addresses("new.test", 1), FetchFailure)
    names["new.test"] = ["127.0.0.7"]
    clock.now += 59
    assert isinstance(await resolver.addresses("new.test", 1), FetchFailure)
    clock.now += 2
    assert await resolver.addresses("new.test", 1) == ("127.0.0.7",)


@pytest.mark.parametrize(("ttl", "kept"), [(0, 60), (300, 300), (10**6, 3_600)])
async def test_an_answer_is_cached_for_its_ttl_within_bounds(names, resolver, clock, ttl, kept):
    names.ttl, names["a.test"] = ttl, ["127.0.0.7"]
    await resolver.addresses("a.test", 2)
    clock.now += kept - 1
    asked = len(names.asked)
    await resolver.addresses("a.test", 2)
    assert len(names.asked) == asked
    assert resolver._cache["a.test"].expires_at == clock.now + 1


async def test_a_family_without_an_answer_costs_little_time(names, resolver):
    names["broken.test"] = lambda kind: ["127.0.0.7"] if kind == A else None
    names["lying.test"] = lambda kind: ["127.0.0.7"] if kind == A else SERVFAIL
    names["six.test"] = lambda kind: ["::7"] if kind == AAAA else []
    async with asyncio.timeout(5):
        assert await resolver.addresses("broken.test", 20) == ("127.0.0.7",)
    assert await resolver.addresses("lying.test", 2) == ("127.0.0.7",)
    assert await resolver.addresses("six.test", 2) == ("::7",)


async def test_a_missing_address_of_one_family_says_nothing_about_an_unanswered_family(names, resolver):
    names["lost.example"] = lambda kind: None if kind == A else []
    found = await resolver.addresses("lost.example", 1.0)
    assert (found.reason, found.detail) == ("dns_timeout", "no name server answered for lost.example")


async def test_a_missing_answer_is_cached_for_seconds_only(names, resolver, clock):
    names["lost.example"] = None
    assert isinstance(await resolver.addresses("lost.example", 0.3), FetchFailure)
    names["lost.example"] = ["127.0.0.7"]
    clock.now += NO_ANSWER_TTL_S - 0.1
    assert isinstance(await resolver.addresses("lost.example", 1), FetchFailure)
    clock.now += 0.2
    assert await resolver.addresses("lost.example", 1) == ("127.0.0.7",)


async def test_an_absent_name_server_does_not_deny_a_name():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gone = Resolver([f"127.0.0.1:{port}"])
    found = await gone.addresses("any.example", 1.0)
    gone.close()
    assert expect(FetchFailure, found).reason == "dns_timeout"


async def test_a_channel_is_made_without_memory_that_another_thread_may_overwrite(
    names, resolver, monkeypatch
):
    """Any thread may reuse memory that Python has freed: what the library receives must live until it has read it."""
    ffi, lib, kept = vars(pycares)["_ffi"], vars(pycares)["_lib"], []

    class Lib:
        def __getattr__(self, name):
            return getattr(lib, name)

        def ares_init_options(self, *args):
            kept.extend(ffi.new("char[]", b"zz") for _ in range(1_000))
            return lib.ares_init_options(*args)

    monkeypatch.setattr(pycares, "_lib", Lib())
    names["first.test"] = ["127.0.0.7"]
    assert await resolver.addresses("first.test", 2) == ("127.0.0.7",)


async def test_simultaneous_look_ups_of_one_name_are_one(names, resolver):
    names["a.test"] = ["127.0.0.7"]
    found = await asyncio.gather(*(resolver.addresses("a.test", 2) for _ in range(50)))
    assert set(found) == {("127.0.0.7",)}
    assert len(names.asked) == 1


async def test_a_cancelled_look_up_does_not_stop_the_others(names, resolver):
    names["a.test"] = ["127.0.0.7"]
    hasty, patient = (asyncio.create_task(resolver.addresses("a.test", 2)) for _ in range(2))
    await asyncio.sleep(0)
    hasty.cancel()
    assert await patient == ("127.0.0.7",)


async def test_cached_names_and_addresses_are_bounded(names, resolver):
    names["many.test"] = [f"127.0.1.{n}" for n in range(200)]
    assert len(await resolver.addresses("many.test", 2)) <= MAX_ADDRESSES
    resolver._cache.update({f"{n}.test": None for n in range(MAX_CACHED_HOSTS)})
    await resolver.addresses("nowhere.test", 2)
    assert len(resolver._cache) <= MAX_CACHED_HOSTS + 1


@pytest.mark.parametrize("host", ["under_score.test", "x" * 64 + ".test", "a..test", "exämple.test", " "])
async def test_any_name_can_be_looked_up(resolver, host):
    assert isinstance(await resolver.addresses(host, 1), FetchFailure)


async def test_no_search_domain_is_appended_to_a_name(names, resolver):
    await resolver.addresses("single", 1)
    assert set(names.asked) <= {"single"}


@pytest.mark.parametrize("server", ["dns.example.org:53", "192.0.2.1", "192.0.2.1:x"])
async def test_a_malformed_name_server_is_an_error_of_one_line(server):
    with pytest.raises(InputError, match=r"crawler\.nameservers: '"):
        Resolver([server])


async def test_a_rebound_name_is_blocked_when_it_is_connected_to(names, client):
    """DNS rebinding: the guard checks the present address, whichever was allowed before."""
    answers = ["127.0.0.8", "127.0.0.1", "169.254.169.254", "10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
    names.ttl = 0
    async with (
        Server({"/": page("public")}, address="127.0.0.8").serve() as server,
        client(allow=("127.0.0.8/32",), nameservers=names.servers) as http_client,
    ):
        for family in (A, AAAA):  # the library caches for a while that a name has no address of one family
            url = canonicalize(f"http://turns{family}.test:{server.port}/")
            for answer in [each for each in answers if (":" in each) == (family == AAAA)]:
                names[f"turns{family}.test"] = [answer]
                http_client._resolver._cache.clear()
                found = await http_client.get(url)
                if answer == "127.0.0.8":
                    assert found.payload == b"public"
                else:
                    assert found.reason == "address_blocked"
    assert server.connections == 1
