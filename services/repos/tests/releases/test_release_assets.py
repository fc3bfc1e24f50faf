"""Files of releases: upload, download, names, access, and what is left when something breaks off."""

import asyncio
import hashlib
import re
from datetime import timedelta

import httpx
import pytest

from ingot_repos.releases.rules.assets import OBJECTS, object_key
from ingot_testing.service import serve

ROOT = "http://ingot.test"
FILE = b"the bytes of a file\n" * 1000


@pytest.fixture
async def app(ann):
    return await ann.create("app", auto_init=True)


@pytest.fixture
async def release(ann, app):
    return await make(ann)


async def make(person, tag="v1", repo="ann/app", **more):
    answer = await person.post(f"/repos/{repo}/releases", {"tag_name": tag, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def assets_of(release):
    return release["upload_url"].removeprefix(ROOT)


async def send(person, release, content=FILE, name="a.zip", **options):
    """Upload a file as a field of a form."""
    url, headers = assets_of(release), person.headers()
    files = {"attachment": (name, content)}
    return await person.world.http.post(url, headers=headers, files=files, **options)


async def upload(person, release, content=FILE, name="a.zip"):
    answer = await send(person, release, content, name)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def send_raw(person, release, content=FILE, name="a.zip", content_type="application/octet-stream"):
    headers = person.headers() | {"Content-Type": content_type}
    params = {"name": name} if name is not None else {}
    return await person.world.http.post(assets_of(release), headers=headers, params=params, content=content)


async def download(person, asset, **headers):
    return await person.call("GET", asset["browser_download_url"].removeprefix(ROOT), headers=headers)


async def stored(world):
    return [one.key async for page in world.components.objects.list(OBJECTS) for one in page]


def on_disk(world):
    return [path for path in (world.folder / "storage" / "files").rglob("*") if path.is_file()]


async def list_names(person, release):
    return [one["name"] for one in (await person.call("GET", assets_of(release))).json()]


async def test_what_was_uploaded_is_shown_and_downloaded(world, ann, bob, release):
    asset = await upload(ann, release)
    assert asset["name"] == "a.zip"
    assert asset["size"] == len(FILE)
    assert asset["download_count"] == 0
    assert asset["digest"] == f"sha256:{hashlib.sha256(FILE).hexdigest()}"
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", asset["uuid"])
    assert asset["created_at"].endswith("Z")
    assert asset["browser_download_url"] == f"{ROOT}/ann/app/releases/download/v1/a.zip"
    url = f"{assets_of(release)}/{asset['id']}"
    nobody = bob.but(id=0, name="", via="")
    for downloads, person in enumerate((ann, bob, nobody)):
        shown = asset | {"download_count": downloads}
        assert (await person.call("GET", url)).json() == shown
        assert (await person.call("GET", assets_of(release))).json() == [shown]
        answer = await download(person, asset)
        assert (answer.status_code, answer.content) == (200, FILE)
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith('attachment; filename="a.zip"')
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["content-length"] == str(len(FILE))
    assert (await ann.call("GET", url)).json() == asset | {"download_count": 3}


@pytest.mark.parametrize("content", [b"", b"x", FILE * 200], ids=["0", "1", "4 MB"])
@pytest.mark.parametrize("how", [send, send_raw])
async def test_every_size_comes_back_as_it_went(ann, release, how, content):
    answer = await how(ann, release, content)
    assert answer.status_code == 201, answer.text
    assert answer.json()["size"] == len(content)
    back = await download(ann, answer.json())
    assert (back.status_code, back.content) == (200, content)
    assert (await ann.call("GET", f"{assets_of(release)}/{answer.json()['id']}")).json()[
        "download_count"
    ] == 1


async def test_every_answer_of_a_release_has_its_files(world, ann, release):
    asset = await upload(ann, release)
    path = f"/repos/ann/app/releases/{release['id']}"
    for url in (path, "/repos/ann/app/releases/latest", "/repos/ann/app/releases/tags/v1"):
        assert (await ann.get(url)).json()["assets"] == [asset]
    edited = await ann.call("PATCH", f"/api/v1{path}", {"name": "One"})
    assert edited.json()["assets"] == [asset]
    assert (await ann.get("/repos/ann/app/releases")).json()[0]["assets"] == [asset]
    assert (await ann.call("DELETE", f"/api/v1{path}")).status_code == 204
    events = await world.events("release")
    assert [(event["action"], event["release"]["assets"]) for event in events] == [
        ("published", []),
        ("updated", [asset]),
        ("deleted", [asset]),
    ]


async def test_a_list_of_releases_costs_the_same_however_many_files_there_are(world, ann, app):
    counts = []
    for number in range(3):
        created = await make(ann, f"v{number}")
        for name in ("a", "b")[:number]:
            await upload(ann, created, b"x", name)
        with world.count_statements() as statements:
            listed = await ann.get("/repos/ann/app/releases")
        counts.append(len(statements))
    assert [len(one["assets"]) for one in listed.json()] == [2, 1, 0]
    assert len(set(counts)) == 1


async def test_an_event_names_at_most_a_hundred_files(world, ann, release):
    first = await upload(ann, release, b"", "0")
    table = world.database.metadata.tables["release_asset"]
    row = (await world.rows("release_asset"))[0]._asdict()
    async with world.database.transaction() as tx:
        copies = [row | {"id": 1000 + n, "uuid": f"copy-{n}", "name": "ü" * 127} for n in range(104)]
        await tx.execute(table.insert(), copies)
    await ann.call("PATCH", f"/api/v1/repos/ann/app/releases/{release['id']}", {"body": "\x01" * 100_000})
    event = (await world.events("release"))[-1]
    assert (len(event["release"]["assets"]), event["omitted"]["assets"]) == (100, 5)
    assert event["release"]["assets"][0] == first


async def test_a_list_has_all_files_or_a_page_of_them(ann, release):
    for number in range(3):
        await upload(ann, release, b"x", f"{number}")
    everything = await ann.call("GET", assets_of(release))
    assert [one["name"] for one in everything.json()] == ["0", "1", "2"]
    assert everything.headers["x-total-count"] == "3"
    page = await ann.call("GET", f"{assets_of(release)}?page=2&limit=2")
    assert ([one["name"] for one in page.json()], page.headers["x-total-count"]) == (["2"], "3")


async def test_a_file_can_be_renamed(world, ann, release):
    asset = await upload(ann, release)
    url = f"{assets_of(release)}/{asset['id']}"
    renamed = await ann.call("PATCH", url, {"name": "b c.zip"})
    assert renamed.status_code == 201
    assert renamed.json() == asset | {
        "name": "b c.zip",
        "browser_download_url": f"{ROOT}/ann/app/releases/download/v1/b%20c.zip",
    }
    assert (await download(ann, renamed.json())).content == FILE
    assert (await download(ann, asset)).status_code == 404
    for nothing in ({}, {"name": ""}, {"name": None}):
        same = await ann.call("PATCH", url, nothing)
        assert (same.status_code, same.json()["name"]) == (201, "b c.zip")


async def test_files_of_one_name_are_told_apart_by_their_urls(ann, release):
    first = await upload(ann, release, b"one")
    second = await upload(ann, release, b"two")
    both = (await ann.call("GET", assets_of(release))).json()
    assert [one["browser_download_url"] for one in both] == [
        f"{ROOT}/ann/app/releases/assets/{one['uuid']}" for one in (first, second)
    ]
    assert [(await download(ann, one)).content for one in both] == [b"one", b"two"]
    assert (await download(ann, first)).content == b"one"
    assert (await ann.call("DELETE", f"{assets_of(release)}/{first['id']}")).status_code == 204
    (left,) = (await ann.call("GET", assets_of(release))).json()
    assert left["browser_download_url"].endswith("/download/v1/a.zip")
    assert (await download(ann, left)).content == b"two"


async def test_tags_and_names_with_odd_characters_lead_to_their_files(ann, app):
    created = await make(ann, "rel/1.0")
    for name in ("Grüße & co?.tar.gz", 'quo"te.txt', "per%20cent", "#1", "a+b;c=d"):
        answer = await send_raw(ann, created, name.encode(), name)
        assert answer.status_code == 201, answer.text
        assert answer.json()["name"] == name
        back = await download(ann, answer.json())
        assert (back.status_code, back.content) == (200, name.encode()), name
        assert back.headers["content-disposition"].isascii()


WRONG_NAMES = [
    "../x",
    "..",
    ".",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "x" * 256,
    "ü" * 128,
    "x" * 300,
    "a\nb",
    "a\0b",
    "a\x1bb",
    "a\u202eb",
    "a\u2028b",
    " a",
    "a ",
]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", WRONG_NAMES)
async def test_a_wrong_name_is_refused(world, ann, release, name):
    asset = await upload(ann, release, b"x", "right")
    for answer in (
        await send_raw(ann, release, b"x", name),
        await ann.call("PATCH", f"{assets_of(release)}/{asset['id']}", {"name": name}),
    ):
        assert answer.status_code == 422, answer.text
        if "a parameter holds" in answer.text and "\0" in name:
            continue  # no parameter of a URL may hold it
        assert answer.json()["errors"][0]["field"] == "name"
    assert await list_names(ann, release) == ["right"]
    assert len(await stored(world)) == 1


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["..", "a/b", "a\\b", "x" * 300])
async def test_a_wrong_name_in_a_form_is_refused(world, ann, release, name):
    answer = await send(ann, release, b"x", name)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "name")
    assert await stored(world) == []
    renamed = await send(ann, release, b"x", name, params={"name": "good"})
    assert (renamed.status_code, renamed.json()["name"]) == (201, "good")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"x", "application/octet-stream", 422),  # without a name
        (b"", "multipart/form-data", 400),
        (b"x", "multipart/form-data; boundary=b", 400),
        (b'--b\r\nContent-Disposition: form-data; name="other"; filename="x"\r\n\r\nx\r\n--b--\r\n',
         "multipart/form-data; boundary=b", 400),
        (b'--b\r\nContent-Disposition: form-data; name="attachment"; filename="x"\r\n\r\nhalf',
         "multipart/form-data; boundary=b", 400),
        (b'--b\r\nContent-Disposition: form-data; name="attachment"; filename=""\r\n\r\nx\r\n--b--\r\n',
         "multipart/form-data; boundary=b", 422),
    ],
)  # fmt: skip
async def test_a_body_without_a_file_is_refused(world, ann, release, body, content_type, status):
    answer = await send_raw(ann, release, body, None, content_type)
    assert answer.status_code == status, answer.text
    assert await stored(world) == []
    assert on_disk(world) == []


