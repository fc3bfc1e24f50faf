"""Files of issues and comments: upload, download, who may, and what is left."""

import asyncio
import hashlib
from datetime import timedelta

import pytest
from sqlalchemy import update

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.http.parts import PARTS
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.objects.files import StoredFiles
from ingot_issues.attachments.components import AttachmentComponents
from ingot_issues.attachments.rules import OBJECTS, image_type
from ingot_issues.attachments.store import existing_uuids
from ingot_issues.comments import store as comments
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.tables import comment as comment_table
from ingot_issues.records.store.tables import issue as issue_table
from ingot_testing.service import wait_until_blocked

from ..builders import repository

FILE = b"the bytes of a file\n" * 1000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
ROOT = "http://127.0.0.1:3000"


@pytest.fixture
async def issue(world):
    """Of Cat, who may only read."""
    return await world.open_issue(as_=3)


@pytest.fixture
async def comment(world, issue):
    """Of Cat as well."""
    return await world.create(f"/issues/{issue['number']}/comments", {"body": "see"}, as_=3)


def below(thing):
    """The path of the files of an issue or a comment."""
    return (
        f"/issues/{thing['number']}/assets" if "number" in thing else f"/issues/comments/{thing['id']}/assets"
    )


async def send(world, thing, content=FILE, name="a.log", *, as_=3, **options):
    files = {"attachment": (name, content)}
    url = f"/api/v1/repos/ann/app{below(thing)}"
    world.forget_grants()
    return await world.http.post(url, files=files, headers=world.headers(as_), **options)


async def upload(world, thing, content=FILE, name="a.log", **options):
    answer = await send(world, thing, content, name, **options)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def download(world, attachment, *, as_=3, **headers):
    world.forget_grants()
    url = attachment["browser_download_url"].removeprefix(ROOT)
    return await world.http.get(url, headers=world.headers(as_) | headers)


def files_of(world):
    return StoredFiles(
        world.db, world.app.state[PARTS][AttachmentComponents].editor.objects, OBJECTS, existing_uuids
    )


async def stored(world):
    objects = world.app.state[PARTS][AttachmentComponents].editor.objects
    return [one.key async for page in objects.list(OBJECTS) for one in page]


@pytest.mark.parametrize("kind", ["issue", "comment"])
async def test_what_was_uploaded_is_shown_and_downloaded(world, issue, comment, kind):
    thing = {"issue": issue, "comment": comment}[kind]
    attachment = await upload(world, thing)
    assert (attachment["name"], attachment["size"], attachment["download_count"]) == ("a.log", len(FILE), 0)
    assert attachment["digest"] == f"sha256:{hashlib.sha256(FILE).hexdigest()}"
    assert attachment["browser_download_url"] == f"{ROOT}/ann/app/attachments/{attachment['uuid']}"
    for downloads, person in enumerate((0, 1, 2, 3)):
        answer = await download(world, attachment, as_=person)
        assert (answer.status_code, answer.content) == (200, FILE)
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        shown = attachment | {"download_count": downloads + 1}
        assert (await world.call("GET", below(thing), as_=person)).json() == [shown]
        one = await world.call("GET", f"{below(thing)}/{attachment['id']}", as_=person)
        assert one.json() == shown
    assert (await download(world, attachment, Range="bytes=4-8")).content == FILE[4:9]
    etag = answer.headers["etag"]
    assert (await download(world, attachment, **{"If-None-Match": etag})).status_code == 304


