"""How a crawl is spread over slots."""

from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from thresher.frontier.link.partition import Partitions, crawl_call

NUMBERS = st.integers(1, 200)


@given(NUMBERS, st.integers(0, 199))
def test_all_keys_of_a_partition_lie_in_one_slot(number, partition):
    parts = Partitions("a-crawl", number)
    slots = {
        key_slot(parts.key(partition % number, name).encode()) for name in ("count", "hosts", "q:a.test")
    }
    assert len(slots) == 1


@given(NUMBERS, st.sampled_from(["www", "a", "b.c"]))
def test_the_hosts_of_a_registered_domain_are_together(number, label):
    parts = Partitions("a-crawl", number)
    assert parts.of_host(f"{label}.example.co.uk") == parts.of_host("example.co.uk") < number


def test_domains_are_spread_evenly():
    parts = Partitions("a-crawl", 64)
    shares = [0] * 64
    for i in range(64_000):
        shares[parts.of_host(f"host-{i}.test")] += 1
    assert min(shares) > 800
    assert max(shares) < 1_200


def test_partitions_are_spread_over_the_slots_of_a_cluster():
    parts = Partitions("a-crawl", 64)
    thirds = [key_slot(parts.key(partition).encode()) * 3 // 16_384 for partition in range(64)]
    assert all(12 < thirds.count(third) < 32 for third in range(3))


@given(NUMBERS, st.integers(1, 1 << 40), st.integers(0, 199))
def test_a_token_says_which_partition_granted_it(number, counter, partition):
    parts = Partitions("a-crawl", number)
    assert parts.of_token(counter * number + partition % number) == partition % number


def test_what_concerns_the_crawl_as_a_whole_has_a_slot_of_its_own():
    assert crawl_call("a-crawl", "flow").keys == ("thresher:{a-crawl}:count",)
