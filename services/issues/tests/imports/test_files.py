"""Files of imported texts: stored like uploads, each once, or left at the source."""

import msgspec
import pytest

from ingot_contracts.repos.events import ImportFetched
from ingot_contracts.repos.imports import ImportedFile, ImportFile, ReadImportFile
from ingot_issues.imports import jobs

from ..builders import APP, repository
from .test_imports import BOB, EARLIER, comment, imported, issue, serve

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 20
LOG = b"line\n" * 9
THERE = "https://there.example.org/attachments/"


@pytest.fixture
def settings(tmp_path):
    return {
        "objects_url": (tmp_path / "files").as_uri(),
        "max_attachment_bytes": 50,
        "max_attachments": 2,
        "attachment_types": [".log", ".png"],
    }


def file(number, name="a.log"):
    uuid = f"00000000-0000-5000-8000-{number:012}"
    return ImportedFile(
        uuid=uuid,
        address=f"{THERE}{number}",
        name=name,
        created_at=EARLIER,
        local_url=f"http://forge/ann/app/attachments/{uuid}",
        original_url=f"{THERE}{number}",
    )


def give(world, **files):
    """Let repos give the files, by their numbers."""
    world.repos.import_files = {
        THERE + name.removeprefix("n"): ImportFile(state="file", content=content)
        if isinstance(content, bytes)
        else content
        for name, content in files.items()
    }


async def rows(world, name):
    async with world.db.read() as db:
        return (await db.execute(world.db.metadata.tables[name].select())).all()


async def assets(world, place="issues/1"):
    return (await world.call("GET", f"/{place}/assets")).json()


async def test_files_of_issues_and_comments_are_attachments(world):
    give(world, n1=LOG, n2=PNG)
    one, two = file(1), file(2, "lamp.png")
    await imported(
        world,
        {"issues": [issue(1, author=BOB, body=f"see {one.local_url}", files=[one])]},
        {"comments": [comment(1, files=[two])]},
    )
    [got] = await assets(world)
    assert (got["uuid"], got["name"], got["size"], got["created_at"]) == (
        one.uuid, "a.log", len(LOG), "2020-01-02T03:04:05Z",
    )  # fmt: skip
    shown = (await world.call("GET", "/issues/1")).json()
    assert (shown["body"], shown["updated_at"]) == (f"see {one.local_url}", "2020-01-05T03:04:05Z")
    [text] = (await world.call("GET", "/issues/comments")).json()
    [picture] = text["assets"]
    assert (picture["name"], picture["uuid"]) == ("lamp.png", two.uuid)
    answer = await world.http.get(f"/ann/app/attachments/{two.uuid}", headers=world.headers(1))
    assert (answer.content, answer.headers["content-type"]) == (PNG, "image/png")
    assert await rows(world, "imported_file") == []


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("a.exe", LOG),
        ("../a.log", LOG),
        ("", LOG),
        ("a\0.log/", LOG),
        ("a.log", b"x" * 51),
        ("a.log", ImportFile(state="absent")),
    ],
)
async def test_a_file_that_uploads_refuse_stays_at_the_source(world, name, answer):
    give(world, n1=answer, n2=LOG)
    refused, taken = file(1, name), file(2)
    body = f"{refused.local_url} {taken.local_url}"
    await imported(
        world,
        {"issues": [issue(1, body=body, files=[refused, taken])]},
        {"comments": [comment(1, body=refused.local_url)]},
    )
    assert [one["uuid"] for one in await assets(world)] == [taken.uuid]
    shown = (await world.call("GET", "/issues/1")).json()
    assert shown["body"] == f"{THERE}1 {taken.local_url}"


@pytest.mark.both_databases
async def test_a_page_may_have_more_files_than_a_statement_has_parameters(world):
    files = [file(number) for number in range(3_400)]
    give(world)
    serve(world, {"issues": [issue(1, files=files[:1]), issue(2, files=files)]}, {"issues": [issue(3)]})
    world.repos.import_files = {one.address: ImportFile(state="wait", seconds=3600) for one in files}
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    assert len(await rows(world, "imported_file")) == len(files)


