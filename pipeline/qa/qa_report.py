"""`qa_page`: the comparison of an archive as one HTML page, which needs nothing else. Pure."""

from datetime import UTC, datetime

from jinja2 import Environment

from thresher.pipeline.qa.examination import QaResult

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Replay of {{ name }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { padding: .3rem .5rem; text-align: left; vertical-align: top;
border-bottom: 1px solid #ccc } td.url { overflow-wrap: anywhere } .below td:first-child { font-weight: bold }
</style>
<h1>Replay of {{ name }}</h1>
<p>{{ result.pages|length }} of {{ result.listed }} pages compared in {{ result.browser }};
{{ below }} below {{ result.threshold }}.</p>
<table><thead><tr>
{% for head in ("Score", "Text", "Picture", "Parts", "Faults", "Page") %}<th scope="col">{{ head }}</th>{% endfor %}
</tr></thead><tbody>
{% for page in pages %}
{% set found = page.comparison %}
<tr{% if found.score < result.threshold %} class="below"{% endif %}>
<td>{{ found.score }}</td><td>{{ found.text }} ({{ page.text_source }})</td>
<td>{{ "–" if found.picture is none else found.picture ~ " (" ~ page.picture_source ~ ")" }}</td>
<td>
{% for kind, counts in page.parts.items() %}
{{ kind }}:{% for fate, count in counts.items() %} {{ count }} {{ fate }}{% endfor %}<br>
{% endfor %}
</td>
<td>{{ found.faults|join(", ") }}</td>
<td class="url">{{ page.url }}<br><small>{{ page.date_ms|moment }}</small>
{% if page.lost %}
<details><summary>Lost parts</summary>{% for url in page.lost %}{{ url }}<br>{% endfor %}</details>
{% endif %}
</td></tr>
{% endfor %}
</tbody></table>
</html>
"""


def qa_page(name: str, result: QaResult) -> str:
    """Return the page: the worst pages of the archive first."""
    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters["moment"] = _moment
    pages = sorted(result.pages, key=lambda page: page.comparison.score)
    template = environment.from_string(_PAGE)
    return template.render(name=name, result=result, below=len(result.below), pages=pages)


def _moment(date_ms: int) -> str:
    return datetime.fromtimestamp(date_ms / 1000, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
