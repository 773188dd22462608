"""`Web`: six hosts on loopback, the same for the same seed; `python -m demo.web` serves them until Ctrl-C.

Each host has an address of its own (127.18.0.1 and up), because politeness applies per address. All share one port,
which is chosen at the start among the free ones. Only links between hosts depend on that port.
"""

import argparse
import contextlib
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from demo import junk, magazine, manual, quirks
from demo.bank import bank
from demo.site import Expected, Site, expected
from demo.wire import Request, Response, bind_sockets, serve_in_thread

ADDRESSES = {
    "lantern": "127.18.0.1",
    "stille": "127.18.0.2",
    "revue": "127.18.0.3",
    "cuaderno": "127.18.0.4",
    "junk": "127.18.0.5",
    "manual": "127.18.0.6",
}
"""Hosts by name: the English, German, French and Spanish magazine, the junk, the manual."""
_LANGUAGES = {"en": "lantern", "de": "stille", "fr": "revue", "es": "cuaderno"}
_COPIED_ARTICLES = 6  # English articles on the junk host, half of them changed


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRequest:
    """One request that the web has answered."""

    host: str
    """Name of the host, a key of `RunningWeb.hosts`."""
    path: str
    """Path and query as sent."""
    at: float
    """Seconds on this machine's monotonic clock at which the request was complete."""
    agent: str
    """User-Agent header; empty if there was none."""
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningWeb:
    """The web while it is served."""

    hosts: dict[str, str]
    """From name to base URL, without a slash at the end."""
    seeds: list[str]
    """The front page of every host, from which all of the host's pages in `expected.pages` can be reached."""
    log: list[LoggedRequest]
    """Every request so far, in order; the list grows while the web is served."""
    expected: Expected


class Web:
    """A web of about 390 pages, generated from a seed."""

    def __init__(self, seed: int = 1) -> None:
        self._seed = seed

    def __repr__(self) -> str:
        return f"<Web of seed {self._seed}>"

    def sites(self, port: int) -> dict[str, Site]:
        """Return all hosts by name, as they are when served on `port`."""
        sites = {
            name: Site(name=name, base=f"http://{address}:{port}") for name, address in ADDRESSES.items()
        }
        friends = [(site.url("/"), name) for name, site in sites.items()]
        written = {}
        for language, name in _LANGUAGES.items():
            written[language] = magazine.compose_magazine(
                sites[name], bank(language), magazine.PLANS[language], self._random(name), friends
            )
        english, german, french, spanish = (written[language] for language in ("en", "de", "fr", "es"))
        quirks.english(english)
        quirks.german(german, elsewhere=english.site.url(english.entries[12][0]))
        quirks.french(french)
        quirks.spanish(spanish)
        for each in written.values():
            each.site.file("/images/lamp.png", "image/png", quirks.lamp(), linked=each is english)
            quirks.copies(each, self._random(f"copies of {each.site.name}"))
            each.write()
        stolen = [
            (english.site.url(target), text) for target, text in english.entries[20 : 20 + _COPIED_ARTICLES]
        ]
        junk.junk(sites["junk"], stolen, friends, self._random("junk"))
        manual.manual(sites["manual"], self._random("manual"))
        return sites

    @contextmanager
    def serve(self) -> Iterator[RunningWeb]:
        """Serve from a thread of this process until the context ends; then close the port.

        Raise `Unavailable` if the machine has no loopback addresses beyond 127.0.0.1.
        """
        port, sockets = bind_sockets(list(ADDRESSES.values()))
        sites = self.sites(port)
        named = {address: name for name, address in ADDRESSES.items()}
        log: list[LoggedRequest] = []

        def respond(request: Request) -> Response:
            name, agent = named[request.address], request.headers.get("user-agent", "")
            answer = sites[name].answer(request.target)
            log.append(
                LoggedRequest(
                    host=name, path=request.target, at=time.monotonic(), agent=agent, status=answer.status
                )
            )
            return answer

        with serve_in_thread(respond, sockets):
            yield RunningWeb(
                hosts={name: site.base for name, site in sites.items()},
                seeds=[site.url("/") for site in sites.values()],
                log=log,
                expected=expected(sites.values()),
            )

    def _random(self, purpose: str) -> Random:
        """Return a generator of its own for each purpose, so that a change to one host does not change the others."""
        return Random(f"{self._seed} {purpose}")


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m demo.web", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the web; another number gives another web (default: 1)"
    )
    web = Web(parser.parse_args().seed)
    with contextlib.suppress(KeyboardInterrupt), web.serve() as serving:
        print("\n".join(serving.seeds), flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
