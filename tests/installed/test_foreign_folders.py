"""Programs of users whose folders are named as ours: an installed Thresher has one name, and the others are theirs."""

import ast
import json
import subprocess
import sys

import pytest

from tests.crawler.server import Server, page
from tests.installed.wheels import (  # noqa: F401 - fixtures
    checkout,
    run,
    wheel,
    wheel_python,
)
from tests.packages import LINKS, ROOT
from tests.shards.loader.made_export import documents_of, make_export

INSTALLS = ["editable", pytest.param("wheel", marks=pytest.mark.slow)]
TRAIN = """
import sys
import core, crawler, frontier, pipeline.steps, shards, storage.disk
from thresher import Loader, Rule

loader = Loader(sys.argv[1], length=8, batch_size=2, cache=sys.argv[2])
batch = next(iter(loader))
assert batch["input_ids"].shape == (2, 8)
import thresher.core, thresher.storage
own = [core.NAME, crawler.NAME, frontier.NAME, pipeline.steps.NAME, shards.NAME, storage.disk.NAME]
print([*own, thresher.core.Url.__module__, sorted(n for n in sys.modules if n.startswith("thresher."))])
"""
OWN = ["core", "crawler", "frontier", "steps", "shards", "disk"]


@pytest.fixture(scope="module", params=INSTALLS)
def python(request):
    """The Python of an environment with an editable Thresher, and of one with a wheel."""
    return sys.executable if request.param == "editable" else request.getfixturevalue("wheel_python")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A training repository: packages, folders without `__init__.py` and a module, all named as packages of ours."""
    root = tmp_path_factory.mktemp("repository")
    for name in ("core", "crawler", "shards"):
        (root / name).mkdir()
        (root / name / "__init__.py").write_text(f"NAME = {name!r}\n")
    for folder, module in (("storage", "disk"), ("pipeline", "steps")):
        (root / folder).mkdir()
        (root / folder / f"{module}.py").write_text(f"NAME = {module!r}\n")
    (root / "frontier.py").write_text("NAME = 'frontier'\n")
    (root / "train.py").write_text(TRAIN)
    make_export(root / "out", {"web": documents_of("web", 9)})
    return root


@pytest.mark.parametrize("way", ["script", "module", "notebook"])
def test_a_training_script_beside_folders_of_our_names_loads_batches(python, repository, tmp_path, way):
    begin = {
        "script": [repository / "train.py"],  # the folder of the script is on the path
        "module": ["-m", "train"],  # the working directory is
        "notebook": ["-c", TRAIN],  # the empty name is, as in an interpreter and a kernel
    }[way]
    cwd = tmp_path if way == "script" else repository
    *names, module, imported = ast.literal_eval(
        run(python, *begin, repository / "out", tmp_path / "cache", cwd=cwd)
    )
    assert names == OWN
    assert module == "thresher.core.url"
    assert not {"thresher.pipeline", "thresher.crawler", "thresher.frontier"} & set(imported)


SPAWNED = """
import multiprocessing, pickle, sys
import core
from thresher.core import Failure, InputError, Url

def modules(url):
    import thresher.core
    assert isinstance(url, thresher.core.Url)
    return type(url).__module__, sorted(n for n in sys.modules if n.partition(".")[0] in {names!r})

if __name__ == "__main__":
    from thresher.frontier.urls.canonical import canonicalize
    url = pickle.loads(pickle.dumps(canonicalize("https://example.org/")))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print([pool.apply(modules, (url,)), pickle.loads(pickle.dumps(InputError("a"))).__class__ is InputError])
"""


def test_a_pickle_and_a_spawned_process_have_one_name_for_each_class(python, repository):
    (repository / "spawned.py").write_text(SPAWNED.replace("{names!r}", repr(set(LINKS))))
    (module, top), same = ast.literal_eval(run(python, "spawned.py", cwd=repository))
    assert (module, top, same) == (
        "thresher.core.url",
        ["core"],
        True,
    )  # the user's `core`, in the child as well


SPIDER = """
import scrapy
from core.items import ITEM
from pipeline import NAME

class Prices(scrapy.Spider):
    name = "prices"
    custom_settings = {"FEEDS": {"items/%(worker)s.jsonl": {"format": "jsonlines"}}}

    async def start(self):
        yield scrapy.Request(self.first)

    def parse(self, response):
        yield {"url": response.url, "item": ITEM, "pipeline": NAME}
"""
TOML = """
[project]
contact = "mailto:test@example.org"
[crawler]
min_delay = 0.0
allow_networks = ["127.0.0.0/8"]
"""


@pytest.mark.slow
def test_a_scrapy_project_with_folders_of_our_names_is_crawled(python, tmp_path):
    files = {
        "thresher.toml": TOML,
        "core/__init__.py": "",
        "core/items.py": "ITEM = 'theirs'",
        "pipeline/__init__.py": "NAME = 'theirs as well'",
        "storage/disk.py": "",
        "shop/__init__.py": "",
        "shop/spiders.py": SPIDER,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with Server().in_thread() as site:
        first = f"{site.url}/list"
        site.answers["/list"] = page("<h1>A price</h1>")
        words = ["crawl", "shop", "--spider", "shop.spiders:Prices", "-a", f"first={first}", "--json"]
        crawled = json.loads(run(python, "-m", "thresher", *words, cwd=tmp_path))
    assert crawled["outcomes"]["fetched"] == 1
    (feed,) = tmp_path.glob("**/items/*.jsonl")
    assert json.loads(feed.read_text()) == {
        "url": first,
        "item": "theirs",
        "pipeline": "theirs as well",
    }


def test_our_own_folders_cannot_be_imported_by_their_bare_names(repository):
    """In a checkout `import core` would be a second name of `thresher.core`; each package refuses it."""
    code = "import importlib\nfor name in {!r}:\n try: importlib.import_module(name)\n except ImportError as e: print(e)"
    said = run(sys.executable, "-c", code.format(LINKS), cwd=ROOT).splitlines()
    assert said == [f"import thresher.{name}: `{name}` is its folder in a checkout" for name in LINKS]


@pytest.mark.parametrize("module", ["core/url.py", "thresher/core/url.py"])
def test_a_module_of_ours_that_is_run_as_a_file_imports_its_package_once(module):
    code = (
        f"import runpy, sys; runpy.run_path({module!r}, run_name='__main__'); "
        "print(sorted(n for n in sys.modules if n.endswith('.url') or n == 'url' or n == 'core'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['thresher.core.url']\n"