class TestLimits:
    @pytest.fixture
    def settings(self):
        return {"max_asset_bytes": 1000, "max_release_assets": 2, "asset_types": [".zip", ".TAR.gz"]}

    @pytest.mark.parametrize("how", [send, send_raw])
    async def test_a_file_that_is_too_large_is_refused(self, world, ann, release, how):
        assert (await how(ann, release, b"x" * 1000)).status_code == 201
        answer = await how(ann, release, b"x" * 1001)
        assert answer.status_code == 413, answer.text
        assert len(await stored(world)) == len(on_disk(world)) == 1

    async def test_too_many_files_are_refused(self, world, ann, release):
        for _ in range(2):
            await upload(ann, release, b"x")
        answer = await send(ann, release, b"x")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "attachment")
        assert len(await stored(world)) == 2

    async def test_uploads_at_once_do_not_exceed_the_limit(self, world, ann, release):
        answers = await asyncio.gather(*(send(ann, release, b"x") for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [201, 201, 422, 422]
        assert len(await stored(world)) == 2

    async def test_a_file_of_another_type_is_refused(self, ann, release):
        for name in ("x.exe", "x", "zip", "x.zip.exe"):
            answer = await send(ann, release, b"x", name)
            assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "type"), name
        for name in ("x.ZIP", "x.tar.gz"):
            assert (await send(ann, release, b"x", name)).status_code == 201


RANGES = [
    ("bytes=0-0", 206, slice(0, 1)),
    ("bytes=5-9", 206, slice(5, 10)),
    ("bytes=-5", 206, slice(-5, None)),
    ("bytes=19990-", 206, slice(19990, None)),
    ("bytes=0-", 206, slice(None)),
    ("bytes=19990-99999", 206, slice(19990, None)),
    ("bytes=-99999", 206, slice(None)),
    ("BYTES=1-2", 206, slice(1, 3)),
    ("bytes=20000-", 416, None),
    ("bytes=-0", 416, None),
    ("bytes=9-5", 200, slice(None)),
    ("bytes=0-1,3-4", 200, slice(None)),
    ("bytes=a-b", 200, slice(None)),
    ("items=0-1", 200, slice(None)),
    ("bytes=", 200, slice(None)),
    ("bytes=99999999999999999999-", 200, slice(None)),
]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_range_is_answered_alone(ann, release):
    asset = await upload(ann, release)
    for header, status, part in RANGES:
        answer = await download(ann, asset, Range=header)
        assert answer.status_code == status, header
        if status == 416:
            assert answer.headers["content-range"] == f"bytes */{len(FILE)}"
            continue
        assert answer.content == FILE[part], header
        assert ("content-range" in answer.headers) == (status == 206)
    empty = await upload(ann, release, b"", "empty")
    assert (await download(ann, empty, Range="bytes=0-")).status_code == 416


async def test_a_client_that_has_the_file_gets_it_not_again(ann, release):
    asset = await upload(ann, release)
    etag = (await download(ann, asset)).headers["etag"]
    again = await download(ann, asset, **{"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert (await download(ann, asset, **{"If-Range": etag, "Range": "bytes=0-3"})).content == FILE[:4]
    assert (await download(ann, asset, **{"If-Range": '"other"', "Range": "bytes=0-3"})).content == FILE
    changed = await upload(ann, release, b"other", "other")
    assert (await download(ann, changed)).headers["etag"] != etag


async def test_only_what_has_the_end_of_the_file_counts_as_a_download(ann, release):
    asset = await upload(ann, release)
    etag = (await download(ann, asset)).headers["etag"]
    await download(ann, asset, Range="bytes=0-99")
    await download(ann, asset, **{"If-None-Match": etag})
    await ann.call("HEAD", asset["browser_download_url"].removeprefix(ROOT))
    await download(ann, asset, Range="bytes=100-")
    await asyncio.gather(*(download(ann, asset) for _ in range(5)))
    shown = await ann.call("GET", f"{assets_of(release)}/{asset['id']}")
    assert shown.json()["download_count"] == 7


async def test_files_of_a_draft_exist_for_writers_only(world, ann, bob, app):
    draft = await make(ann, draft=True)
    asset = await upload(ann, draft)
    duplicate = await upload(ann, draft)
    urls = [
        assets_of(draft),
        f"{assets_of(draft)}/{asset['id']}",
        asset["browser_download_url"].removeprefix(ROOT),
        duplicate["browser_download_url"].removeprefix(ROOT),
    ]
    nobody = bob.but(id=0, name="", via="")
    for url in urls:
        assert [(await person.call("GET", url)).status_code for person in (bob, nobody)] == [404, 404], url
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    for url in urls:
        assert (await bob.call("GET", url)).status_code == 200, url
    answer = await download(bob, asset)
    assert answer.headers["cache-control"].startswith("private")
    await ann.call("PATCH", f"/api/v1/repos/ann/app/releases/{draft['id']}", {"draft": False})
    for url in urls:
        assert (await nobody.call("GET", url)).status_code == 200, url


async def test_files_of_a_private_repository_are_for_its_readers(world, ann, bob):
    await ann.create("hidden", private=True, auto_init=True)
    asset = await upload(ann, await make(ann, repo="ann/hidden"))
    nobody = bob.but(id=0, name="", via="")
    for person in (bob, nobody):
        assert (await download(person, asset)).status_code == 404
    await ann.call("PUT", "/api/v1/repos/ann/hidden/collaborators/bob", {"permission": "read"})
    answer = await download(bob, asset)
    assert (answer.content, answer.headers["cache-control"][:7]) == (FILE, "private")
    assert (await download(nobody, asset)).status_code == 404
    assert (await send(bob, await make(ann, "v2", "ann/hidden"))).status_code == 403


async def test_a_file_is_reached_only_through_its_own_release_and_repository(ann, release):
    asset = await upload(ann, release)
    other = await make(ann, "v2")
    await ann.create("other", auto_init=True)
    foreign = await make(ann, "v1", "ann/other")
    for other_release in (other, foreign):
        url = f"{assets_of(other_release)}/{asset['id']}"
        for method in ("GET", "PATCH", "DELETE"):
            assert (await ann.call(method, url, {"name": "x"})).status_code == 404, (method, url)
    for path in ("ann/app/releases/download/v2/a.zip", "ann/other/releases/download/v1/a.zip",
                 f"ann/other/releases/assets/{asset['uuid']}", "ann/app/releases/assets/nonsense",
                 "ann/app/releases/download/a.zip", "ann/app/releases/download/v1/"):  # fmt: skip
        assert (await ann.call("GET", f"/{path}")).status_code == 404, path
    assert await list_names(ann, release) == ["a.zip"]


async def test_without_the_unit_there_are_no_files(ann, release):
    asset = await upload(ann, release)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"has_releases": False})
    assert (await download(ann, asset)).status_code == 404
    assert (await send(ann, release)).status_code == 404


async def test_an_archived_repository_keeps_its_files_as_they_are(ann, release):
    asset = await upload(ann, release)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    url = f"{assets_of(release)}/{asset['id']}"
    assert (await send(ann, release)).status_code == 403
    assert (await ann.call("PATCH", url, {"name": "x"})).status_code == 403
    assert (await ann.call("DELETE", url)).status_code == 403
    assert (await download(ann, asset)).content == FILE


async def test_a_former_name_leads_to_the_file(ann, release):
    asset = await upload(ann, release)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "renamed"})
    answer = await download(ann, asset)
    assert (answer.status_code, answer.headers["location"]) == (
        302,
        "/ann/renamed/releases/download/v1/a.zip",
    )
    assert (await ann.call("GET", answer.headers["location"])).content == FILE


