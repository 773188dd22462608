"""The embedded server outlives anybody's death and keeps everything."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis
from redis.asyncio.connection import parse_url

from thresher.core import Unavailable
from thresher.frontier import CrawlSettings, Frontier, Kind, Outcome, Settlement
from thresher.frontier.link.embedded import embedded_server
from thresher.frontier.link.redis_client import redis_client
from thresher.frontier.link.single import SingleLink

ROOT = Path(__file__).resolve().parents[3]


def direct(address: str) -> Redis:
    return Redis.from_url(address)


def pid(directory: Path) -> int:
    return int((directory / "server.pid").read_text())


def kill_server(directory: Path) -> None:
    os.kill(pid(directory), signal.SIGKILL)
    while running(directory):
        time.sleep(0.01)


def running(directory: Path) -> bool:
    """Whether a server holds the data: its lock says so, whatever became of its starter."""
    import fcntl

    with (directory / "server.lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def said_by(process):
    assert process.stdout
    return process.stdout.readline().strip()


def user(directory: Path) -> subprocess.Popen:
    """Another process that uses the server until it is killed or its standard input ends."""
    code = (
        "import sys; from pathlib import Path; from thresher.frontier.link.embedded import embedded_server\n"
        "with embedded_server(Path(sys.argv[1])) as address: print(address, flush=True); sys.stdin.read()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(directory)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_later_user_finds_what_an_earlier_one_left(tmp_path: Path):
    with embedded_server(tmp_path / "new" / "state") as address:
        direct(address).set("k", "v")
    assert not running(tmp_path / "new" / "state")
    with embedded_server(tmp_path / "new" / "state") as address:
        assert direct(address).get("k") == b"v"


def test_it_listens_on_a_private_socket_and_no_port(tmp_path: Path):
    with embedded_server(tmp_path) as address:
        assert address.startswith("unix://")
        assert direct(address).config_get("port") == {"port": "0"}
        path = Path(address.removeprefix("unix://"))
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def test_two_users_share_it_and_the_last_stops_it(tmp_path: Path):
    other = user(tmp_path)
    address = said_by(other)
    with embedded_server(tmp_path) as mine:
        assert mine == address
        other.communicate()
        assert direct(mine).ping()
    assert not running(tmp_path)


def test_users_of_one_process_share_it_too(tmp_path: Path):
    with ExitStack() as stack:
        first = stack.enter_context(embedded_server(tmp_path))
        with embedded_server(tmp_path) as second:
            assert first == second
        assert direct(first).ping()
    assert not running(tmp_path)


def test_a_server_whose_users_were_killed_is_joined(tmp_path: Path):
    other = user(tmp_path)
    address = said_by(other)
    direct(address).set("k", "v")
    orphan = pid(tmp_path)
    other.kill()
    other.communicate()
    with embedded_server(tmp_path) as mine:
        assert pid(tmp_path) == orphan
        assert direct(mine).get("k") == b"v"
    assert not running(tmp_path)


def test_a_killed_server_comes_back_with_everything_it_acknowledged(tmp_path: Path):
    with embedded_server(tmp_path) as address:
        for i in range(500):
            direct(address).set(f"k{i}", i)
        kill_server(tmp_path)
        with embedded_server(tmp_path) as again:
            assert again == address
            assert direct(again).dbsize() == 500


def test_a_last_write_that_was_cut_is_dropped_and_the_rest_kept(tmp_path: Path):
    with embedded_server(tmp_path) as address:
        for i in range(10):
            direct(address).set(f"k{i}", i)
        direct(address).waitaof(1, 0, 10_000)  # a disk that is busy may be a second behind
        kill_server(tmp_path)
        (log,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
        os.truncate(log, log.stat().st_size - 5)
        with embedded_server(tmp_path) as again:
            assert direct(again).dbsize() == 9


def test_a_server_that_lost_its_socket_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("thresher.frontier.link.embedded._DEAF_POLLS", 5)
    with embedded_server(tmp_path) as address:
        direct(address).set("k", "v")
        lost = pid(tmp_path)
        Path(address.removeprefix("unix://")).unlink()
        with embedded_server(tmp_path) as again:
            assert pid(tmp_path) != lost
            assert direct(again).get("k") == b"v"
    assert not running(tmp_path)


def test_many_may_come_and_go_at_once(tmp_path: Path):
    users = [user(tmp_path) for _ in range(5)]
    addresses = {said_by(process) for process in users}
    assert len(addresses) == 1
    users[0].kill()
    for process in users:
        process.communicate()
    with embedded_server(tmp_path) as mine:
        assert {mine} == addresses
    assert not running(tmp_path)


def test_a_directory_too_deep_for_a_socket_path_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    deep = tmp_path / ("d" * 120) / "x"
    deep.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with embedded_server(deep) as address:
        assert direct(address).ping()


def test_the_socket_is_found_by_users_with_another_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = user(tmp_path)
    address = said_by(other)
    runtime = tmp_path / "r"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with embedded_server(tmp_path) as mine:
        assert mine == address
    other.communicate()


def test_a_directory_that_is_a_file_is_unavailable_in_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(Unavailable, match=r"^the embedded frontier cannot use .*make it writable$"),
        embedded_server(tmp_path / "file"),
    ):
        pass


def test_damaged_data_is_unavailable_in_one_line(tmp_path: Path):
    with embedded_server(tmp_path) as address:
        direct(address).set("k", "v")
    (manifest,) = (tmp_path / "appendonlydir").glob("*.manifest")
    manifest.write_text("nonsense\n")
    with (
        pytest.raises(Unavailable, match=r"did not start: .*see .*server.log$") as raised,
        embedded_server(tmp_path),
    ):
        pass
    assert "\n" not in str(raised.value)
    assert not running(tmp_path)


@pytest.mark.parametrize(("pages", "kills"), [(120, 2), pytest.param(300, 4, marks=pytest.mark.slow)])
async def test_a_crawl_whose_server_is_killed_again_and_again_settles_every_page_once(
    tmp_path: Path, found, pages, kills
):
    accepted = killed = 0

    async def patiently(call):
        """What a worker does when the server is gone: the same again, once it is back."""
        while True:
            try:
                return await call()
            except Unavailable:
                server.close()
                assert server.enter_context(embedded_server(tmp_path)) == address

    server = ExitStack()
    address = server.enter_context(embedded_server(tmp_path))
    link = SingleLink(redis_client(parse_url(address)), retry_timeout_s=0.1)
    frontier = Frontier(link, "main")
    await frontier.open(CrawlSettings(min_delay_ms=0))
    await frontier.add([found(f"http://h{i % 10}.test/{i}") for i in range(pages)])
    seen = set()
    while not (await patiently(frontier.stats)).is_drained:
        if killed < kills and accepted > killed * pages // (kills + 1):
            loop = asyncio.get_running_loop()
            loop.call_later(0.002 * killed, os.kill, pid(tmp_path), signal.SIGKILL)
            killed += 1
        leases = await patiently(lambda: frontier.lease(10, worker="w", lease_ms=1_000))
        for lease in leases:
            if lease.kind is Kind.ROBOTS:
                await patiently(
                    lambda lease=lease: frontier.origins.settle_robots(
                        lease, rule="allow", body=b"", ttl_ms=60_000, delay_ms=None
                    )
                )
            else:
                once = [Settlement(lease=lease, outcome=Outcome.FETCHED)]
                count = await patiently(lambda once=once: frontier.settle(once))
                assert not (count and lease.url in seen)
                seen |= {lease.url} if count else set()
                accepted += count
    stats = await frontier.stats()
    assert stats.outcomes["fetched"] == stats.seen == pages
    assert killed == kills
    assert accepted <= pages
    await link.aclose()
    server.close()
    assert not running(tmp_path)
