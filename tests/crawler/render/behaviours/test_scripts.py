"""A user's own script runs in the pages that it is for, in a real Chromium; what is wrong in its file is said."""

import pytest

from tests.crawler.render.behaviours.test_buttons import clicked, shop
from thresher.core import InputError
from thresher.crawler.render.behaviours.behaviour_script import parse_scripts, script_for
from thresher.crawler.render.render_settings import RenderSettings
from thresher.frontier import canonicalize
from thresher.pipeline import configuration

SCRIPT = """
[[script]]
name = "list"
hosts = ["127.0.0.1", "Shop.Example.org"]
path = "/*"
steps = [
    {fill = "input", text = "lamps"},
    {click = "#find"},
    {wait = ".result"},
    {wait = 0.5},
    {repeat = 50, steps = [{click = ".on"}, {scroll = "end"}]},
    {click = "#last"},
    {click = "#not-there"},
    {click = "#never"},
]
"""
PAGE = """<input oninput="note('typed')"><button id=find onclick="setTimeout(() => {
  document.body.insertAdjacentHTML('beforeend', '<p class=result>' + document.querySelector('input').value);
}, 3000)">Buy lamps</button>
<button class=on onclick="note('on'); if (++this.count == 3) this.remove()">on</button>
<script>document.querySelector('.on').count = 0</script>
<button id=last onclick="note('last'); location = '/away'">x</button><button id=never onclick="note('never')">x</button>"""


@pytest.mark.usefixtures("chromium")
def test_a_script_fills_clicks_waits_and_repeats_and_the_tab_stays(stage):
    (script,) = parse_scripts(SCRIPT)
    rendered, server = stage.render(shop(PAGE), script=script, seconds=30)
    assert b'<p class="result">lamps' in rendered.html
    assert clicked(rendered) == ["typed", "on", "on", "on", "last"]
    done = rendered.report.behaviours.actions["script"]
    assert done == f"list@{script.digest} 11 steps, then no #not-there"
    assert rendered.report.navigations == (f"{server.url}/away",)
    assert dict(server.paths) == {"/": 1}


@pytest.mark.slow
@pytest.mark.usefixtures("chromium")
def test_a_script_without_an_end_is_cut_and_marked(stage):
    (script,) = parse_scripts(
        '[[script]]\nname = "x"\nhosts = ["127.0.0.1"]\nsteps = [{repeat = 1000, steps = [{click = "button"}]}]'
    )
    rendered, _ = stage.render(shop("<button onclick=\"note('on')\">x</button>"), script=script, seconds=30)
    assert (rendered.report.reason, rendered.report.behaviours.cut) == ("behaviours_cut", "steps")


def test_the_first_script_that_fits_a_page_runs():
    both = parse_scripts(SCRIPT.replace('"/*"', '"/list/*"') + SCRIPT.replace('"list"', '"any"'))
    found = [
        script_for(both, canonicalize(url))
        for url in (
            "http://a.shop.example.org/list/1?q",
            "http://shop.example.org/",
            "http://example.org/list/",
        )
    ]
    assert [each and each.name for each in found] == ["list", "any", None]
    assert (
        RenderSettings(behaviour_scripts=both).behaviours_of(canonicalize("http://127.0.0.1/")).script
        is both[1]
    )


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ("[]", "script x: write its steps"),
        ('[{tap = "a"}]', "step 1: write one action, one of click, fill, wait, scroll, repeat"),
        ('[{click = "a", wait = "b"}]', "step 1: write one action"),
        ("[{click = 1}]", "click names an element"),
        ('[{click = "a"}, {fill = "a"}]', "step 2: this step has fill and text"),
        ("[{wait = 100}]", "seconds up to 60"),
        ("[{repeat = 0, steps = []}]", "repeat is a number from 1 to 1000"),
        ('[{repeat = 2, steps = [{click = ""}]}]', "step 1, step 1: click names an element"),
    ],
)
def test_a_wrong_step_is_named(steps, wrong):
    with pytest.raises(InputError, match=wrong):
        parse_scripts(f'[[script]]\nname = "x"\nhosts = ["example.org"]\nsteps = {steps}')


def test_the_configuration_reads_the_file_and_names_it_in_its_errors(tmp_path):
    text = '[crawler]\nbehaviour_file = "own.toml"\n'
    with pytest.raises(InputError, match=r"crawler\.behaviour_file: own\.toml cannot be read"):
        configuration.parse(text, tmp_path)
    (tmp_path / "own.toml").write_text(SCRIPT)
    assert [
        each.name for each in configuration.parse(text, tmp_path).crawler.rendering.behaviour_scripts
    ] == ["list"]
    (tmp_path / "own.toml").write_text("[[script]]\n")
    with pytest.raises(InputError, match=r"own\.toml: script 1: write a name"):
        configuration.parse(text, tmp_path)
