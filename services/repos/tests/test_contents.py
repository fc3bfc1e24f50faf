"""Branches, raw files and archives."""

import io
import tarfile
import zipfile

import pytest
from repos_world import commit, git, work_tree

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


@pytest.fixture
async def pushed(world, ann, door, tmp_path):
    """ann/app with a branch that has a slash, a tag and some files; gives the id of the last commit."""
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "page.html", "<script>alert(1)</script>")
    await commit(work, "dir/a b.txt", "in a folder")
    (work / "binary").write_bytes(b"\0\1\2")
    await commit(work, "large.txt", "x" * 2_000_000)
    await git("tag", "v1", cwd=work)
    await git("branch", "feature/one", cwd=work)
    sha = await commit(work, "later.txt", "later")
    await git("push", "-q", f"{door}/ann/app.git", "--all", cwd=work, person=ann)
    await git("push", "-q", f"{door}/ann/app.git", "--tags", cwd=work, person=ann)
    return sha


async def test_branches_are_listed_by_name_with_their_commits(ann, pushed):
    answer = await ann.get("/repos/ann/app/branches")
    assert [branch["name"] for branch in answer.json()] == ["feature/one", "master"]
    assert answer.json()[1]["commit"]["id"] == pushed
    assert answer.headers["x-total-count"] == "2"
    one = (await ann.get("/repos/ann/app/branches/feature/one")).json()
    assert one["name"] == "feature/one"
    assert one["commit"]["verification"]["verified"] is False
    assert (await ann.get("/repos/ann/app/branches/feature")).status_code == 404
    assert (await ann.get("/repos/ann/app/branches/feature/one/more")).status_code == 404


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("later.txt", "later"),
        ("master/later.txt", "later"),
        ("feature/one/dir/a%20b.txt", "in a folder"),
        ("v1/dir/a%20b.txt", "in a folder"),
        ("dir/a%20b.txt", "in a folder"),
    ],
)
async def test_a_raw_path_is_split_into_ref_and_file(ann, pushed, path, text):
    assert (await ann.get(f"/repos/ann/app/raw/{path}")).text == text
    assert (await ann.get(f"/repos/ann/app/raw/{pushed}/later.txt")).text == "later"


@pytest.mark.parametrize(
    "path",
    [
        "v1/later.txt",
        "dir",
        "none.txt",
        "..%2f..%2fetc/passwd",
        "%00",
        "-x",
        "a" * 3000,
        "0" * 40 + "/x",
        "%ff",
    ],
)
async def test_a_file_that_is_not_there_is_not_found(ann, pushed, path):
    assert (await ann.get(f"/repos/ann/app/raw/{path}")).status_code == 404


async def test_raw_files_are_inert_and_revalidate(ann, pushed):
    page = await ann.get("/repos/ann/app/raw/page.html")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in page.headers["content-security-policy"]
    again = await ann.get("/repos/ann/app/raw/page.html", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    binary = await ann.get("/repos/ann/app/raw/binary")
    assert binary.headers["content-type"] == "application/octet-stream"
    assert binary.headers["content-disposition"].startswith("attachment")


async def test_a_large_file_is_streamed_whole(ann, pushed):
    answer = await ann.get("/repos/ann/app/raw/large.txt")
    assert len(answer.content) == 2_000_000


async def test_archives_hold_one_folder(ann, pushed):
    packed = await ann.get("/repos/ann/app/archive/feature/one.zip")
    assert "app/dir/a b.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert 'filename="app-feature-one.zip"' in packed.headers["content-disposition"]
    packed = await ann.get(f"/repos/ann/app/archive/{pushed[:10]}.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as files:
        assert "app/later.txt" in files.getnames()
    for wrong in ("master.rar", "nothing.zip", ".zip"):
        assert (await ann.get(f"/repos/ann/app/archive/{wrong}")).status_code == 404


async def test_a_commit_outside_the_history_is_not_shown(world, ann, door, tmp_path, pushed):
    work = tmp_path / "work"
    await git("checkout", "-q", "-b", "gone", cwd=work)
    secret = await commit(work, "secret.txt", "secret")
    await git("push", "-q", f"{door}/ann/app.git", "gone", cwd=work, person=ann)
    assert (await ann.get(f"/repos/ann/app/raw/{secret}/secret.txt")).text == "secret"
    await git("push", "-q", f"{door}/ann/app.git", ":gone", cwd=work, person=ann)
    assert (await ann.get(f"/repos/ann/app/raw/{secret}/secret.txt")).status_code == 404
    assert (await ann.get(f"/repos/ann/app/archive/{secret}.zip")).status_code == 404
