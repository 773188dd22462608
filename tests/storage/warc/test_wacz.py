"""The ZIP structure of our WACZ, read strictly: each entry as its local header and as the central directory say it."""

import io
import struct
import zipfile

from thresher.storage.warc import wacz
from thresher.storage.warc.wacz import WaczWriter

ZIP64 = 1


def entries(data):
    """Return of each entry its name, its extra fields in both headers, and where its data begins by both."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        at, count = file.start_dir, len(file.infolist())
        offsets = [each.header_offset for each in file.infolist()]
    for offset in offsets[:count]:
        name_length, extra_length = struct.unpack_from("<HH", data, at + 28)
        comment_length = struct.unpack_from("<H", data, at + 32)[0]
        name = data[at + 46 : at + 46 + name_length]
        central = data[at + 46 + name_length :][:extra_length]
        at += 46 + name_length + extra_length + comment_length
        local_name_length, local_length = struct.unpack_from("<HH", data, offset + 26)
        local = data[offset + 30 + local_name_length :][:local_length]
        yield name.decode(), kinds(local), kinds(central), offset, local_length, extra_length


def kinds(extra):
    """Return the ids of the extra fields."""
    found = []
    while extra:
        kind, length = struct.unpack_from("<HH", extra)
        found.append(kind)
        extra = extra[4 + length :]
    return found


def written(tmp_path, files):
    path = tmp_path / "some.wacz"
    with WaczWriter(path) as file:
        spool = tmp_path / "spool"
        for name, data in files:
            spool.write_bytes(data)
            file.add(name, spool)
        file.add_index(["com,example)/ 20260101000000 {}\n"], spool)
        file.add_pages(spool)
        file.finish({"title": "some"})
    return path.read_bytes()


def test_small_files_have_no_extra_field_so_data_begins_where_the_central_directory_says(tmp_path):
    found = list(entries(written(tmp_path, [("archive/a.warc.gz", b"some"), ("archive/b.warc.gz", b"")])))

    assert len(found) == 7
    for name, local, central, _, local_length, central_length in found:
        assert (name, local, central, local_length, central_length) == (name, [], [], 0, 0)


def test_large_files_have_zip64_fields_in_both_headers_and_others_have_none(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 5000)
    monkeypatch.setattr(wacz, "MAX_PLAIN_BYTES", 5000)

    found = list(
        entries(
            written(
                tmp_path, [("archive/small.warc.gz", b"s" * 4990), ("archive/large.warc.gz", b"l" * 5001)]
            )
        )
    )

    kinds_of = {name: (local, central) for name, local, central, *_ in found}
    assert kinds_of["archive/small.warc.gz"] == ([], [])
    assert kinds_of["archive/large.warc.gz"] == ([ZIP64], [ZIP64])
    # What lies far into the file has its place there, and no size.
    assert all(local == [] for name, (local, _) in kinds_of.items() if "large" not in name)