async def test_every_answer_of_an_issue_or_comment_has_its_files(world, issue, comment):
    of_issue, of_comment = await upload(world, issue), await upload(world, comment)
    second = await upload(world, comment, b"x", 'quo"te.log')
    number = issue["number"]
    assert (await world.call("GET", f"/issues/{number}")).json()["assets"] == [of_issue]
    assert (await world.call("GET", "/issues")).json()[0]["assets"] == [of_issue]
    assert (await world.call("GET", "//repos/issues/search")).json()[0]["assets"] == [of_issue]
    edited = await world.call("PATCH", f"/issues/{number}", {"title": "new"}, as_=3)
    assert edited.json()["assets"] == [of_issue]
    one = f"/issues/comments/{comment['id']}"
    for path in (f"/issues/{number}/comments", "/issues/comments"):
        listed = [row for row in (await world.call("GET", path)).json() if row["id"] == comment["id"]]
        assert listed[0]["assets"] == [of_comment, second], path
    assert (await world.call("GET", one)).json()["assets"] == [of_comment, second]
    edited = await world.call("PATCH", one, {"body": "new"}, as_=3)
    assert edited.json()["assets"] == [of_comment, second]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "application/octet-stream"),
        (b"<html><script>1</script>", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
async def test_images_are_shown_and_nothing_else(world, issue, content, kind):
    assert image_type(content) == kind
    answer = await download(world, await upload(world, issue, content, "image.png"))
    assert answer.headers["content-type"] == kind
    shown = "attachment" if kind == "application/octet-stream" else "inline"
    assert answer.headers["content-disposition"].startswith(shown)


@pytest.mark.parametrize("kind", ["issue", "comment"])
async def test_a_file_is_renamed_and_deleted(world, issue, comment, kind):
    thing = {"issue": issue, "comment": comment}[kind]
    attachment = await upload(world, thing)
    url = f"{below(thing)}/{attachment['id']}"
    renamed = await world.call("PATCH", url, {"name": "b.log"}, as_=3)
    assert (renamed.status_code, renamed.json()) == (201, attachment | {"name": "b.log"})
    assert (await world.call("PATCH", url, {"name": ""}, as_=3)).json()["name"] == "b.log"
    assert (await world.call("DELETE", url, as_=3)).status_code == 204
    assert (await world.call("DELETE", url, as_=3)).status_code == 404
    assert (await download(world, attachment)).status_code == 404
    await Workers("issues", world.components.jobs, files_of(world).work()).step()
    assert await stored(world) == []


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "a\\b", "x" * 300, "ü" * 128, "a\nb", " a"])
async def test_a_wrong_name_is_refused(world, issue, name):
    attachment = await upload(world, issue)
    answer = await send(world, issue, b"x", params={"name": name})
    renamed = await world.call("PATCH", f"{below(issue)}/{attachment['id']}", {"name": name}, as_=3)
    for refusal in (answer, renamed):
        assert (refusal.status_code, refusal.json()["errors"][0]["field"]) == (422, "name"), refusal.text
    assert len(await stored(world)) == 1


async def test_an_issue_and_its_comments_have_files_of_their_own(world, issue, comment):
    attachment = await upload(world, comment)
    other = await world.open_issue(as_=3)
    for thing in (issue, other):
        assert (await world.call("GET", below(thing))).json() == []
        for method in ("GET", "PATCH", "DELETE"):
            answer = await world.call(method, f"{below(thing)}/{attachment['id']}", {"name": "x"})
            assert answer.status_code == 404


async def test_who_may_not_see_the_repository_sees_no_file(world, issue):
    attachment = await upload(world, issue)
    world.repos.repositories[7] = repository(private=True)
    assert [(await download(world, attachment, as_=person)).status_code for person in (0, 3, 2)] == [
        404,
        404,
        200,
    ]
    for unit, status in (("has_issues", 404), ("has_pull_requests", 200)):
        world.repos.repositories[7] = repository(**{unit: False})
        assert (await download(world, attachment, as_=1)).status_code == status


async def test_files_of_a_pull_request_follow_its_unit(world):
    pull = await world.propose()
    attachment = await upload(world, pull, as_=2)
    assert (await download(world, attachment, as_=0)).content == FILE
    world.repos.repositories[7] = repository(has_pull_requests=False)
    assert (await download(world, attachment, as_=1)).status_code == 404
    assert (await world.call("GET", below(pull))).status_code == 404


