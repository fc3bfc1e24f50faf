"""Archives as sources: everything comes back as it was written, and nothing of a hostile one is used."""

import json
import stat
import subprocess
import zipfile
from threading import get_ident

import msgspec
import pytest

from ingot_remotes.archives import archive, bundles
from ingot_remotes.archives.archive import Archive, ArchiveSource, open_archive, verify
from ingot_remotes.archives.layout import (
    ARCHIVED_KINDS,
    BUNDLE,
    MANIFEST,
    MOST_PAGE_OBJECTS,
    PEOPLE,
    WIKI_BUNDLE,
    ArchiveInvalid,
    encode_lines,
)
from ingot_remotes.interface.source import SourceFailed

from ..archive_builders import (
    ASSET,
    BUNDLE_BYTES,
    COMMENT,
    OBJECTS,
    PULL,
    write_archive,
    zip_of,
)

BYTES = 1_000_000_000
GOOD = [(BUNDLE, BUNDLE_BYTES)]
FILE = {
    "uuid": "x",
    "address": "http://127.0.0.1/x",
    "name": "x",
    "created_at": "2020-01-02T03:04:05Z",
}


def page_of(kind, *lines, path=""):
    """The files of an archive with one page."""
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    return [*GOOD, (path or f"{kind}/00001.jsonl", text)]


def line_of(kind, **changes):
    return json.loads(encode_lines(OBJECTS[kind])) | changes


async def test_everything_comes_back_as_it_was_written(tmp_path):
    path = write_archive(tmp_path / "a.zip")
    manifest, source = verify(path, max_bytes=BYTES), ArchiveSource(path)
    assert (manifest.service, manifest.url) == ("gitea", "https://git.example.org/there/source")
    for kind in ARCHIVED_KINDS:
        page = await source.page(kind, "")
        assert getattr(page, kind) == OBJECTS[kind], kind
        assert (page.size, page.first, page.following, page.total) == (1, 1, "", 1)
        assert await source.count(kind) == 1
    assert (await source.page("pulls", "")).comments == PULL.comments
    assert (await source.page("comments", "")).addresses == {(70, "annie"): "ann@example.org"}
    assert ((await source.settings()).topics, await source.pull_offset()) == (["forge"], 0)
    [asset] = OBJECTS["releases"][0].assets
    async with source.file(asset.url) as (chunks, length):
        assert (b"".join([chunk async for chunk in chunks]), length) == (ASSET, len(ASSET))


async def test_a_source_reads_the_manifest_and_the_people_once(tmp_path, monkeypatch):
    paths, whole = [], Archive.read
    monkeypatch.setattr(
        Archive, "read", lambda self, path, most: paths.append(path) or whole(self, path, most)
    )
    source = ArchiveSource(write_archive(tmp_path / "a.zip"))
    for kind in ARCHIVED_KINDS:
        await source.page(kind, "")
        await source.count(kind)
    await source.settings()
    assert (paths.count(MANIFEST), paths.count(PEOPLE)) == (1, 1)


async def test_a_file_is_opened_in_a_thread(tmp_path, monkeypatch):
    threads, init = set(), Archive.__init__
    monkeypatch.setattr(Archive, "__init__", lambda *args: threads.add(get_ident()) or init(*args))
    [asset] = OBJECTS["releases"][0].assets
    async with ArchiveSource(write_archive(tmp_path / "a.zip")).file(asset.url) as (chunks, _):
        assert [chunk async for chunk in chunks] == [ASSET]
    assert threads
    assert get_ident() not in threads


async def test_files_that_lines_name_are_ignored(tmp_path):
    [comment] = msgspec.json.decode(msgspec.json.encode([COMMENT]))
    comment["files"] = [FILE]
    files = [
        *page_of("issues", line_of("issues", files=[FILE])),
        ("comments/00001.jsonl", json.dumps(comment).encode()),
        ("pulls/00001.jsonl", json.dumps(line_of("pulls", files=[FILE], comments=[comment])).encode()),
    ]
    source = ArchiveSource(zip_of(tmp_path / "a.zip", files))
    pulls = await source.page("pulls", "")
    issues, comments = await source.page("issues", ""), await source.page("comments", "")
    texts = [*issues.issues, *pulls.pulls, *pulls.comments, *comments.comments]
    assert [len(texts), *(one.files for one in texts)] == [4, [], [], [], []]