async def test_the_bytes_of_a_deleted_file_are_freed(world, ann, release):
    asset = await upload(ann, release)
    await upload(ann, release, name="other")
    assert (await ann.call("DELETE", f"{assets_of(release)}/{asset['id']}")).status_code == 204
    assert (await ann.call("DELETE", f"{assets_of(release)}/{asset['id']}")).status_code == 404
    assert (await download(ann, asset)).status_code == 404
    assert len(await stored(world)) == 2
    await world.components.workers.step()
    assert len(await stored(world)) == len(on_disk(world)) == 1


async def test_the_bytes_of_a_deleted_release_are_freed(world, ann, release):
    for name in ("a", "b", "c"):
        await upload(ann, release, name=name)
    await ann.call("DELETE", f"/api/v1/repos/ann/app/releases/{release['id']}")
    await world.components.workers.step()
    assert (await stored(world), await world.rows("release_asset")) == ([], [])
    created = await make(ann, "v1")
    await upload(ann, created)
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/releases/tags/v1")).status_code == 204
    await world.components.workers.step()
    assert await stored(world) == []


async def test_the_bytes_of_a_deleted_repository_are_freed_when_it_is_forgotten(world, ann, app, release):
    await upload(ann, release)
    await ann.create("other", auto_init=True)
    remaining = await upload(ann, await make(ann, repo="ann/other"))
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    await world.confirm_deletion(app["id"])
    await world.components.workers.step()
    (left,) = await stored(world)
    assert left.endswith(remaining["uuid"])


