"""A certificate authority for tests, and the bad certificates that it signs."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


class Authority:
    def __init__(self, root):
        self._root = root
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Test authority")])
        made = self._builder(self._name, self._key, datetime.now(UTC) - 9 * DAY, datetime.now(UTC) + 9 * DAY)
        certificate = made.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        ).sign(self._key, hashes.SHA256())
        (root / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    @property
    def trust(self):
        """Return a context that trusts only this authority."""
        return ssl.create_default_context(cafile=self._root / "ca.pem")

    def server(self, *names, age_days=0, self_signed=False, alpn=("http/1.1",)):
        """Return a server's context for these names and addresses. Its certificate expired `age_days` ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
        end = datetime.now(UTC) + (-age_days * DAY if age_days else DAY)
        signer = key if self_signed else self._key
        found = [
            x509.IPAddress(ip_address(name)) if name[-1].isdigit() else x509.DNSName(name) for name in names
        ]
        made = (
            self._builder(subject, key, end - 5 * DAY, end, issuer=subject if self_signed else self._name)
            .add_extension(x509.SubjectAlternativeName(found), critical=False)
            .sign(signer, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self._root / f"{made.serial_number}.pem"
        path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        context.set_alpn_protocols(list(alpn))
        return context

    def _builder(self, subject, key, begin, end, issuer=None):
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer or subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )
