"""What may be secret in an address is not printed, however it was mistyped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core.printable_address import printable_address, redact_secrets

SECRET = "S3CRET"


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("redis://bob:S3CRET@h:6379/0", "redis://h:6379/0"),
        ("rediss://:S3CRET@[::1]:6379", "rediss://[::1]:6379"),
        ("redis://bob:S3@CRET@h/0?password=S3CRET", "redis://h/0"),
        ("redis://bob:S3/CRET?#@h", "redis://h"),
        ("rediss:/bob:S3CRET@h", "rediss:..."),
        ("redis://bob:S3CRET/0", "redis:..."),
        ("redis://bob:S3CRET@[::bad/0", "redis:..."),
        ("redis:bob:S3CRET@h", "redis:..."),
        ("bob:S3CRET@h", "bob:..."),
        ("://bob:S3CRET@h", "..."),
        ("s3:/key:S3CRET@bucket", "s3:..."),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
        ("sqlite:catalog.db", "sqlite:catalog.db"),
        ("data", "data"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_secrets(address, printed):
    assert printable_address(address) == printed


@given(
    st.from_regex(r"(redis|rediss|s3|postgresql|http)(:|:/|://)[^@\n]{0,9}S3CRET[^@\n]{0,9}@", fullmatch=True)
)
def test_what_stands_in_front_of_the_last_at_sign_is_never_shown(beginning):
    assert SECRET not in printable_address(f"{beginning}host/0")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("cannot reach http://u:S3CRET@h:1/x?a=1, try again", "cannot reach http://h:1/x?a=1, try again"),
        ("Redis at rediss:/bob:S3CRET@h does not", "Redis at rediss://h does not"),
        ("https://h/f?X-Amz-Signature=S3CRET&a=b", "https://h/f?X-Amz-Signature=...&a=b"),
        ("postgresql://h/db?password=S3CRET", "postgresql://h/db?password=..."),
        ("https://h/login?next=/a&access_token=S3CRET", "https://h/login?next=/a&access_token=..."),
    ],
)
def test_a_text_is_printed_without_the_secrets_of_its_addresses(text, printed):
    assert redact_secrets(text) == printed


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/@user/post?page=1",
        "mailto:me@example.org",
        "C:/x",
        "no address",
        "https://h/?monkey=1",
    ],
)
def test_other_texts_are_printed_as_they_are(text):
    assert redact_secrets(text) == text