async def test_orphans_are_swept_and_nothing_else(world, ann, app, release):
    asset = await upload(ann, release)
    orphan = object_key(app["id"], "00000000-0000-4000-8000-000000000000")

    async def chunks():
        yield b"x"

    await world.components.objects.put(orphan, chunks(), max_bytes=1)
    files = world.components.asset_files
    await files.sweep()
    assert len(await stored(world)) == 2  # it might be an upload that gets its row in a moment
    await files.sweep(older_than=timedelta(seconds=-60))
    assert await stored(world) == [object_key(app["id"], asset["uuid"])]
    assert (await download(ann, asset)).content == FILE


async def test_a_release_that_is_deleted_during_an_upload_leaves_nothing(world, ann, release):
    async def body():
        yield FILE
        await ann.call("DELETE", f"/api/v1/repos/ann/app/releases/{release['id']}")
        yield FILE

    answer = await send_raw(ann, release, body())
    assert answer.status_code == 404, answer.text
    assert (await stored(world), await world.rows("release_asset")) == ([], [])


async def test_an_upload_that_breaks_off_leaves_nothing(world, ann, release):
    head = (
        f"POST {assets_of(release)}?name=a.zip HTTP/1.1\r\nHost: ingot.test\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 3000000\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in ann.headers().items())
        + "\r\n"
    )
    folder = world.folder / "storage" / "files"
    async with serve(world.app) as url:
        port = int(url.rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + b"x" * 2_000_000)
        await writer.drain()
        while not [path for path in folder.rglob("*#*") if path.stat().st_size]:
            await asyncio.sleep(0.01)
        writer.transport.abort()
        while on_disk(world):
            await asyncio.sleep(0.01)
    assert (await stored(world), await world.rows("release_asset")) == ([], [])


