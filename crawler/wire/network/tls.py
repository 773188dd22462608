"""TLS: which certificates are trusted, and what a capture says of one that is not.

Certificates are verified against the system's authorities. If a configuration wants pages in spite of a bad
certificate, the client connects again without verification, and speaks old versions too; the capture then says what was
wrong.
"""

import re
import ssl

from thresher.core.capture import TlsSession
from thresher.crawler.wire.fetch_failure import FailureReason, FetchFailure, one_line

_VERDICTS = {
    9: "expired",
    10: "expired",
    18: "self_signed",
    19: "self_signed",
    62: "wrong_host",
    64: "wrong_host",
}
"""OpenSSL's codes (X509_V_ERR_...): not yet valid and no longer valid; self-signed; another name and another
address.
"""
_REASONS: dict[str, FailureReason] = {
    "expired": "tls_expired",
    "self_signed": "tls_self_signed",
    "wrong_host": "tls_wrong_host",
}
_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""CPython's own choice. Debian's CPython takes OpenSSL's, with TLS 1.0; CPython 3.13 refuses certificates that others
take (VERIFY_X509_STRICT). Whether a site can be crawled must not depend on that.
"""
_OLD_VERSIONS = "DEFAULT:@SECLEVEL=0"
_OPENSSL = re.compile(
    r"(?:(?P<exchange>(?:ECDHE|DHE|ECDH|DH|PSK|SRP|ADH|AECDH)(?:-(?:RSA|ECDSA|DSS|PSK))?)-)?"
    r"(?P<cipher>AES(?:128|256)|CAMELLIA(?:128|256)|ARIA(?:128|256)|CHACHA20-POLY1305|DES-CBC3|RC4|SEED)"
    r"(?:-(?P<mode>GCM|CCM8?|CBC))?(?:-(?P<hash>SHA\d*|MD5))?",
    re.ASCII,
)


class TlsContexts:
    """The TLS contexts of connections: those that verify, and those that do not."""

    def __init__(self, own: ssl.SSLContext | None = None) -> None:
        """Verify with `own`, if given, instead of the system's authorities."""
        self._custom = own
        self._contexts: dict[tuple[bool, bool, bool], ssl.SSLContext] = {}

    def context(self, *, h2: bool, verify: bool = True, old_versions: bool = False) -> ssl.SSLContext:
        """Return a context that offers h2 or not, verifies or not, and speaks TLS 1.0 and 1.1 or not."""
        key = (h2, verify, old_versions)
        if key not in self._contexts:
            self._contexts[key] = self._make(h2=h2, verify=verify, old_versions=old_versions)
        return self._contexts[key]

    def _make(self, *, h2: bool, verify: bool, old_versions: bool) -> ssl.SSLContext:
        if self._custom is not None and verify and h2 and not old_versions:
            context = self._custom
        elif self._custom is not None and verify:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            for authority in self._custom.get_ca_certs(binary_form=True):
                context.load_verify_locations(cadata=authority)
        elif verify:
            context = ssl.create_default_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.verify_flags = ssl.VerifyFlags.VERIFY_X509_TRUSTED_FIRST
        if old_versions:
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.set_ciphers(_OLD_VERSIONS)
        elif context is not self._custom:
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(_CIPHERS)
        context.set_alpn_protocols(["h2", "http/1.1"] if h2 else ["http/1.1"])
        return context


def certificate_problem(error: BaseException) -> str | None:
    """Return what is wrong with a certificate, or None if the error has another cause."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return None
    return _VERDICTS.get(error.verify_code, "untrusted")


def handshake_failure(error: BaseException) -> FetchFailure:
    """Return the failure of a handshake that raised `error`."""
    if isinstance(error, ConnectionError):
        return FetchFailure(reason="reset", detail=one_line(error), symptom="answered")
    return FetchFailure(
        reason=_REASONS.get(certificate_problem(error) or "", "tls"),
        detail=one_line(error),
        symptom="answered",
    )


def connection_tls(connection: ssl.SSLObject, trust: str) -> TlsSession:
    """Return version, cipher and trust of a connection; `trust` is what is wrong with its certificate, or `trusted`."""
    cipher, version = connection.cipher(), (connection.version() or "").removeprefix("TLSv")
    return TlsSession(
        version="1.0" if version == "1" else version,
        cipher=iana_cipher_name(cipher[0]) if cipher else "",
        trust=trust,
    )


def iana_cipher_name(name: str) -> str:
    """Return IANA's name of a cipher suite from OpenSSL's. TLS 1.3 suites have one name, and an unknown suite keeps its
    own.
    """
    found = _OPENSSL.fullmatch(name)
    if found is None:
        return name
    exchange = (found["exchange"] or "RSA").replace("-", "_")
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)([0-9]+)", r"\1_\2", found["cipher"]).replace("-", "_")
    cipher = {"DES_CBC3": "3DES_EDE_CBC", "RC4": "RC4_128", "SEED": "SEED_CBC"}.get(cipher, cipher)
    mode = (found["mode"] or "").replace("CCM8", "CCM_8")
    if not mode and cipher[:3] in {"AES", "CAM", "ARI"}:
        mode = "CBC"
    digest = found["hash"] or ("" if mode.startswith("CCM") else "SHA256")
    return "_".join(filter(None, ("TLS", exchange, "WITH", cipher, mode, digest)))