async def test_pages_follow_each_other(tmp_path):
    lines = [encode_lines(OBJECTS["comments"]), encode_lines([COMMENT, COMMENT])]
    files = [(f"comments/0000{number}.jsonl", text) for number, text in enumerate(lines, 1)]
    source = ArchiveSource(zip_of(tmp_path / "a.zip", [*GOOD, *files]))
    first = await source.page("comments", "")
    second = await source.page("comments", first.following)
    assert (first.size, first.following, second.size, second.following) == (1, "2", 2, "")
    assert first.first != second.first


async def test_an_archive_names_no_account_of_this_server(tmp_path):
    path = write_archive(tmp_path / "a.zip")
    with zipfile.ZipFile(path) as opened:
        assert not [name for name in opened.namelist() if b"account_id" in opened.read(name)]


HOSTILE = {
    "no archive": (b"PK, but no more", "damaged, or not a ZIP file"),
    "an empty file": (b"", "damaged, or not a ZIP file"),
}
PATHS = (
    "../evil", "/etc/passwd", "labels/../../evil", "a\\b", "git/hooks/update", "labels/1.jsonl",
    "files/" + "A" * 64, "lfs/" + "a" * 63, "labels/0000\u0661.jsonl", "manifest.json/x",
)  # fmt: skip


def refusal(path, max_bytes=BYTES):
    with pytest.raises(ArchiveInvalid) as error:
        verify(path, max_bytes=max_bytes)
    return str(error.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_archive_is_refused(tmp_path, name):
    data, message = HOSTILE[name]
    (tmp_path / "a.zip").write_bytes(data)
    assert message in refusal(tmp_path / "a.zip")


@pytest.mark.parametrize("name", PATHS)
def test_a_path_outside_the_layout_is_refused(tmp_path, name):
    path = zip_of(tmp_path / "a.zip", [*GOOD, (name, b"x")])
    assert "is not in the layout" in refusal(path)
    assert [one.name for one in tmp_path.iterdir()] == ["a.zip"]


def test_a_link_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as opened:
        info = zipfile.ZipInfo(BUNDLE)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(info, "/etc/passwd")
    assert "is a link" in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_with_one_path_are_refused(tmp_path):
    assert "two files with one path" in refusal(zip_of(tmp_path / "a.zip", [*GOOD, *GOOD]))


def test_other_compression_is_refused(tmp_path):
    path = zip_of(tmp_path / "a.zip", GOOD, compression=zipfile.ZIP_BZIP2)
    assert "another method than deflate" in refusal(path)


def test_an_encrypted_file_is_refused(tmp_path):
    path = zip_of(tmp_path / "a.zip", GOOD)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "is encrypted" in refusal(path)


def test_a_bomb_is_refused_before_it_is_read(tmp_path):
    path = zip_of(tmp_path / "a.zip", [*GOOD, ("labels/00001.jsonl", bytes(80_000_000))])
    assert path.stat().st_size < 200_000
    assert "200 times as large as the archive" in refusal(path)


def test_files_that_share_their_bytes_are_refused(tmp_path):
    path = zip_of(
        tmp_path / "a.zip", [*GOOD, ("comments/00001.jsonl", b"x" * 999)], compression=zipfile.ZIP_STORED
    )
    data = path.read_bytes()
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entries, tail = data[start:end], bytearray(data[end:])
    more = entries.replace(b"comments/00001", b"comments/00002")
    tail[8:12] = (6).to_bytes(2, "little") * 2
    tail[12:16] = len(entries + more).to_bytes(4, "little")
    path.write_bytes(data[:start] + entries + more + tail)
    assert refusal(path) in (
        "the archive is damaged: its files overlap",
        "the archive has two files with one path",
    )


def test_an_archive_above_the_limit_is_refused(tmp_path):
    assert "more than 10 bytes" in refusal(zip_of(tmp_path / "a.zip", GOOD), max_bytes=10)


def test_too_many_pages_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_PAGES_BYTES", 10)
    assert "the pages have more than 10 bytes" in refusal(write_archive(tmp_path / "a.zip"))


def test_a_list_of_too_many_files_is_not_read(tmp_path):
    path = zip_of(tmp_path / "a.zip", GOOD)
    data = bytearray(path.read_bytes())
    end = data.index(b"PK\x05\x06")
    data[:0] = bytes(9_000_000)
    data[end + 9_000_012 : end + 9_000_016] = (9_000_000).to_bytes(4, "little")
    path.write_bytes(data)
    assert refusal(path) == "the archive has too many files"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "the archive has version 2"),
        ({"version": "1"}, "manifest.json: Expected `int`"),
        ({"format": "other"}, "manifest.json: Invalid enum value"),
        ({"service": "nobody"}, "the service 'nobody' is unknown"),
        ({"files": []}, "the files of the archive are not those of manifest.json"),
        ({"files": [{"path": BUNDLE, "size": 16, "sha256": "0" * 64}]}, "its sha256 differs"),
        ({"files": [{"path": BUNDLE, "size": 16, "sha256": "0"}]}, "manifest.json: Expected `str` matching"),
        ({"name": "x" * 101}, "manifest.json: Expected `str` of length <= 100"),
    ],
)
def test_a_wrong_manifest_is_refused(tmp_path, changes, message):
    assert message in refusal(zip_of(tmp_path / "a.zip", GOOD, **changes))


