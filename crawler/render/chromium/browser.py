"""`Browser`: one Chromium without a network, and the limits of its memory.

1. Whatever a page makes it do, it has no way to the network: no name resolves, and the only proxy, for loopback too, is
   a port of this machine on which nobody listens. It has no QUIC, no UDP of WebRTC, and no background services of its
   own. Its pages receive from us whatever they see of the web (`crawler.render.tab`).
2. Playwright controls it over a pipe, through a driver that has no secret of ours (`crawler.render.chromium.driver`).
   However the worker ends, the pipe closes and Chromium ends itself.
3. A tab that takes more memory than `TAB_BYTES` is killed, and no other tab.
4. It writes into a directory of ours, which is removed with it, or by the next browser that is started
   (`crawler.render.chromium.directory`).
5. It starts confined (`isolation.browser_launch`), and never as root: root starts it as nobody. Its own sandbox is on,
   unless the user has switched it off.
"""

import asyncio
import os
import re
import socket
import time
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser as Chromium
from playwright.async_api import Error, Playwright

from thresher.core import InputError, ThresherError, Unavailable
from thresher.crawler.render.chromium.directory import BrowserDirectory
from thresher.crawler.render.chromium.driver import start_driver
from thresher.crawler.render.chromium.processes import kill, process_tree
from thresher.isolation.browser_launch import UNREACHABLE_DIRECTORY, write_launcher
from thresher.isolation.environment import scrub_environment

TAB_BYTES = 1 << 30
BROWSER_BYTES = 3 << 30
"""Bytes of all its processes together, shared memory counted in each; a browser that has more gets no further pages."""
HEAP_MB = 512
"""MiB of V8's heap, for each tab."""
MEMORY_CHECK_S = 0.25
START_S = 30.0
STOP_S = 5.0
NO_SANDBOX = "No usable sandbox"
"""Chromium's message if it cannot have its sandbox (`zygote_host_impl_linux.cc`)."""
AS_ROOT = "Running as root without --no-sandbox"
"""Chromium's message if root has started it and it could not become another user."""
_SHUT = re.compile(rf"{UNREACHABLE_DIRECTORY} (.*)")
ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-bypass-list=<-loopback>",  # otherwise loopback bypasses the proxy
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-print-preview",
    "--autoplay-policy=user-gesture-required",
    "--mute-audio",
    "--disable-notifications",
    "--deny-permission-prompts",
    "--disable-site-isolation-trials",  # frames are not loaded, so there is nothing to isolate
    f"--js-flags=--max-old-space-size={HEAP_MB}",
)


class Browser:
    """A running Chromium."""

    def __init__(
        self,
        playwright: Playwright,
        chromium: Chromium,
        pid: int,
        dead_proxy: socket.socket,
        directory: BrowserDirectory,
    ) -> None:
        self._playwright, self.chromium, self.pid = playwright, chromium, pid
        self._dead_proxy, self._directory = dead_proxy, directory
        self.total_pages = 0
        """Pages that it has opened in all."""
        self.open_pages = 0
        self.is_over_memory = False
        """Whether it has taken more memory than it should."""
        self.tab_killed_at = -1.0
        """When a tab was last killed for its memory, in seconds of the monotonic clock."""
        self.exit_event = asyncio.Event()
        chromium.on("disconnected", lambda _: self.exit_event.set())
        self._watching = asyncio.create_task(self._watch())

    @property
    def is_alive(self) -> bool:
        """Whether the driver is connected to it."""
        return bool(self.chromium.is_connected())

    @property
    def name(self) -> str:
        """`chromium/VERSION`."""
        return f"chromium/{self.chromium.version}"

    async def stop(self) -> None:
        """Stop it; kill its processes if they do not end."""
        self._watching.cancel()
        pids = [process.pid for process in process_tree(self.pid)]
        await _at_most(STOP_S, self.chromium.close())
        if process_tree(self.pid):
            for pid in pids:
                kill(pid)
        await _at_most(STOP_S, self._playwright.stop())
        self._dead_proxy.close()
        self._directory.remove()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(MEMORY_CHECK_S)
            if not self.open_pages:
                continue
            processes = process_tree(self.pid)
            for process in processes:
                if process.resident > TAB_BYTES and process.is_renderer:
                    self.tab_killed_at = time.monotonic()
                    kill(process.pid)
            self.is_over_memory = (
                self.is_over_memory or sum(one.resident for one in processes) > BROWSER_BYTES
            )

    def __repr__(self) -> str:
        return f"<{self.name}: process {self.pid}, {self.open_pages} of {self.total_pages} pages open>"


async def start_browser(path: str, *, sandbox: bool) -> Browser:
    """Start the program at `path`, with its own sandbox or without.

    Raise `InputError` if the system does not let it have its sandbox, or does not let root start it as nobody, and
    `Unavailable` if it does not start.
    """
    dead_proxy = socket.socket()
    dead_proxy.bind(("127.0.0.1", 0))  # bound and never listening: every connection is refused
    directory = BrowserDirectory()
    playwright = await start_driver(directory.path)
    try:
        temporary = directory.path / "t"
        temporary.mkdir(mode=0o700)
        with TemporaryDirectory(dir=directory.path) as beginning:
            async with asyncio.timeout(START_S):
                chromium = await playwright.chromium.launch(
                    executable_path=write_launcher(path, Path(beginning), temporary),
                    args=[*ARGUMENTS, f"--proxy-server=http://127.0.0.1:{dead_proxy.getsockname()[1]}"],
                    ignore_default_args=["--disable-popup-blocking"],
                    env=dict(scrub_environment(os.environ)),
                    chromium_sandbox=sandbox,
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
                return Browser(playwright, chromium, await _pid(chromium), dead_proxy, directory)
    except (Error, TimeoutError) as error:
        await _at_most(STOP_S, playwright.stop())
        dead_proxy.close()
        directory.remove()
        raise _start_error(path, str(error)) from None


def _start_error(path: str, message: str) -> ThresherError:
    if NO_SANDBOX in message:
        return InputError(
            f"crawler.render: the system does not let {path} have its sandbox, for it grants no user namespaces; grant "
            "them (docs/security.md), or set crawler.browser_sandbox = false to render without"
        )
    if AS_ROOT in message:
        return InputError(
            f"crawler.render: {path} does not run as root in its sandbox, and the system lets root become no other "
            "user; run the crawl as another user, or set crawler.browser_sandbox = false to render without "
            "(docs/security.md)"
        )
    if shut := _SHUT.search(message):
        return InputError(
            f"crawler.render: root starts {path} as nobody, who may not enter {shut[1]}; name another directory for "
            "temporary files (TMPDIR=/tmp), or run the crawl as another user"
        )
    lines = message.strip().splitlines() or ["no answer"]
    return Unavailable(f"{path} does not start: {lines[0]}; run it by hand with --headless to see why")


async def _pid(chromium: Chromium) -> int:
    session = await chromium.new_browser_cdp_session()
    found: dict[str, Any] = await session.send("SystemInfo.getProcessInfo")
    await session.detach()
    return next(int(one["id"]) for one in found["processInfo"] if one["type"] == "browser")


async def _at_most(seconds: float, doing: Awaitable[object]) -> None:
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(seconds):
            await doing
