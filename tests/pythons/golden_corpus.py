"""Pages made for this: many scripts, charsets, spellings of numbers and days, and characters that came after Unicode 14."""

import json
from pathlib import Path

HTML = Path(__file__).resolve().parents[1] / "golden" / "html"
LATER = (
    "\U0001fa77",
    "\u0cf3",
    "\u1c89",
    "\ua7cb",
    "\U00010d50",
    "\U0001e4f1",
    "\U00031350",
    "\u2ffc",
    "\U00011380",
    "\u0897",
)
"""A heart, two marks, letters with case, a digit, ideographs and an Indic letter, each from Unicode 15.0 to 16.0."""
SENTENCES = {
    "en": "The river rose by 3.5 metres on 12 March 2024, and Dr. Smith's boat (no. 7) was lost; nobody wasn't sorry.",
    "de": "Die Größe der Straße wurde am 3. Mai 2021 gemessen: 1.234,5 m – für den „Fußweg“ reicht das übrigens nicht.",
    "fr": "L'été dernier, l'œuvre d'André n'a coûté que 1 234,50 € ; « c'est peu », disait-il à l'École, qu'il aimait.",
    "tr": "İstanbul'da ılık bir ağustos günü, Iğdır'dan gelen yolcular çay içti ve denizi izledi, sonra yola çıktılar.",
    "ru": "В четверг, 5 октября 2023 года, корабль пришёл в порт, и капитан рассказал о долгом пути через океан.",
    "el": "Ο ΟΔΥΣΣΕΥΣ γύρισε στο σπίτι του ύστερα από είκοσι χρόνια, και κανείς δεν τον γνώρισε εκτός από τον σκύλο.",
    "ar": "وصلت السفينة إلى الميناء في ١٢ مارس ٢٠٢٤، وكان على متنها ٣٥ راكبا من بلدان كثيرة، وفرح الناس بوصولها.",
    "he": 'בשנת 2020 נבנה הגשר הגדול, ואנשים רבים באו לראות אותו מדי יום; "זה יפה", אמרו כולם לילדים שלהם.',
    "hi": "सन् २०२१ में नदी का जल बहुत बढ़ गया, और गाँव के लोगों ने मिलकर एक नया बाँध बनाया जिसे सब ने सराहा।",
    "th": "เมื่อวันที่ ๕ มกราคม เรือลำใหญ่มาถึงท่าเรือ ผู้คนมากมายมารอต้อนรับด้วยความยินดีและดอกไม้",
    "my": "မြစ်ရေသည် ၂၀၂၁ ခုနှစ်တွင် အလွန်မြင့်တက်ခဲ့ပြီး ရွာသားများသည် တံတားအသစ်ကို ဆောက်ခဲ့ကြသည်။",
    "zh": "二〇二一年三月五日，大河的水位上涨了三米，村民们一起修建了新的堤坝，大家都非常高兴，孩子们也来帮忙。",
    "ja": "2021年3月5日、川の水位が三メートル上がり、村人たちは新しいﾀﾞﾑを作りました。みんなとても喜びました。",
    "ko": "2021년 3월 5일 강물이 삼 미터나 불어났고, 마을 사람들은 새 둑을 함께 쌓았다. 모두가 무척 기뻐했다.",
    "vi": "Ngày 5 tháng 3 năm 2021, nước sông dâng cao ba mét, và dân làng cùng nhau đắp một con đê mới thật vững chắc.",
    "am": "ወንዙ፡በ2021፡ዓመት፡በሦስት፡ሜትር፡ከፍ፡ብሎ፡ነበር። የመንደሩ፡ሰዎች፡አዲስ፡ግድብ፡ሠሩ።",
}
ODD = (
    "ﬁne ﬂow ﬀ ½ ² ㍿ Å Å ǅ ſtraße ẞ K Ⅷ ㊗ İ ı ΐ ᾳ 가 ｶﾞ ½ⅷ",
    "a\u00adb c\u200bd e\u2028f g\u2029h i\x85j k\x1cl m\u3000n o\u00a0p \u202eq\u202c \ufeffr",
    "mail@exämple.org, info@firma.de, +49 30 901820, 4111 1111 1111 1111, 8.8.8.8, 2001:db8::1, DE89370400440532013000",
    "1e400 0x1F ١٢٣ १२३ ᭑᭒ ۱۲ 12,5 % 1·5 ³⁄₄ ¾ −3 + 4 = 1 … ‥ ?! 😀👩‍👩‍👧‍👦🏳️‍🌈 :-) ¯\\_(ツ)_/¯",
    "Terms of use. Lorem ipsum {dolor} JavaScript [12] [edit] read more... 3 likes ALL CAPITALS HERE ǄUNGLA",
    "© 2024 Jane Roe. Licensed under CC BY-SA 4.0. https://example.com/ä?ö=ü#ß www.example.co.uk ftp://x.test",
)
CHARSETS = {
    "windows-1252": "de", "iso-8859-15": "fr", "windows-1254": "tr", "windows-1251": "ru", "koi8-r": "ru",
    "iso-8859-7": "el", "windows-1256": "ar", "windows-1255": "he", "windows-874": "th", "gb18030": "zh",
    "big5": "zh", "shift_jis": "ja", "euc-jp": "ja", "iso-2022-jp": "ja", "euc-kr": "ko", "windows-1258": "vi",
    "utf-16le": "en", "utf-8": "hi",
}  # fmt: skip
_CODECS = {"windows-874": "cp874"}