async def test_two_uploads_at_once_do_not_mix(world, ann, release):
    contents = {letter: letter.encode() * 2_000_000 for letter in "abc"}
    answers = await asyncio.gather(*(send(ann, release, content, n) for n, content in contents.items()))
    for answer in answers:
        asset = answer.json()
        assert (await download(ann, asset)).content == contents[asset["name"]]


async def test_a_file_that_is_lost_is_an_error_of_ours(world, ann, release):
    asset = await upload(ann, release)
    await world.components.objects.delete(await stored(world))
    answer = await download(ann, asset)
    assert answer.status_code == 500
    assert "administrator" in answer.json()["message"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
class TestOnEachStorage:
    """The same through a folder of its own and through an S3-compatible storage."""

    @pytest.fixture
    def settings(self, objects_at):
        return objects_at

    async def test_a_file_goes_there_and_comes_back(self, world, ann, release):
        content = FILE * 500
        answer = await send(ann, release, content)
        assert answer.status_code == 201, answer.text
        assert (await download(ann, answer.json())).content == content
        assert (await download(ann, answer.json(), Range="bytes=5000000-5000009")).content == content[
            5_000_000:
        ][:10]
        assert not (world.folder / "storage" / "files").exists()
        await ann.call("DELETE", f"/api/v1/repos/ann/app/releases/{release['id']}")
        await world.components.workers.step()
        assert await stored(world) == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
class TestStorageAway:
    @pytest.fixture
    def settings(self):
        return {
            "objects_url": "s3://none/path?endpoint=http://127.0.0.1:1",
            "objects_key_id": "key",
            "objects_secret": "secret",
        }

    async def test_a_storage_that_does_not_answer_is_503(self, ann, release):
        answer = await send(ann, release, b"x")
        assert answer.status_code == 503, answer.text
        assert httpx.codes.is_server_error(answer.status_code)
        assert await list_names(ann, release) == []
