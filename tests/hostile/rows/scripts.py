"""Row 54, as far as it concerns the wire: pages that give a browser trouble. `tests/crawler/render/test_tab.py` plays
what they do to our browser, with its deadlines, its memory and its tabs.
"""

from tests.crawler.server import page
from tests.hostile.rows.row import Row, WebAddress

BEHIND = '<p>words of the page</p><a href="/behind">on</a>'


def rows(_: WebAddress) -> list[Row]:
    def read(name, script, *headers, status="200 OK", ended="fetched:*", follows=True):
        return Row(
            number=54,
            name=name,
            answers={"/bad": page(f"{script}{BEHIND}", *headers, status=status), "/behind": page("behind")},
            links=("/bad",),
            kept={"/bad": None},
            ended={"/bad": ended},
            asked={"/bad": (1, 1), "/behind": (1, 1) if follows else (0, 0)},
            never=("/no",),
        )

    return [
        read("a page that never goes idle", "<script>setInterval(() => fetch('/no-1'), 10)</script>"),
        read("alerts and questions", "<script>alert(1); onbeforeunload = () => 'stay'; confirm(2); print()</script>"),
        read("a storm of windows", "<body onload='for (;;) open(\"/no-2\")'>"),
        read("a service worker", "<script>navigator.serviceWorker.register('/no-3.js')</script>"),
        read("all memory there is", "<script>for (a = [];;) a.push(new Uint8Array(1 << 24))</script>"),
        read("a download", "", "Content-Disposition: attachment; filename=x.html"),
        read("a question for a password", "", "WWW-Authenticate: Basic realm=x", status="401 No", follows=False),
        read("a page that goes elsewhere", "<script>location = '/behind'</script><form action='/no-5' method=post>"),
        read("pictures and frames of another kind", "<img src=/no-6><object data=/no-7></object><embed src=/no-8>"),
    ]  # fmt: skip
