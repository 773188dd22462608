"""The client: what sessions share, and what they do not."""

import pytest

from thresher.storage.s3.s3_client import open_client, open_session


def test_sessions_share_the_description_of_s3(keys):
    first, second = (
        session._session.get_component("data_loader") for session in (open_session(), open_session())
    )
    assert first is not second
    assert first.load_service_model("s3", "service-2") is second.load_service_model("s3", "service-2")


def test_each_session_has_the_keys_and_the_endpoint_of_its_time(keys, monkeypatch: pytest.MonkeyPatch):
    for key in ("one", "two"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://{key}.example")
        session = open_session()
        credentials = session.get_credentials()
        assert credentials
        assert credentials.access_key == key
        client = open_client("s3://of-a-test", session)
        assert client.meta.endpoint_url == f"http://{key}.example"
        client.close()
