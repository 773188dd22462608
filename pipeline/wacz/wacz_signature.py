"""The signature of a WACZ, anonymous as the specification wacz-auth 0.1.0 has it: whoever knows the public key can tell
that the holder of the private key signed these files.

1. The text of the digest of datapackage.json, `sha256:HEX`, is signed with ECDSA and SHA-256. The signature is r
   and s behind each other (IEEE P1363), and the public key a SubjectPublicKeyInfo, as browsers write and read them.
2. The curve is P-384, because ReplayWeb.page verifies no other.
3. The nonce comes from the key and the text (RFC 6979): the same files and the same key give the same signature.
4. The specification's other form names a domain by its certificate and a time by a server that signs it. It takes a
   server of its own to sign with (authsign).
"""

import base64
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from thresher.core import InputError

VERSION = "0.1.0"
"""Of the specification."""
NUMBER_BYTES = 48
"""Of r and of s on P-384."""
MAX_KEY_BYTES = 64 << 10
MAKE_KEY = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out"

Signer = Callable[[str], dict[str, str]]
"""Return the `signedData` of a digest."""


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Return the private key of a PEM file. Raise `InputError` if it has none that players verify."""
    # Whoever types the line must not write over a file that is something else.
    remedy = f"make one with `{MAKE_KEY} {path if not path.exists() else 'NEW.pem'}`"
    try:
        with path.open("rb") as file:
            text = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise InputError(f"{path}: no key can be read ({error.strerror}); {remedy}") from None
    try:
        key = load_pem_private_key(text, password=None)
    except TypeError:
        raise InputError(
            f"{path}: the key is encrypted; `openssl pkey -in {path}` writes it without its password"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise InputError(f"{path}: this is no private key in PEM; {remedy}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != ec.SECP384R1.name:
        raise InputError(f"{path}: players verify keys on the curve P-384 alone; {remedy}")
    return key


def signer(key: ec.EllipticCurvePrivateKey, *, created: str, software: str) -> Signer:
    """Return the function that signs digests with `key`; `created` must be that of the WACZ, for tools compare them."""

    def sign(digest: str) -> dict[str, str]:
        algorithm = ec.ECDSA(SHA256(), deterministic_signing=True)
        r, s = decode_dss_signature(key.sign(digest.encode(), algorithm))
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return {
            "hash": digest,
            "created": created,
            "software": software,
            "version": VERSION,
            "signature": _base64(r.to_bytes(NUMBER_BYTES) + s.to_bytes(NUMBER_BYTES)),
            "publicKey": _base64(public),
        }

    return sign


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
