"""Pages of small web applications for `bench/crawler/need.py`: shells that scripts fill, pages that a server has
written and scripts accompany, and redirects by script.

Every page is one of a framework's own ways to write pages, with a text of its own. The frameworks come from npm (a
folder of packages, and `need_apps.mjs` for those that need a compiler); this module has the pages alone. The two parts
of the set share no framework, no sentence, no name of an element and no manner to write a menu or a notice.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

WORDS = {
    "tuned": "river stone market garden window letter morning harbour engine paper village silver bridge winter "
    "orchard lantern kitchen summer valley copper meadow station candle timber cotton ladder saddle barrel",
    "apart": "signal planet theorem cluster protein battery archive compiler satellite molecule pipeline catalyst "
    "sensor voltage genome quantum lattice turbine antenna polymer circuit vector isotope neuron plasma photon",
}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page with the files that its scripts request, by path."""

    name: str
    part: str
    site: str
    html: str
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A library: its files in the folder of npm packages, and how a script fills an element with it."""

    files: tuple[str, ...]
    mount: str
    """Defines `mountApp(element, data)`; empty if a file does."""
    root: str
    """An empty root element in the framework's own manner."""
    inside: str = ""
    """What stands in the root if the framework reads its template from the page."""


REACT = """window.mountApp = (el, d) => { const h = React.createElement; ReactDOM.createRoot(el).render(h('div', null,
h('h1', null, d.title), d.paragraphs.map((p, i) => h('p', {key: i}, p)),
h('ul', null, d.links.map(l => h('li', {key: l}, h('a', {href: l}, l)))))) }"""
VUE = """window.mountApp = (el, d) => Vue.createApp({data: () => d, template: `<h1>{{title}}</h1>
<p v-for="p in paragraphs">{{p}}</p><ul><li v-for="l in links"><a :href="l">{{l}}</a></li></ul>`}).mount(el)"""
PREACT = REACT.replace("React.createElement", "preact.h").replace(
    "ReactDOM.createRoot(el).render(h(", "preact.render(h("
)
PREACT = PREACT.replace("l)))))) }", "l))))), el) }")
INFERNO = PREACT.replace(
    "const h = preact.h",
    "const h = (tag, props, ...inner) => Inferno.createVNode(1, tag, null, inner, 0, props)",
)
INFERNO = INFERNO.replace("preact.render", "Inferno.render")
MITHRIL = """window.mountApp = (el, d) => m.mount(el, {view: () => [m('h1', d.title), d.paragraphs.map(p => m('p', p)),
m('ul', d.links.map(l => m('li', m('a', {href: l}, l))))]})"""
JQUERY = """window.mountApp = (el, d) => { $(el).append($('<h1>').text(d.title));
$.each(d.paragraphs, (i, p) => $('<p>').text(p).appendTo(el));
$.each(d.links, (i, l) => $('<a>').attr('href', l).text(l).appendTo(el)) }"""
BACKBONE = """window.mountApp = (el, d) => new (Backbone.View.extend({el: el, render() { this.$el.html(_.template(
'<h1><%- title %></h1><% paragraphs.forEach(p => { %><p><%- p %></p><% }) %><% links.forEach(l => { %>' +
'<a href="<%- l %>"><%- l %></a><% }) %>')(d)); return this }}))().render()"""
ALPINE = """<template x-for="p in d.paragraphs"><p x-text="p"></p></template>
<template x-for="l in d.links"><a :href="l" x-text="l"></a></template>"""
PETITE = """<h1>{{d.title}}</h1><p v-for="p in d.paragraphs">{{p}}</p><a v-for="l in d.links" :href="l">{{l}}</a>"""
NG = """<h1>{{d.title}}</h1><p ng-repeat="p in d.paragraphs">{{p}}</p>
<a ng-repeat="l in d.links" ng-href="{{l}}">{{l}}</a>"""
KNOCKOUT = """<h1 data-bind="text: title"></h1>
<!-- ko foreach: paragraphs --><p data-bind="text: $data"></p><!-- /ko -->
<ul data-bind="foreach: links"><li><a data-bind="attr: {href: $data}, text: $data"></a></li></ul>"""

