"""Rows 43 to 49: redirects, URLs, and sites without an end."""

from tests.crawler.server import links, page, redirect, spelled
from tests.hostile.host import Exchange
from tests.hostile.rows.row import Row, WebAddress


def raw_redirect(*lines: bytes, status=b"302 Found") -> bytes:
    return (
        b"HTTP/1.1 "
        + status
        + b"\r\n"
        + b"".join(line + b"\r\n" for line in lines)
        + b"Content-Length: 0\r\n\r\n"
    )


async def endless_redirect(exchange: Exchange):
    await exchange.send(b"HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Type: text/html\r\n\r\n")
    for _ in range(1_000):
        await exchange.send(b"x" * (1 << 14))


def loops() -> list[Row]:
    async def with_cookie(exchange: Exchange):
        if exchange.header("cookie"):
            await exchange.send(page("welcome back"))
        else:
            await exchange.send(redirect("/bad"))

    async def with_another(exchange: Exchange):
        await exchange.send(raw_redirect(b"Location: /bad", b"Set-Cookie: seen=1"))

    chain = {f"/c-{hop}": redirect(f"/c-{hop + 1}", status="302 Found") for hop in range(50)}
    return [
        Row(
            number=43,
            name="a loop of two",
            answers={"/a": redirect("/b"), "/b": redirect("/a")},
            asked={"/a": (1, 1), "/b": (1, 1)},
            kept={"/a": None, "/b": None},
        ),
        Row(
            number=43,
            name="a redirect to itself that wants a cookie",
            answers={"/bad": with_cookie},
            asked={"/bad": (1, 2)},
            ended={"/bad": "redirected:to_itself"},
            kept={"/bad": None},
        ),
        Row(
            number=43,
            name="a redirect to itself that sets a cookie",
            answers={"/bad": with_another},
            asked={"/bad": (1, 1)},
            ended={"/bad": "redirected:needs_cookie"},
            kept={"/bad": None},
        ),
        Row(
            number=43,
            name="a redirect to the page in another spelling",
            answers={"/bad?b=1&a=2": redirect("/bad?a=2&b=1"), "/bad?a=2&b=1": page("there")},
            links=("/bad?b=1&a=2",),
            asked={"/bad?b=1&a=2": (1, 1), "/bad?a=2&b=1": (1, 1)},
        ),
        Row(
            number=43,
            name="a chain of fifty hops",
            answers=chain,
            links=("/c-0",),
            ended={"/c-0": "redirected:", "/c-10": "redirected:too_many_hops"},
            asked={"/c-10": (1, 1), "/c-25": (0, 0)},
        ),
        Row(
            number=43,
            name="a loop that grows",
            fallback=lambda path: redirect(f"{path}x") if path.startswith("/grow") else None,
            links=("/grow",),
            asked={"/grow": (1, 1), "/grow" + "x" * 21: (0, 0)},
        ),
        Row(
            number=43,
            name="a redirect with a body without an end",
            answers={"/bad": endless_redirect, "/to": page("there")},
            links=("/bad",),
            asked={"/bad": (1, 1), "/to": (1, 1)},
            kept={"/bad": "length", "/to": None},
        ),
        Row(
            number=43,
            name="two ways to one page",
            answers={"/one": redirect("/to"), "/two": redirect("/to#there"), "/to": page("there")},
            links=("/one", "/two"),
            asked={"/one": (1, 1), "/two": (1, 1), "/to": (1, 1)},
        ),
        *(
            Row(
                number=43,
                name=f"a redirect of status {status}",
                answers={
                    "/bad": raw_redirect(b"Location: /to", status=b"%d Found" % status),
                    "/to": page("there"),
                },
                links=("/bad",),
                asked={"/bad": (1, 1), "/to": (1, 1)},
                kept={"/bad": None, "/to": None},
            )
            for status in (301, 302, 303, 307, 308)
        ),
    ]


def elsewhere(there: WebAddress) -> list[Row]:
    targets = {
        "out of scope": f"http://{there.host(44, 250)}/",
        "file": "file:///etc/passwd",
        "data": "data:text/html,<a href=/bad2>x</a>",
        "javascript": "javascript:alert(1)",
        "ftp": "ftp://127.0.0.1/",
        "about": "about:blank",
        "nothing that parses": "http://[bad",
        "an empty host": "http:///",
        "a port beyond": "http://127.0.0.1:99999/",
    }
    return [
        Row(
            number=44,
            name=f"a redirect to {name}",
            answers={"/bad": redirect(target, status="302 Found")},
            ended={"/bad": "redirected:*_*"},
            asked={"/bad": (1, 1)},
            kept={"/bad": None},
        )
        for name, target in targets.items()
    ]