def with_later(text):
    """The text with characters that came later inside words, between them and at both ends."""
    words = text.split()
    for number, later in enumerate(LATER):
        word = words[number % len(words)]
        words[number % len(words)] = (word[:1] + later + word[1:], later + word, word + later)[number % 3]
    return " ".join((LATER[0], *words, LATER[4]))


def texts():
    """Texts by name."""
    found = {}
    for language, sentence in SENTENCES.items():
        paragraph = " ".join(f"{sentence} ({number})" for number in range(8))
        found[language] = f"{paragraph}\n\n{sentence}\n{sentence}\n\n{paragraph[::-1]}"
        found[f"{language}-later"] = (
            with_later(sentence) + "\n" + "\n".join(with_later(f"{n} {paragraph}") for n in range(2))
        )
    found["odd"] = "\n".join(ODD * 2)
    found["later"] = "\n".join(
        " ".join(
            (
                later * 3,
                f"a{later}",
                f"{later}b",
                f"1{later}2",
                later.lower(),
                f"word {later} word",
                f"e{later}\u0301",
            )
        )
        for later in LATER
    )
    return found


def _page(title, body, head=""):
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title>{head}</head><body><nav><a href="/a">A</a>'
        f'<a href="/straße?q=ü#x">S</a></nav><main><h1>{title}</h1>{body}</main><footer>© 2024</footer></body></html>'
    )


def _body(text):
    paragraphs = "".join(f"<p>{line.replace('<', '&lt;')}</p>" for line in text.splitlines())
    return f'{paragraphs}<p>See <a href="../next page.html?x=1&amp;y=é"><b>next</b></a>, <i>now</i>: x<sup>2</sup>.</p>'


def pages():
    """The body and the media type of each page, by URL."""
    found = {}
    for path in sorted(HTML.glob("*.html")):
        found[f"https://golden.example/{path.stem}"] = (path.read_bytes(), "text/html; charset=utf-8")
    for name, text in texts().items():
        found[f"https://golden.example/text/{name}"] = (
            _page(name, _body(text)).encode(),
            "text/html; charset=utf-8",
        )
    for charset, language in CHARSETS.items():
        codec = _CODECS.get(charset, charset)
        page = _page(language, _body("\n".join([SENTENCES[language]] * 4)), f'<meta charset="{charset}">')
        found[f"https://golden.example/charset/{charset}"] = (
            page.encode(codec, "xmlcharrefreplace"),
            "text/html",
        )
    later = "".join(LATER)
    written = "".join(f"&#x{ord(each):X};&#{ord(each)};" for each in LATER)
    stated = {
        "@type": "Article", "headline": f"A {later} day", "datePublished": "2024-03-12T10:00:00+01:00",
        "author": {"@type": "Person", "name": f"Jane{LATER[3]} Roe"}, "articleBody": SENTENCES["en"],
    }  # fmt: skip
    head = (
        f'<script type="application/ld+json">{json.dumps(stated)}</script><link rel="canonical" href="/päge{LATER[0]}">'
        f'<meta name="author" content="Jane{LATER[3]} Roe"><meta property="og:title" content="{written}">'
    )
    body = "".join(
        f"<p>{sentence} **{written}** <b>{LATER[0]}x{LATER[0]}</b>y</p>" for sentence in SENTENCES.values()
    )
    body += f'<p><a href="/{LATER[0]}/{LATER[2]}.html">{later}</a> by Jane{LATER[3]} Roe, 12{LATER[4]} March 2024</p>'
    found["https://golden.example/written"] = (
        _page(f"A {written} day", body, head).encode(),
        "text/html; charset=utf-8",
    )
    found["https://golden.example/plain"] = (
        "\r\n".join(map(with_later, SENTENCES.values())).encode(),
        "text/plain",
    )
    wiki = (
        f"'''{later}''' is {{{{lang|en|{later}}}}}.\n== ƛ{later} ==\n* [[{later}|x{later}]] &#x1FA77; {{{{ƛbc}}}}\n"
        + SENTENCES["en"]
    )
    found["https://golden.example/wiki"] = (wiki.encode(), "text/x-wiki")
    return found