async def test_in_a_locked_conversation_only_writers_add_files(world, issue, comment):
    assert (await world.call("PUT", f"/issues/{issue['number']}/lock", {})).status_code == 204
    assert [(await send(world, thing)).status_code for thing in (issue, comment)] == [403, 403]
    assert (await send(world, issue, as_=2)).status_code == 201
    assert [(await send(world, thing, as_=1)).status_code for thing in (issue, comment)] == [201, 201]


async def test_who_is_blocked_adds_and_renames_no_files(world):
    issue = await world.open_issue()
    things = [issue, await world.create(f"/issues/{issue['number']}/comments", {"body": "see"})]
    async with world.db.transaction() as tx:  # of Cat, without asking about blocks before there is one
        for table in (issue_table, comment_table):
            await tx.execute(update(table).values(author_id=3))
    world.identity.blocks.add((1, 3))
    for thing in things:
        refused = await send(world, thing)
        assert (refused.status_code, "has blocked you" in refused.text) == (403, True)
        file = await upload(world, thing, as_=1)
        renamed = await world.call("PATCH", f"{below(thing)}/{file['id']}", {"name": "b.log"}, as_=3)
        assert renamed.status_code == 403


async def test_files_that_went_with_their_comment_are_swept(world, issue, comment):
    gone, other = await upload(world, comment), await upload(world, issue)
    assert (await world.call("DELETE", f"/issues/comments/{comment['id']}")).status_code == 204
    assert (await download(world, gone)).status_code == 404
    await files_of(world).sweep()
    assert len(await stored(world)) == 2
    await files_of(world).sweep(older_than=timedelta(seconds=-60))
    (left,) = await stored(world)
    assert left.endswith(other["uuid"])


async def test_a_comment_that_is_deleted_during_an_upload_leaves_nothing(world, comment):
    async def body():
        yield FILE
        await world.call("DELETE", f"/issues/comments/{comment['id']}")
        yield FILE

    url = f"/api/v1/repos/ann/app{below(comment)}"
    answer = await world.http.post(url, params={"name": "a"}, headers=world.headers(3), content=body())
    assert answer.status_code == 404, answer.text
    assert await stored(world) == []


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_an_upload_lets_who_deletes_the_comment_go_first(world, comment):
    """Both then need the issue: were it taken first by the upload, each would wait for the other."""
    async with world.db.transaction() as tx:
        assert await comments.remove(tx, comment["id"])
        sent = asyncio.create_task(send(world, comment))
        await wait_until_blocked(tx, sent)
        assert await issue_rows.count_comments(tx, 1, -1)
    assert (await sent).status_code == 404


class TestLimits:
    @pytest.fixture
    def settings(self, tmp_path):
        return {
            "objects_url": (tmp_path / "files").as_uri(),
            "max_attachment_bytes": 100,
            "max_attachments": 2,
            "attachment_types": [".log"],
        }

    async def test_they_hold_for_each_issue_and_each_comment(self, world, issue, comment):
        assert (await send(world, issue, b"x" * 101)).status_code == 413
        assert (await send(world, issue, b"x", "a.exe")).status_code == 422
        answers = await asyncio.gather(*(send(world, issue, b"x" * 100) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [201, 201, 422, 422]
        assert (await send(world, comment, b"x")).status_code == 201
        assert len(await stored(world)) == 3


class TestWithoutStorage:
    @pytest.fixture
    def settings(self):
        return {}

    async def test_nothing_has_files(self, world, issue, comment):
        for thing in (issue, comment):
            assert (await send(world, thing)).status_code == 404
            assert (await world.call("GET", below(thing))).status_code == 404


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/repos/{owner}/{repo}/issues/{index}/assets", {"multipart/form-data", "application/octet-stream"}),
        (
            "/repos/{owner}/{repo}/issues/comments/{comment_id}/assets",
            {"multipart/form-data", "application/octet-stream"},
        ),
        ("/markdown/raw", {"text/plain"}),
    ],
)
async def test_the_description_names_bodies_that_are_read_as_they_are(world, path, types):
    body = openapi_description(world.app)["paths"][f"/api/v1{path}"]["post"]["requestBody"]
    assert (body["required"], set(body["content"])) == (True, types)