def locations() -> list[Row]:
    def row(name, *lines, to="/to", **more):
        return Row(
            number=45,
            name=f"Location {name}",
            answers={"/dir/bad": raw_redirect(*lines), to: page(f"at {to}")},
            links=("/dir/bad",),
            asked={"/dir/bad": (1, 1), to: (1, 1)},
            kept={"/dir/bad": None, to: None},
            **more,
        )

    def terminal(name, *lines):
        return Row(
            number=45,
            name=f"Location {name}",
            answers={"/dir/bad": raw_redirect(*lines)},
            ended={"/dir/bad": "redirected:*_*"},
            asked={"/dir/bad": (1, 1)},
            kept={"/dir/bad": None},
        )

    return [
        row("relative", b"Location: to", to="/dir/to"),
        row("with dots", b"Location: ../x/./to", to="/x/to"),
        row("of a query", b"Location: ?q=1", to="/dir/bad?q=1"),
        row("with spaces around", b"Location: \t /to \t"),
        row("with spaces inside", b"Location: /to here", to="/to%20here"),
        row("in UTF-8", "Location: /tö".encode(), to="/t%C3%B6"),
        row("with a fragment", b"Location: /to#part"),
        row("with a backslash", b"Location: \\to"),
        row("twice, the first counts", b"Location: /to", b"Location: /other"),
        row("of another case", b"lOcAtIoN: /to"),
        row("with %-encoding that is kept", b"Location: /a%2Fb%3f", to="/a%2Fb%3f"),
        terminal("left out", b"X-Nothing: x"),
        terminal("empty", b"Location:"),
        terminal("of blanks", b"Location:   "),
    ]


def hints(there: WebAddress) -> list[Row]:
    off = f"http://{there.host(44, 251)}/page"
    return [
        Row(
            number=46,
            name="meta refresh to itself",
            answers={"/bad": page('<meta http-equiv="refresh" content="0; url=/bad"><p>again</p>')},
            asked={"/bad": (1, 1)},
            kept={"/bad": None},
        ),
        Row(
            number=46,
            name="meta refresh in a ring, and onwards",
            answers={
                "/bad": page("<meta http-equiv=refresh content=\"0;URL='/ring'\"><p>ring</p>"),
                "/ring": page('<META HTTP-EQUIV="Refresh" CONTENT="3 ; url = /onwards">'),
                "/onwards": page('<meta http-equiv="refresh" content="0;/bad"><p>onwards</p>'),
            },
            links=("/bad",),
            asked={"/bad": (1, 1), "/ring": (1, 1), "/onwards": (1, 1)},
        ),
        Row(
            number=46,
            name="a base, twice, and behind a link",
            answers={
                "/bad": page(
                    '<a href="one">1</a><base href="/deep/"><base href="/other/"><a href="two">2</a>'
                ),
                "/deep/one": page("one"),
                "/deep/two": page("two"),
            },
            links=("/bad",),
            asked={"/deep/one": (1, 1), "/deep/two": (1, 1)},
        ),
        Row(
            number=46,
            name="canonical of another host",
            answers={
                "/bad": page(f'<link rel="canonical" href="{off}"><p>mine</p><a href="/on">x</a>'),
                "/on": page("on"),
            },
            links=("/bad",),
            asked={"/bad": (1, 1), "/on": (1, 1)},
            kept={"/bad": None},
        ),
        Row(
            number=46,
            name="canonical that all pages share",
            answers={
                f"/v-{n}": page(f'<link rel="canonical" href="/v-0"><p>{spelled(n)}</p>') for n in range(4)
            },
            asked={f"/v-{n}": (1, 1) for n in range(4)},
            kept={f"/v-{n}": None for n in range(4)},
        ),
    ]