def test_an_archive_without_a_manifest_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as opened:
        opened.writestr(BUNDLE, BUNDLE_BYTES)
    assert "has no manifest.json" in refusal(tmp_path / "a.zip")


def test_a_file_whose_name_is_not_its_hash_is_refused(tmp_path):
    assert "its sha256 differs" in refusal(zip_of(tmp_path / "a.zip", [*GOOD, ("lfs/" + "a" * 64, b"x")]))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (page_of("labels", b"{"), "a page cannot be read"),
        (page_of("labels", b"\xff\n"), "a page cannot be read"),
        (page_of("labels", {"name": "x"}), "missing required field"),
        (page_of("labels", b'{"source_id": 1, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "deep"),
        (page_of("labels"), "has 0 lines"),
        (page_of("labels", *[line_of("labels")] * (MOST_PAGE_OBJECTS + 1)), "has 1001 lines"),
        (page_of("labels", line_of("labels"), path="labels/00002.jsonl"), "labels/00001.jsonl is missing"),
        (page_of("issues", line_of("issues", number=0)), "number is 0"),
        (page_of("issues", line_of("issues", number=2**31)), "number is 2147483648"),
        (page_of("issues", line_of("issues", number=2**70)), "number is 1180591620717411303424"),
        (page_of("issues", line_of("issues", source_id=2**63)), "source_id is 9223372036854775808"),
        (page_of("issues", line_of("issues", labels=[-2])), "labels is -2"),
        (page_of("issues", line_of("issues", pin_order=1001)), "pin_order is 1001"),
        (page_of("issues", line_of("issues", created_at="2020-01-02T03:04:05")), "created_at is not a time"),
        (page_of("issues", line_of("issues", due_date="0001-01-01T00:00:00+14:00")), "due_date is not"),
        (page_of("issues", line_of("issues", due_date="9999-12-31T23:00:00-14:00")), "due_date is not"),
        (page_of("issues", line_of("issues", state="merged")), "a page cannot be read"),
        (page_of("pulls", line_of("pulls", head_sha="../x")), "head_sha is not the id of a commit"),
        (page_of("pulls", line_of("pulls", merge_sha="A" * 40)), "merge_sha is not the id of a commit"),
        (page_of("times", line_of("times", seconds=-1)), "seconds is -1"),
        (page_of("issues", line_of("issues", title="a\0b")), "title has a character U+0000"),
        (page_of("issues", line_of("issues", files=[FILE | {"address": "\0"}])), "address has a character"),
        ([*GOOD, ("people.jsonl", b'{"source_id": 1, "name": "\\u0000"}\n')], "name has a character U+0000"),
        (page_of("releases", line_of("releases")), "an asset has no file in the archive"),
        (
            page_of(
                "releases",
                line_of(
                    "releases",
                    assets=[{"name": "x", "url": "http://127.0.0.1/", "created_at": "2020-01-02T03:04:05Z"}],
                ),
            ),
            "an asset has no file in the archive",
        ),
        ([*GOOD, ("people.jsonl", b'{"source_id": "x"}\n')], "a page cannot be read"),
    ],
)
def test_a_page_with_wrong_values_is_refused(tmp_path, files, message):
    assert message in refusal(zip_of(tmp_path / "a.zip", files))


