"""What a capture says about its response."""

from thresher.core import Capture, Url


def test_the_values_of_several_content_encodings_are_joined():
    url = Url(text="http://a.test/", wire="http://a.test/", host="a.test", origin="http://a.test")
    found = Capture(
        url=url,
        request=b"",
        response=b"",
        head_length=0,
        status=200,
        headers=(("Content-Encoding", "gzip"), ("b", "x"), ("content-encoding", "br")),
        payload=b"",
        started_ms=0,
        elapsed_ms=0,
        peer="",
        truncated=None,
    )
    assert found.content_encoding == "gzip,br"
    assert found.header("CONTENT-ENCODING") == "gzip"
