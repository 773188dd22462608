"""A signed WACZ is verified by the means that players have: the WebCrypto of a JavaScript engine."""

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.pipeline.wacz.test_page_list import crawl
from thresher.core import InputError
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import WaczOptions, export_wacz
from thresher.pipeline.wacz.wacz_signature import MAKE_KEY, load_key

VERIFY = """
const {signature, publicKey, hash} = JSON.parse(require("fs").readFileSync(0));
const bytes = text => Buffer.from(text, "base64");
const curve = {name: "ECDSA", namedCurve: "P-384"};
crypto.subtle.importKey("spki", bytes(publicKey), curve, true, ["verify"])
  .then(key => crypto.subtle.verify({name: "ECDSA", hash: "SHA-256"}, key, bytes(signature), Buffer.from(hash)))
  .then(is_valid => console.log(is_valid));
"""


def made_key(path, *words):
    subprocess.run([*(words or MAKE_KEY.split()), path], check=True, capture_output=True)
    return path


def is_valid(signed):
    if shutil.which("node") is None:
        pytest.skip("there is no node to verify with")
    done = subprocess.run(
        ["node", "-e", VERIFY], input=json.dumps(signed), check=True, capture_output=True, text=True
    )
    return done.stdout.strip() == "true"


def digest_of(store, out, key):
    export_wacz(store, "s", out, "", LineProgress(), WaczOptions(key=key))
    with zipfile.ZipFile(out) as package:
        described = json.loads(package.read("datapackage.json"))
        return json.loads(package.read("datapackage-digest.json")), described


def test_a_signature_is_valid_for_these_files_and_no_others(tmp_path):
    key = made_key(tmp_path / "key.pem")
    store = crawl(tmp_path / "data", [("/", "<title>Some</title>", "text/html")])

    digest, described = digest_of(store, tmp_path / "x.wacz", key)

    signed = digest["signedData"]
    assert set(signed) == {"hash", "created", "software", "version", "signature", "publicKey"}
    assert (signed["hash"], signed["created"]) == (digest["hash"], described["created"])
    assert is_valid(signed)
    assert not is_valid({**signed, "hash": signed["hash"][:-1] + "x"})


def test_the_same_files_and_the_same_key_give_the_same_bytes(tmp_path):
    key = made_key(tmp_path / "key.pem")
    store = crawl(tmp_path / "data", [("/", "<title>Some</title>", "text/html")])
    for name in ("one", "two"):
        digest_of(store, tmp_path / name, key)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def openssl(*words):
    return ("openssl", "genpkey", *words, "-out")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path, "no key can be read"),
        (lambda path: path.write_text("some text"), "this is no private key in PEM"),
        (
            lambda path: made_key(path, *openssl("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")),
            "the curve P-384 alone",
        ),
        (lambda path: made_key(path, *openssl("-algorithm", "ED25519")), "the curve P-384 alone"),
        (
            lambda path: made_key(
                path, *MAKE_KEY.removesuffix(" -out").split(), "-aes256", "-pass", "pass:secret", "-out"
            ),
            "the key is encrypted",
        ),
    ],
)
def test_a_key_that_players_do_not_verify_is_refused_before_anything_is_written(tmp_path, make, message):
    path = Path(tmp_path / "key.pem")
    make(path)
    with pytest.raises(InputError, match=message):
        load_key(path)
