"""Certificates of the hostile web: good ones of a CA that a test trusts, and ones that no client should trust."""

import ssl
import warnings
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.now(UTC)


class Authority:
    """A CA that lives as long as a test, in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hostile CA")])
        made = (
            _certificate(self._name, self._name, self._key.public_key(), NOW + timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.bundle = directory / "ca.pem"
        """The file of authorities that a client must trust (`SSL_CERT_FILE`)."""
        self.bundle.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def context(self, kind: str, *names: str) -> ssl.SSLContext:
        """Return a server's context. `kind` is `good`, `h2`, `expired`, `self_signed`, `wrong_host`, `early` (not yet
        valid), `unknown` (of an authority that nobody trusts), `sni` (which requires a server name) or `old`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
        ends = NOW - timedelta(days=1) if kind == "expired" else NOW + timedelta(days=2)
        wanted = ("somebody-else.example",) if kind == "wrong_host" else names
        issuer, signer = (subject, key) if kind == "self_signed" else (self._name, self._key)
        if kind == "unknown":
            signer = ec.generate_private_key(ec.SECP256R1())
            issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of its own")])
        made = (
            _certificate(subject, issuer, key.public_key(), ends, early=kind == "early")
            .add_extension(x509.SubjectAlternativeName([_name(name) for name in wanted]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        path = self._directory / f"{kind}-{names[0]}.pem".replace(":", "_")
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        context.set_alpn_protocols(["h2", "http/1.1"] if kind == "h2" else ["http/1.1"])
        if kind == "sni":
            context.sni_callback = lambda _, name, __: (
                None if name else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            )
        if kind == "old":
            context.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the deprecated version is the point
                context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        return context


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    ends: datetime,
    *,
    early: bool = False,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + timedelta(days=1) if early else NOW - timedelta(days=30))
        .not_valid_after(ends)
    )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)