async def test_addresses_that_no_column_can_store_are_cleaned(world):
    one = msgspec.structs.replace(file(1), address=f"{THERE}\x001", original_url=f"{THERE}\x001")
    give(world, n1=ImportFile(state="absent"))
    await imported(world, {"issues": [issue(1, body=one.local_url, files=[one])]})
    [request] = world.repos.bodies("imported-files", ReadImportFile)
    assert request.address == THERE + "1"
    assert (await world.call("GET", "/issues/1")).json()["body"] == THERE + "1"


async def test_a_text_has_no_more_files_than_uploads_allow(world):
    give(world, n1=LOG, n2=LOG, n3=LOG)
    await imported(world, {"issues": [issue(1, body=file(3).local_url, files=[file(1), file(2), file(3)])]})
    assert len(await assets(world)) == 2
    assert (await world.call("GET", "/issues/1")).json()["body"] == THERE + "3"


async def test_repos_is_asked_for_no_more_bytes_than_an_upload_may_have(world):
    give(world, n1=LOG)
    await imported(world, {"issues": [issue(1, files=[file(1)])]})
    [request] = world.repos.bodies("imported-files", ReadImportFile)
    assert (request.address, request.max_bytes) == (THERE + "1", 50)


async def test_files_above_the_limit_of_an_import_stay_at_the_source(world, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_FILES_BYTES", len(LOG) + 10)
    give(world, n1=LOG, n2=b"x" * 10, n3=b"x", n4=b"x")
    files = [file(number) for number in range(1, 5)]
    await imported(
        world,
        *(
            {"issues": [issue(number, body=one.local_url, files=[one])]}
            for number, one in enumerate(files, 1)
        ),
    )
    bodies = [(await world.call("GET", f"/issues/{number}")).json()["body"] for number in range(1, 5)]
    assert bodies == [files[0].local_url, files[1].local_url, THERE + "3", THERE + "4"]
    limits = [one.max_bytes for one in world.repos.bodies("imported-files", ReadImportFile)]
    assert limits == [50, 10]


async def test_a_pause_of_the_source_goes_on_behind_the_last_file(world):
    give(world, n1=LOG, n2=ImportFile(state="wait", seconds=3600), n3=LOG)
    files = [file(1), file(2)]
    serve(world, {"issues": [issue(1, files=files)]}, {"issues": [issue(2, files=[file(3)])]})
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    assert len(await assets(world)) == 1
    give(world, n1=LOG, n2=LOG, n3=LOG)
    table = world.db.metadata.tables["job"]
    async with world.db.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    await world.work()
    assert [one["uuid"] for one in await assets(world)] == [one.uuid for one in files]
    assert len(await assets(world, "issues/2")) == 1
    addresses = [one.address for one in world.repos.bodies("imported-files", ReadImportFile)]
    assert addresses.count(THERE + "1") == 1


async def test_an_ended_import_asks_for_no_page(world):
    give(world, n1=ImportFile(state="ended"))
    await imported(world, {"issues": [issue(1, files=[file(1)])]}, {"issues": [issue(2)]})
    assert len((await world.call("GET", "/issues")).json()) == 1


async def test_a_file_whose_worker_died_after_storing_it_is_there_once(world):
    give(world, n1=LOG)
    await imported(world, {"issues": [issue(1, files=[file(1)])]})
    [row] = await rows(world, "attachment")
    async with world.db.transaction() as tx:
        values = {
            "repository_id": APP, "uuid": row.uuid, "issue_id": row.issue_id, "uploader_id": 2,
            "address": THERE + "1", "name": "a.log", "local_url": "x", "original_url": "y",
            "created_at": EARLIER,
        }  # fmt: skip
        await tx.execute(world.db.metadata.tables["imported_file"].insert().values(values))
    await world.deliver(ImportFetched(repository=repository()))
    await world.work()
    assert len(await assets(world)) == 1
    assert await rows(world, "imported_file") == []
    assert len(world.repos.bodies("imported-files", ReadImportFile)) == 1


class TestWithoutStorage:
    @pytest.fixture
    def settings(self):
        return {}

    async def test_links_lead_to_the_source(self, world):
        await imported(world, {"issues": [issue(1, body=file(1).local_url, files=[file(1)])]})
        assert (await world.call("GET", "/issues/1")).json()["body"] == THERE + "1"
        assert world.repos.bodies("imported-files", ReadImportFile) == []