def written(there: WebAddress) -> list[Row]:
    here = there.host(47)
    strange = [
        f"http://{here}/{'x' * 100_000}",
        f"http://user:secret@{here}/userinfo",
        "/x/../dots",
        "/x/%2e%2E/dots2",
        "/a%2Fb",
        "/a/b",
        "/%c3%a9",
        "/%zz",
        "/a b",
        "/q?a=1&a=2",
        "/q?b=%26",
        f"HTTP://{here}/upper",
        f"http://{here.replace(':', '.:')}/final-dot",
        "http://127.1.47.1:99999/port",
        "http://bücher.invalid/",
        "http://\U0001f600.invalid/",
        "http://under_score.invalid/",
        "http://-.invalid/",
        f"http://{'a' * 70}.invalid/",
        "http://%00/",
        "http://a%b/",
        "//",
        "///slashes",
        "\\\\back",
        "/new\nline",
        " /blanks ",
        "javascript:void(0)",
        "mailto:x@example.org",
        "tel:123",
        "data:,x",
        "blob:x",
        "#only",
        "?",
        "/\u0000nul",
        "/\ud7ff\ue000",
        "/semi;jsessionid=ABC",
    ]

    def judge(seen):
        paths = seen.host.paths
        for path in (
            "/userinfo",
            "/dots",
            "/dots2",
            "/a%2Fb",
            "/a/b",
            "/%c3%a9",
            "/a%20b",
            "/q?a=1&a=2",
            "/upper",
            "/newline",
        ):
            assert paths[path] == 1, f"{path} was asked for {paths[path]} times"
        assert not [one for one in seen.host.log if one.header("authorization")]
        assert not [path for path in paths if len(path) > 5_000 or "#" in path or " " in path]
        assert not [path for path in paths if "/../" in path or "/./" in path]

    return [
        Row(
            number=47,
            name="URLs that nobody should write",
            scope="any",
            links=("/bad",),
            answers={"/bad": links(*(url.replace('"', "&quot;") for url in strange))},
            fallback=lambda path: page(f"a page at {path}") if not path.startswith("/good") else None,
            kept={"/a%2Fb": None, "/a/b": None, "/%c3%a9": None},
            extra_check=judge,
        ),
        Row(
            number=47,
            name="a link to port 0",
            answers={f"/p-{n}": page(f"page {spelled(n)}") for n in range(20)},
            links=("http://127.1.47.2:0/zero", *(f"/p-{n}" for n in range(20))),
            asked={f"/p-{n}": (1, 1) for n in range(20)},
        ),
    ]


def endless() -> list[Row]:  # noqa: C901 - a function a trap
    def bounded(most):
        def judge(seen):
            assert len(seen.host.log) <= most, len(seen.host.log)

        return judge

    def row(name, first, answer, most=350, number=48):
        return Row(number=number, name=name, links=(first,), fallback=answer, extra_check=bounded(most))

    def months(path):
        if not path.startswith("/calendar/"):
            return None
        year, month = (int(part) for part in path.split("/")[2:4])
        year, month = year + month // 12, month % 12 + 1
        return links(f"/calendar/{year}/{month}", text="No events in this month.")

    def deeper(path):
        return links(path + "a/b/", text="There and back again.") if path.startswith("/a/b/") else None

    def sessions(path):
        number = hash(path) & 0xFFFFFFFF
        return (
            links(*(f"/shop?sid={number + n:x}" for n in range(3)), text="Our shop.")
            if path.startswith("/shop")
            else None
        )

    def numbers(path):
        return (
            links(f"/list?page={int(path.partition('=')[2] or 0) + 1}", text="Nothing here.")
            if path.startswith("/list")
            else None
        )

    def facets(path):
        if not path.startswith("/facets"):
            return None
        have = set(path.partition("?")[2].split("&")) - {""}
        more = [have | {f"f{n}=1"} for n in range(20)]
        return links(*(f"/facets?{'&'.join(sorted(one))}" for one in more), text="Widgets.")

    def same(path):
        number = abs(hash(path)) % 100_000
        return (
            links(*(f"/s/{number}-{n}/x" for n in range(5)), text="Welcome.")
            if path.startswith("/s/")
            else None
        )

    def alike(path):
        return (
            page("Under construction.") if not path.startswith(("/good", "/robots")) and path != "/" else None
        )

    everything = Row(
        number=49,
        name="everything is the same page",
        links=tuple(f"/any-{spelled(n)}" for n in range(300)),
        fallback=alike,
        good=False,  # those that are linked behind three hundred that say nothing may starve with them
        extra_check=lambda seen: (bounded(310)(seen), seen.fetched("/", "/good-1")),
    )
    return [
        row("a calendar without an end", "/calendar/2020/1", months),
        row("relative links that never come home", "/a/b/", deeper, 20),
        row("a session in every link", "/shop?sid=0", sessions),
        row("pages of an empty list", "/list?page=1", numbers),
        row("twenty filters in all combinations", "/facets?", facets),
        row("the same page whatever is asked", "/s/0/x", same, number=49),
        everything,
    ]


def rows(there: WebAddress) -> list[Row]:
    return [*loops(), *elsewhere(there), *locations(), *hints(there), *written(there), *endless()]