FRAMEWORKS = {
    "tuned": {
        "react": Framework(
            files=("react/umd/react.production.min.js", "react-dom/umd/react-dom.production.min.js"),
            mount=REACT,
            root='<div id="root"></div>',
        ),
        "vue": Framework(files=("vue/dist/vue.global.prod.js",), mount=VUE, root="<div id=app></div>"),
        "preact": Framework(
            files=("preact/dist/preact.min.js",), mount=PREACT, root='<main id="site-main"></main>'
        ),
        "jquery": Framework(
            files=("jquery/dist/jquery.min.js",),
            mount=JQUERY,
            root='<div class="row"><div id="posts" class="col"></div></div>',
        ),
        "alpine": Framework(
            files=(),
            mount="window.mountApp = (el, d) => { el.d = d; const s = document.createElement('script');"
            "window.page = d; s.src = '/lib/alpinejs/dist/cdn.min.js'; document.head.append(s) }",
            root="<div id=list x-data=\"{d: {}}\" x-init='d = window.page'>*</div>",
            inside=ALPINE,
        ),
        "knockout": Framework(
            files=("knockout/build/output/knockout-latest.js",),
            mount="window.mountApp = (el, d) => ko.applyBindings(d, el)",
            root='<section id="view">*</section>',
            inside=KNOCKOUT,
        ),
        "svelte": Framework(
            files=("apps/svelte.js",), mount="", root='<div style="display: contents" id="svelte"></div>'
        ),
    },
    "apart": {
        "angular": Framework(files=("apps/angular.js",), mount="", root="<app-root></app-root>"),
        "lit": Framework(files=("apps/lit.js",), mount="", root="<page-view></page-view>"),
        "solid": Framework(files=("apps/solid.js",), mount="", root='<div id="solid-host"></div>'),
        "mithril": Framework(
            files=("mithril/mithril.min.js",), mount=MITHRIL, root='<article id="body-text"></article>'
        ),
        "backbone": Framework(
            files=(
                "jquery/dist/jquery.min.js",
                "underscore/underscore-umd-min.js",
                "backbone/backbone-min.js",
            ),
            mount=BACKBONE,
            root='<div id="stage"><!-- the view --></div>',
        ),
        "inferno": Framework(
            files=("inferno/dist/inferno.min.js",),
            mount=INFERNO,
            root='<div class="wrapper" id="outlet"></div>',
        ),
        "petite-vue": Framework(
            files=("petite-vue/dist/petite-vue.iife.js",),
            mount="window.mountApp = (el, d) => { el.removeAttribute('v-cloak'); PetiteVue.createApp({d}).mount(el) }",
            root='<div id="panel" v-scope v-cloak>*</div>',
            inside=PETITE,
        ),
        "angularjs": Framework(
            files=("angular/angular.min.js",),
            mount="window.mountApp = (el, d) => { angular.module('site', []).run(['$rootScope', r => { r.d = d }]);"
            "angular.bootstrap(el, ['site']) }",
            root='<div id="desk">*</div>',
            inside=NG,
        ),
    },
}


