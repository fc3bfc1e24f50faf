"""Files in texts of a source: their addresses, and their bytes within the rules for addresses."""

import pytest

from ingot_contracts.repos.imports import ImportedComment, ImportedFile, ImportedPerson
from ingot_remotes.interface.addresses import Address
from ingot_remotes.interface.files import gitea_files, github_files, gitlab_files
from ingot_repos.imports.rules.files import MOST_FILES, TextFiles
from ingot_repos.imports.rules.pages import MOST_FAILURES, MOST_FILE_FAILURES

from ..remote_world import status
from .test_sources import (  # noqa: F401 - fixtures
    COMMENTS,
    ISSUES,
    PULLS,
    TIMES,
    answer_of,
    migrate,
    progress,
    read_all,
    settings,
    source,
)

UUID, OTHER = "f1e2d3c4-0000-4000-8000-00000000000a", "f1e2d3c4-0000-4000-8000-00000000000b"
HEX = "0123456789abcdef" * 2
GITEA = Address("https://git.example.org/sub", "ann", "app")
GITHUB = Address("https://github.com", "ann", "app")
GITLAB = Address("https://gitlab.example.org", "group/sub", "app")
HERE = "http://here/ann/copy"


def localized(body, links, *files):
    moment = "2020-01-02T03:04:05Z"
    text = ImportedComment(
        source_id=9, number=1, author=ImportedPerson(), body=body, created_at=moment, updated_at=moment,
        files=[*files],
    )  # fmt: skip
    return TextFiles(7, HERE, links).localize(text)


def asset(uuid=UUID, name="a.png"):
    address = f"https://git.example.org/sub/attachments/{uuid}"
    return ImportedFile(uuid=uuid, address=address, name=name, created_at="2020-01-02T03:04:05Z")


@pytest.mark.parametrize(
    "link",
    [
        f"/attachments/{UUID}",
        f"/ann/app/attachments/{UUID}",
        f"https://git.example.org/sub/attachments/{UUID.upper()}",
        f"https://git.example.org/sub/ann/app/attachments/{UUID}",
    ],
)
def test_links_to_attachments_of_gitea_lead_here(link):
    got = localized(f"![lamp]({link}) `{link}`", gitea_files(GITEA), asset())
    [file] = got.files
    assert got.body == f"![lamp]({file.local_url}) `{link}`"
    assert file.local_url == f"{HERE}/attachments/{file.uuid}"
    assert file.uuid != UUID
    assert file.original_url == file.address == asset().address


@pytest.mark.parametrize(
    "link",
    [
        f"/attachments/{OTHER}",
        f"https://other.example.org/attachments/{UUID}",
        f"/eve/app/attachments/{UUID}",
        f"/attachments/{UUID}-1",
    ],
)
def test_other_links_of_gitea_stay(link):
    assert localized(f"({link})", gitea_files(GITEA), asset()).body == f"({link})"


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (f"https://github.com/user-attachments/assets/{UUID}", UUID),
        ("https://github.com/user-attachments/files/12/build%20log.txt", "build log.txt"),
        (f"https://github.com/ann/app/assets/12/{UUID}", UUID),
        ("https://github.com/ann/app/files/12/trace.zip", "trace.zip"),
        (f"https://user-images.githubusercontent.com/12/34-{UUID}.png", f"34-{UUID}.png"),
    ],
)
def test_uploads_to_github_are_files(link, name):
    got = localized(f'<img src="{link}"> {link}', github_files(GITHUB))
    [file] = got.files
    assert (file.address, file.name, file.original_url) == (link, name, link)
    assert got.body == f'<img src="{file.local_url}"> {file.local_url}'


@pytest.mark.parametrize(
    "link",
    [
        "https://github.com/eve/app/files/12/trace.zip",
        "https://github.com/user-attachments/assets/12",
        "https://user-images.githubusercontent.com.evil.example/12/a.png",
        "https://evil.example/https/github.com/user-attachments/files/1/a",
    ],
)
def test_other_links_of_github_stay(link):
    got = localized(link, github_files(GITHUB))
    assert (got.body, got.files) == (link, [])


@pytest.mark.parametrize(
    "prefix", ["", "https://gitlab.example.org/group/sub/app", "https://gitlab.example.org/-/project/12"]
)
def test_uploads_to_gitlab_are_read_from_its_api(prefix):
    got = localized(f"![lamp]({prefix}/uploads/{HEX}/a%20b.png)", gitlab_files(GITLAB))
    [file] = got.files
    api = "https://gitlab.example.org/api/v4/projects/group%2Fsub%2Fapp/uploads"
    assert (file.address, file.name) == (f"{api}/{HEX}/a%20b.png", "a b.png")
    assert file.original_url == f"https://gitlab.example.org/group/sub/app/uploads/{HEX}/a%20b.png"
    assert got.body == f"![lamp]({file.local_url})"


@pytest.mark.parametrize("name", ["..", "%2e%2e", ".", "..%2F..%2F..%2Fuser", "a%2fb"])
def test_an_upload_to_gitlab_leads_to_no_other_place_of_its_api(name):
    body = f"![lamp](/uploads/{HEX}/{name})"
    got = localized(body, gitlab_files(GITLAB))
    assert (got.body, got.files) == (body, [])


def test_a_text_has_a_bounded_number_of_files():
    links = [f"https://github.com/user-attachments/files/{number}/a.txt" for number in range(MOST_FILES + 5)]
    got = localized(" ".join(links), github_files(GITHUB))
    assert len(got.files) == MOST_FILES
    assert got.body.split()[MOST_FILES:] == links[MOST_FILES:]


