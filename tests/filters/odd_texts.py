"""Texts that no rule expects."""

ODD = {
    "empty": "",
    "blank": " \t\n\u2003\n",
    "emoji": "😀🎉👩‍👩‍👧 " * 200,
    "emoji in one run": "😀" * 3000,
    "right to left": "\u200fكان النهر منخفضا في الصيف، وكانت القوارب على الحجارة.\n" * 9,
    "chinese": "夏天河水很低，船停在石头上，直到雨又来了。\n" * 9,
    "thai": "แม่น้ำตื้นในฤดูร้อนและเรือจอดอยู่บนก้อนหินจนกว่าฝนจะกลับมา\n" * 9,
    "nul": "a\x00b \x00\x00 c.\n" * 50,
    "lone surrogates": "half \ud800 of a \udfff pair.\n" * 20,
    "marks": "\u0301" * 500 + " e" + "\u0301" * 500,
    "brackets": "([{" * 2000,
    "dots": "." * 5000 + "\n" + "…" * 5000,
    "apostrophes": "'’" * 4000,
    "at signs": "a@" * 900 + ".b@" * 900,
    "slashes": "http://" * 200,
    "line separators": "one two three.\u2028four five six.\x85seven eight nine.\x0b" * 9,
    "many breaks": "\n" * 9000,
}

LARGE = {
    "one run": "'a' * 10**8",
    "one line": "'some words and others, ' * (5 * 10**7 // 23)",
    "brackets": "'(' * 3 * 10**7",
    "emoji": "'\\U0001f600' * 10**7",
    "numbers": "' '.join(map(str, range(5 * 10**5)))",
    "tiny lines": "'ab\\n' * 10**6",
    "sentences": "''.join(f'It is {n}.\\n' for n in range(15 * 10**4))",
}
"""Expressions of large texts."""