class Maker:
    """Makes the pages of one part; the same pages each time."""

    def __init__(self, part: str) -> None:
        self.part, self._chance, self._number = part, random.Random(part), 0
        self._words = WORDS[part].split()

    def sentence(self, words: int = 12) -> str:
        """Return words of the part with a full stop."""
        return " ".join(self._chance.choices(self._words, k=words)).capitalize() + "."

    def data(self) -> dict[str, object]:
        """Return the content of one page: title, paragraphs and links."""
        count = self._chance.randint(3, 12)
        return {
            "title": self.sentence(4),
            "paragraphs": [self.sentence(self._chance.randint(10, 40)) for _ in range(count)],
            "links": [
                f"/{self._chance.choice(self._words)}/{self._chance.randint(1, 999)}" for _ in range(6)
            ],
        }

    def menu(self, count: int) -> str:
        """Return a menu of links."""
        links = "".join(f'<a href="/{w}">{w.capitalize()} overview</a>' for w in self._words[:count])
        if self.part == "tuned":
            return f"<nav class=top>{links}</nav>"
        rows = links.replace("<a", "<li><a").replace("</a>", "</a></li>")
        return f'<header><div class="brand">Institute</div><ul class="menu">{rows}</ul></header>'

    def foot(self, length: int) -> str:
        """Return a footer of about `length` bytes."""
        text = "Copyright 2026. " + self.sentence(length // 8)
        return (
            f"<footer>{text}</footer>" if self.part == "tuned" else f'<div class="footer"><p>{text}</p></div>'
        )

    def notice(self, length: int) -> str:
        """Return a cookie notice of about `length` bytes."""
        if self.part == "tuned":
            text = "We and our partners use cookies to store and access data. " * (length // 60)
            return f'<div class="cookie">{text}<button>Accept</button></div>'
        text = "This site asks for your consent to measure visits; see the privacy policy. " * (length // 76)
        return f'<aside id="consent-banner"><p>{text}</p><a href="/privacy">More</a><button>Agree</button></aside>'

    def written(self, data: dict[str, object]) -> str:
        """Return the content as a server writes it."""
        paragraphs, links = data["paragraphs"], data["links"]
        assert isinstance(paragraphs, list)
        assert isinstance(links, list)
        return (
            f"<h1>{data['title']}</h1>"
            + "".join(f"<p>{each}</p>" for each in paragraphs)
            + "<ul>"
            + "".join(f'<li><a href="{each}">{each}</a></li>' for each in links)
            + "</ul>"
        )

    def page(self, site: str, body: str, *, head: str = "", files: dict[str, str] | None = None) -> Page:
        """Return a page around a body."""
        self._number += 1
        name = f"{self._number:03}"
        begin = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        html = f"{begin}<title>{self.sentence(3)}</title>{head}</head><body>{body}</body></html>"
        return Page(name=f"{site}-{name}", part=self.part, site=site, html=html, files=files or {})


def pages(part: str) -> Iterator[Page]:
    """Yield all pages of a part."""
    maker = Maker(part)
    for name, framework in FRAMEWORKS[part].items():
        yield from _of_framework(maker, name, framework)
    for number, (code, files) in enumerate(_plain_codes(maker)):
        site = f"script-{part}-{number}"
        for body in (code, maker.menu(5) + code + maker.foot(60), maker.foot(150) + code):
            yield maker.page(site, body, files=files)


def _of_framework(maker: Maker, name: str, framework: Framework) -> Iterator[Page]:
    library = "".join(f'<script src="/lib/{file}"></script>' for file in framework.files)
    root, data = framework.root.replace("*", framework.inside), maker.data()
    find = "document.querySelector('[data-here], " + _selector(framework.root) + "')"
    fetching = framework.mount + f";\nfetch('/data.json').then(r => r.json()).then(d => mountApp({find}, d));"
    app = '<script type="module" src="/app.js"></script>'
    files = {"/app.js": fetching, "/data.json": json.dumps(data)}

    def page(body: str, head: str = "") -> Page:
        return maker.page(name, body, head=head, files=files)

    asks = "<noscript>You need to enable JavaScript to run this app.</noscript>"
    yield page(asks + root + library + app)
    yield page(root + app, head=library)
    yield page(root + maker.foot(180) + library + app)
    yield page(maker.menu(18) + root + maker.foot(90) + library + app)
    yield page(maker.menu(6) + root + maker.notice(600) + library + app)
    yield page(maker.notice(300) + root + maker.foot(200) + app, head=library)
    skeleton = '<div class="skeleton"></div>' * 6
    yield page(maker.menu(10) + root + skeleton + maker.foot(60) + library + app)
    yield page(root + library + f"<script>{fetching}</script>" + maker.foot(120))
    island = f'<script id="state" type="application/json">{json.dumps(data)}</script>'
    from_island = (
        framework.mount + f";mountApp({find}, JSON.parse(document.getElementById('state').textContent))"
    )
    yield maker.page(name, maker.menu(4) + root + island + library + "<script>" + from_island + "</script>")
    # A server has written the text; scripts come along.
    yield page(
        maker.menu(12) + f"<div id=static>{maker.written(maker.data())}</div>" + maker.foot(90) + library
    )
    short = f"<main><h1>{maker.sentence(3)}</h1><p>{maker.sentence(24)}</p><p>{maker.sentence(14)}</p></main>"
    yield page(maker.menu(8) + short + maker.foot(90) + library)
    yield page(short + library + "<script>console.log('counted')</script>")
    widget = "document.querySelector('#likes').textContent = '12 likes'"
    yield page(short + f"<div id=likes></div>{library}<script>{widget}</script>" + maker.foot(60))
    yield page(
        f"<article>{maker.written(maker.data())}</article><div id=comments></div>"
        + library
        + f"<script>{widget}</script>"
    )


def _selector(root: str) -> str:
    ids = root.partition("id=")[2].lstrip('"')
    return "#" + ids.split('"')[0].split(">")[0].split()[0] if ids else root[1:].partition(">")[0]


def _plain_codes(maker: Maker) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what stands in a page without any framework, and the files that it needs."""
    data = maker.data()
    written, listing = maker.written(data), {"/data.json": json.dumps(data)}
    target = {"/post/666": f"<body>{maker.written(maker.data())}</body>"}
    if maker.part == "tuned":
        codes = {
            "fetch": "fetch('/p').then(r=>r.text()).then(t=>list.insertAdjacentHTML('beforeend',t))",
            "json": "fetch('/data.json').then(r=>r.json()).then(d=>{for(const i of d.paragraphs){const e="
            "document.createElement('p');e.textContent=i;list.appendChild(e)}})",
            "inner": f"document.getElementById('list').innerHTML={json.dumps(written)}",
            "request": "var x=new XMLHttpRequest();x.open('GET','/p');x.onload=function(){list.innerHTML="
            "x.responseText};x.send()",
        }
        yield from (
            (f"<h1>List</h1><div id=list></div><script>{code}</script>", {"/p": written, **listing})
            for code in codes.values()
        )
        for code in (
            'location="/post/666"',
            "window.location.href = '/post/666';",
            "setTimeout(function(){document.location='/post/666'}, 10)",
            "location = '/post/' + (600 + 66)",
        ):
            yield f"<script>{code}</script>", target
        counted = "<script>window.dataLayer=window.dataLayer||[];dataLayer.push({a:1})</script>"
        loader = (
            "<script>(function(d,s){var e=d.createElement(s),f=d.getElementsByTagName(s)[0];e.async=1;e.src='/t.js';"
            "f.parentNode.insertBefore(e,f)})(document,'script')</script>"
        )
    else:
        codes = {
            "append": "fetch('/data.json').then(function (answer) { return answer.json() }).then(function (page) {"
            "page.paragraphs.forEach(function (text) { var row = document.createElement('div'); row.append(text);"
            "document.getElementById('rows').append(row) }) })",
            "children": "(async () => { const page = await (await fetch('/data.json')).json(); document.querySelector("
            "'#rows').replaceChildren(...page.links.map(to => Object.assign(document.createElement('a'), {href: to,"
            "textContent: to + ' ' + page.title}))) })()",
            "write": "document.write(" + json.dumps(written).replace("</", "<\\/") + ")",
            "template": "const page = "
            + json.dumps(data)
            + "; for (const text of page.paragraphs) { const made = "
            "document.importNode(document.querySelector('template').content, true); made.querySelector('p')"
            ".textContent = text; rows.appendChild(made) }",
            "outer": "fetch('/p').then(a => a.text()).then(t => { rows.outerHTML = t })",
        }
        yield from (
            (
                f'<h2>Entries</h2><div id="rows"></div><template><p></p></template><script>{code}</script>',
                {"/p": written, **listing},
            )
            for code in codes.values()
        )
        for code in (
            'window.location.replace("/post/666")',
            "top.location.assign('/post/666')",
            "self.location = '\\/post\\/666'",
            "if (window.top === window) { window.location = ['', 'post', '666'].join('/') }",
        ):
            yield f"<p>Moved.</p><script type='text/javascript'>\n{code}\n</script>", target
        counted = "<script>var _paq = window._paq || []; _paq.push(['trackPageView'])</script>"
        loader = (
            "<script>var tag = document.createElement('script'); tag.src = '/t.js'; document.head.appendChild(tag)"
            "</script>"
        )
    short = f"<h1>{maker.sentence(3)}</h1><p>{maker.sentence(30)}</p>"
    for body in (counted + short, loader + short, short + loader + "<div id=extra></div>"):
        yield body, {"/t.js": "window.counted = 1"}
    yield f"{written}<script>if (0) location = '/never'</script>{loader}", {"/t.js": ""}