async def test_an_archive_that_was_removed_fails_the_import(tmp_path):
    source = ArchiveSource(tmp_path / "none.zip")
    with pytest.raises(SourceFailed) as error:
        await source.page("labels", "")
    assert error.value.fault == "archive"
    with pytest.raises(SourceFailed):
        await source.settings()


def test_a_bundle_of_the_archive_is_copied(tmp_path):
    with open_archive(write_archive(tmp_path / "a.zip")) as opened:
        opened.copy_bundle(BUNDLE, tmp_path / "x.bundle")
    assert (tmp_path / "x.bundle").read_bytes() == BUNDLE_BYTES


V2, V3, REF = b"# v2 git bundle\n", b"# v3 git bundle\n", b"a" * 40 + b" refs/heads/"


@pytest.mark.parametrize("header", [V2 + REF + b"x\n\n", V3 + b"@object-format=sha1\n" + REF + b"\xff\n\n"])
def test_a_bundle_is_accepted(tmp_path, header):
    verify(zip_of(tmp_path / "a.zip", [(BUNDLE, header + b"PACK")]), max_bytes=BYTES)
    bundle = tmp_path / "x.bundle"
    bundle.write_bytes(header + b"PACK")
    listed = subprocess.run(["git", "bundle", "list-heads", bundle], check=True, capture_output=True).stdout
    assert listed == header[header.index(REF) : -1]


@pytest.mark.parametrize("path", [BUNDLE, WIKI_BUNDLE])
@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "is not a bundle"),
        (b"gitdir: ../../repositories/ab/cd/42.git\n", "is not a bundle"),
        (b"# v1 git bundle\n\n", "is not a bundle"),
        (V2, "is damaged"),
        (V2 + REF + b"x", "is damaged"),
        (V2 + REF + b"x\0y\n\n", "is damaged"),
        (V2 + b"a" * 64 + b" refs/heads/x\n\n", "is damaged"),
        (V2 + b"@object-format=sha1\n\n", "is damaged"),
        (V2 + REF + b"x" * 4096 + b"\n\n", "is damaged"),
        (V2 + b"-" + b"a" * 40 + b" a commit\n\n", "has only a part of the history"),
        (V3 + b"@object-format=sha256\n\n", "has another capability"),
        (V3 + b"@filter=blob:none\n\n", "has another capability"),
    ],
)
def test_a_file_that_git_may_not_open_as_a_bundle_is_refused(tmp_path, path, header, message):
    archive_path = zip_of(tmp_path / "a.zip", [(path, header)])
    assert f"{path} {message}" in refusal(archive_path)
    with open_archive(archive_path) as opened, pytest.raises(ArchiveInvalid):
        opened.copy_bundle(path, tmp_path / "x.bundle")
    assert not (tmp_path / "x.bundle").exists()


def test_a_bundle_of_too_many_refs_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "MAX_REFS", 2)
    path = zip_of(tmp_path / "a.zip", [(BUNDLE, V2 + (REF + b"x\n") * 3 + b"\n")])
    assert "has more than 2 refs" in refusal(path)


@pytest.mark.parametrize("line", [b"@object-format=sha1\n", REF + b"x" * 900 + b"\n"])
def test_a_header_above_the_limit_is_refused(tmp_path, monkeypatch, line):
    monkeypatch.setattr(bundles, "MOST_HEADER_BYTES", 10_000)
    path = zip_of(tmp_path / "a.zip", [(BUNDLE, V3 + line * 1_000 + b"\n")])
    assert "header" in refusal(path)