def test_a_hostile_text_takes_no_long_time():
    body = "/attachments/" * 20_000 + "https://github.com/user-attachments/files/1" * 5_000
    assert localized(body, gitea_files(GITEA)).body == body
    assert localized(body, github_files(GITHUB)).body == body


def test_two_texts_with_one_file_have_one_each():
    link = "https://github.com/user-attachments/files/1/a.txt"
    files = TextFiles(7, HERE, github_files(GITHUB))
    texts = [localized(link, github_files(GITHUB))]
    texts.append(files.localize(ImportedComment(
        source_id=10, number=1, author=ImportedPerson(), body=link, created_at=TIMES["created_at"],
        updated_at=TIMES["created_at"],
    )))  # fmt: skip
    assert texts[0].files[0].uuid != texts[1].files[0].uuid


def with_assets(source, **answers):  # noqa: F811
    """Give an issue, a comment and a pull request one attachment each."""

    def one(name):
        return {
            "name": name, "uuid": UUID, "browser_download_url": source.url(f"files/{name}"),
            "created_at": TIMES["created_at"], "size": 3,
        }  # fmt: skip

    source.lists |= {
        "issues": [{**ISSUES[0], "body": f"/attachments/{UUID}", "assets": [one("issue.txt")]}],
        "issues/comments": [{**COMMENTS[0], "assets": [one("comment.txt")]}],
        "pulls": PULLS[:1],
    }
    before = source.answer

    async def answer(method, target, headers, writer):
        if target.endswith("/issues/11/assets"):
            return answer_of([one("pull.txt")])
        if target.startswith("/files/"):
            return answers.get(target.removeprefix("/files/"), answer_of(b"abc"))
        return await before(method, target, headers, writer)

    source.answer = answer


async def file_at(person, repository_id, address, max_bytes=10):
    body = {"address": address, "max_bytes": max_bytes}
    path = f"/internal/imports/{repository_id}/imported-files"
    got = await person.call("POST", path, body, peer="issues")
    assert got.status_code == 200, got.text
    return got.json()


async def test_attachments_of_a_gitea_come_with_their_texts(world, bob, source):  # noqa: F811
    with_assets(source)
    objects = await read_all(bob, await migrate(world, bob, source, pull_requests=True), with_files=True)
    [issue], [pull] = objects["issues"], objects["pulls"]
    [file] = issue["files"]
    assert (issue["body"], file["name"]) == (file["local_url"], "issue.txt")
    assert [one["name"] for one in pull["files"]] == ["pull.txt"]
    assert [one["name"] for text in objects["comments"] for one in text["files"]] == ["comment.txt"]


async def test_links_stay_for_an_issues_service_that_does_not_fetch_files(world, bob, source):  # noqa: F811
    with_assets(source)
    [issue] = (await read_all(bob, await migrate(world, bob, source)))["issues"]
    assert (issue["body"], issue.get("files", [])) == (source.url("files/issue.txt"), [])


async def test_a_file_comes_while_the_import_runs(world, bob, source):  # noqa: F811
    with_assets(source)
    repository_id = await migrate(world, bob, source)
    address = source.url("files/issue.txt")
    assert await file_at(bob, repository_id, address) == {"state": "file", "seconds": 0, "content": "YWJj"}
    assert (await file_at(bob, repository_id, address, 2))["state"] == "absent"
    await read_all(bob, repository_id)
    assert (await file_at(bob, repository_id, address))["state"] == "ended"


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        (status("404 Not Found"), "absent"),
        (status("403 Forbidden"), "absent"),
        (status("302 Found", "Location: http://10.0.0.1/a"), "absent"),
        (status("302 Found", "Location: file:///etc/passwd"), "absent"),
        (status("500 Internal Server Error"), "wait"),
        (status("429 Too Many Requests", "Retry-After: 7"), "wait"),
        (b"", "wait"),
    ],
)
async def test_what_a_source_answers_in_place_of_a_file(world, bob, source, raw, state):  # noqa: F811
    with_assets(source, **{"issue.txt": raw})
    repository_id = await migrate(world, bob, source)
    assert (await file_at(bob, repository_id, source.url("files/issue.txt")))["state"] == state
    assert (await progress(bob))["status"] == "running"


async def test_a_file_that_never_comes_does_not_end_the_import(world, bob, source):  # noqa: F811
    with_assets(source, **{"issue.txt": status("500 Internal Server Error")})
    repository_id = await migrate(world, bob, source)
    broken, good = source.url("files/issue.txt"), source.url("files/pull.txt")
    states = [(await file_at(bob, repository_id, broken))["state"] for _ in range(MOST_FILE_FAILURES)]
    assert states == ["wait"] * (MOST_FILE_FAILURES - 1) + ["absent"]
    for _ in range(MOST_FAILURES):
        await file_at(bob, repository_id, broken)
    assert (await file_at(bob, repository_id, good))["state"] == "file"
    await read_all(bob, repository_id)
    assert (await progress(bob))["status"] == "done"


@pytest.mark.parametrize("address", ["http://10.0.0.1/a", "file:///etc/passwd", "x", ""])
async def test_an_address_that_egress_forbids_is_not_asked(world, bob, source, address):  # noqa: F811
    repository_id = await migrate(world, bob, source)
    assert (await file_at(bob, repository_id, address))["state"] == "absent"
