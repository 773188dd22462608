"""Traps as endless sequences of (URL, page), in the order in which a crawler finds them."""

from collections.abc import Iterator
from datetime import date, timedelta
from hashlib import sha256
from itertools import combinations, count

Trap = Iterator[tuple[str, str]]

NAVIGATION = "".join(
    f'<li><a href="/{name.lower()}/">{name}</a></li>'
    for name in ("Home", "News", "Products", "Support", "Downloads", "Company", "Careers", "Press", "Contact")
)
MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "de": [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    "ru": [
        "Январь",
        "Февраль",
        "Март",
        "Апрель",
        "Май",
        "Июнь",
        "Июль",
        "Август",
        "Сентябрь",
        "Октябрь",
        "Ноябрь",
        "Декабрь",
    ],
    "ja": [f"{month}月" for month in range(1, 13)],
    "sw": [
        "Januari",
        "Februari",
        "Machi",
        "Aprili",
        "Mei",
        "Juni",
        "Julai",
        "Agosti",
        "Septemba",
        "Oktoba",
        "Novemba",
        "Desemba",
    ],
}


def page(title: str, body: str) -> str:
    return (
        f"<!doctype html><html><head><title>{title} - Example</title><style>p {{ margin: 0 }}</style></head>"
        f"<body><nav><ul>{NAVIGATION}</ul></nav><h1>{title}</h1>{body}<footer>All rights reserved</footer></body>"
    )


def token(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()[:24]


def calendar(pattern: str, language: str = "en") -> Trap:
    """Yield one page a month, for ever. `pattern` receives the year, the month and the month's name."""
    names = MONTHS[language]
    for number in count():
        year, month = 2020 + number // 12, number % 12
        url = pattern.format(year=year, month=month + 1, name=names[month].lower())
        days = "".join(f"<td><a href='?d={day}'>{day}</a></td>" for day in range(1, 29 + number % 3))
        around = f"<a>{names[month - 1]}</a> <a>{names[(month + 1) % 12]}</a>"
        yield url, page(f"{names[month]} {year}", f"{around}<table><tr>{days}</tr></table><p>No events.</p>")


def days() -> Trap:
    """Yield one page a day, for ever, with the name of the day."""
    for number in count():
        day = date(2026, 1, 1) + timedelta(days=number)
        title = day.strftime("%A, %d %B %Y")
        yield f"http://a.test/events/{day:%Y/%m/%d}/", page(title, "<p>Nothing happens on this day.</p>")


def sessions(pattern: str) -> Trap:
    """Yield the same twelve pages, each time under a new session, which is in the text too."""
    for number in count():
        name = f"page{number % 12}"
        body = f"<p>Your session is {token(number)}.</p><p>{['lorem', 'ipsum', 'dolor', 'sit', 'amet'][number % 5]}</p>"
        yield pattern.format(token=token(number), name=name), page("Shop", body)


def same_page() -> Trap:
    """Yield the same page under every URL."""
    for number in count():
        yield (
            f"http://a.test/{token(number)}/{token(-number)}.html",
            page("Welcome", "<p>Under construction.</p>"),
        )


def soft_404() -> Trap:
    """Yield "not found" pages with status 200 and the path in the text."""
    words = ["red", "green", "blue", "tall", "small", "great", "old", "new", "warm", "cold"]
    for number in count():
        path = "/".join(words[number // 10**place % 10] for place in range(4))
        body = f"<p>We could not find “{path}” on this server.</p>"
        yield f"http://a.test/{path}", page(f"/{path} not found", body)


def facets(goods: int) -> Trap:
    """Yield the lists of all combinations of twenty filters, each of which leaves about half of the goods."""
    for size in count(1):
        for chosen in combinations(range(20), size):
            query = "&".join(f"f{'abcdefghijklmnopqrst'[filter_]}=1" for filter_ in chosen)
            left = [
                good
                for good in range(goods)
                if all(sha256(f"{good}/{f}".encode()).digest()[0] % 2 for f in chosen)
            ]
            names = "".join(f"<li>Widget {word(good)}, {good * 7 % 50}.99</li>" for good in left)
            yield f"http://a.test/shop?{query}", page("Widgets", f"<ul>{names or 'Nothing matches'}</ul>")


def pagination() -> Trap:
    """Yield forty pages of a list, and then empty ones for ever."""
    for number in count(1):
        entries = (
            "".join(f"<li>{word(number * 10 + entry)}</li>" for entry in range(10)) if number <= 40 else ""
        )
        yield f"http://a.test/list?page={number}", page("List", f"<ul>{entries}</ul><a>next</a>")


def looping_relative_links() -> Trap:
    """Yield pages whose relative links loop: /a/b/a/b/..."""
    for number in range(1, 400):
        yield f"http://a.test/{'a/b/' * number}", page("Docs", "<p>See <a href='a/b/'>there</a>.</p>")


def link_farm() -> Trap:
    """Yield one page for every name under a domain."""
    for number in count():
        yield f"http://{word(number)}.farm.test/", page(word(number), f"<p>Buy {word(number)} here.</p>")


def random_words() -> Trap:
    """Yield pages of random words, no two alike."""
    for number in count():
        body = " ".join(word(number * 50 + place) for place in range(50))
        yield f"http://a.test/{word(number)}/{word(number + 1)}", page(word(number), f"<p>{body}</p>")


def word(number: int) -> str:
    """Return a word of letters, a different one for each number."""
    return "".join(
        "bdfgklmnprstvz"[byte % 14] + "aeiou"[byte // 14 % 5]
        for byte in sha256(str(number).encode()).digest()[:4]
    )
