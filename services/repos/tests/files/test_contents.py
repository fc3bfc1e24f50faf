"""Branches, raw files and archives."""

import io
import os
import tarfile
import zipfile

import pytest

from ingot_testing.service import count_statements, serve

from ..world import World, commit, git, work_tree

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)

LARGE = b"".join(b"%07d\n" % n for n in range(250_000))


async def some_files(world, folder):
    """ann/app with a branch that has a slash, a tag and some files; gives the id of the last commit."""
    ann = world.user(1, "ann", full_name="Ann")
    await ann.create("app")
    work = await work_tree(folder)
    await commit(work, "page.html", "<script>alert(1)</script>")
    await commit(work, "dir/a b.txt", "in a folder")
    (work / "binary").write_bytes(b"\0\1\2")
    (work / "photo").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (work / "drawing.svg").write_text("<svg><script>alert(1)</script></svg>")
    (work / "empty").write_bytes(b"")
    (work / "large.bin").write_bytes(b"\0" + LARGE)
    (work / 'odd, "näme".txt').write_text("odd")
    (work / "link").symlink_to("/etc/passwd")
    await commit(work, "large.txt", LARGE.decode())
    await git("tag", "v1", cwd=work)
    await git("tag", "-a", "-m", "annotated", "v2", cwd=work)
    await git("branch", "feature/one", cwd=work)
    sha = await commit(work, "later.txt", "later")
    async with serve(world.app) as url:
        for refs in ("--all", "--tags"):
            await git("push", "-q", f"{url}/ann/app.git", refs, cwd=work, person=ann)
    return sha


@pytest.fixture
def arrangement(request):
    return some_files if "first_tip" in request.fixturenames else None


@pytest.fixture
async def first_tip(world, ann):
    """The id of the last commit of `some_files`."""
    return world.arranged


def raw(person, path, **headers):
    return person.get(
        f"/repos/ann/app/raw/{path}", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


async def test_branches_are_listed_by_name_with_their_commits(ann, first_tip):
    answer = await ann.get("/repos/ann/app/branches")
    assert [branch["name"] for branch in answer.json()] == ["feature/one", "master"]
    tip = answer.json()[1]["commit"]
    assert tip["id"] == first_tip
    assert tip["author"] == {"name": "Ann", "email": "ann@example.org", "username": "ann"}
    assert answer.headers["x-total-count"] == "2"
    one = (await ann.get("/repos/ann/app/branches/feature/one")).json()
    assert one["name"] == "feature/one"
    assert one["commit"]["verification"]["verified"] is False
    assert (await ann.get("/repos/ann/app/branches/feature")).status_code == 404
    assert (await ann.get("/repos/ann/app/branches/feature/one/more")).status_code == 404
    assert (await ann.get("/repos/ann/app/branches/v1")).status_code == 404


@pytest.mark.parametrize("count", [10, 1000])
async def test_a_page_of_branches_is_a_fixed_number_of_statements_and_starts_no_git(
    world, ann, git_log, count
):
    created = await ann.create("app", auto_init=True)
    sha = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]["id"]
    lines = "".join(f"{sha} refs/heads/b{n:04}\n" for n in range(count - 1))
    path = world.components.storage.path(created["id"])
    (path / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted\n{lines}")
    git_log.clear()
    with count_statements(world.database) as statements:
        answer = await ann.get("/repos/ann/app/branches?limit=50")
    assert answer.headers["x-total-count"] == str(count)
    assert len(answer.json()) == min(count, 50)
    assert len(statements) == 2  # the repository; its rules with the accounts of the authors
    assert list(git_log) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("later.txt", "later"),
        ("master/later.txt", "later"),
        ("feature/one/dir/a%20b.txt", "in a folder"),
        ("refs/heads/feature/one/dir/a%20b.txt", "in a folder"),
        ("refs/tags/v2/dir/a%20b.txt", "in a folder"),
        ("feature%2Fone/dir%2Fa%20b.txt", "in a folder"),
        ("v1/dir/a%20b.txt", "in a folder"),
        ("v2/dir/a%20b.txt", "in a folder"),
        ("dir/a%20b.txt", "in a folder"),
        ("link", "/etc/passwd"),
        ("empty", ""),
    ],
)
async def test_a_raw_path_is_split_into_ref_and_file(ann, first_tip, path, text):
    assert (await raw(ann, path)).text == text
    assert (await raw(ann, f"{first_tip}/later.txt")).text == "later"


async def test_a_branch_comes_before_a_tag_and_a_shorter_name_before_a_longer_one(
    ann, first_tip, git_url, tmp_path
):
    """The branch `v1` hides the tag; below the tag `deep` the branch of a longer name is what counts."""
    work = tmp_path / "work"
    await git("checkout", "-q", "-b", "v1", cwd=work)
    await commit(work, "dir/a b.txt", "of the branch")
    await git("tag", "deep", "master", cwd=work)
    await git("branch", "deep/er", "refs/heads/v1", cwd=work)
    await git("push", "-q", f"{git_url}/ann/app.git", "refs/heads/v1:refs/heads/v1", "refs/heads/deep/er",
              "refs/tags/deep",
              cwd=work, person=ann)  # fmt: skip
    assert (await raw(ann, "v1/dir/a%20b.txt")).text == "of the branch"
    assert (await raw(ann, "deep/er/dir/a%20b.txt")).text == "of the branch"
    assert (await raw(ann, "deep/dir/a%20b.txt")).text == "in a folder"
    for name, text in (("v1", b"of the branch"), ("refs/tags/v1", b"in a folder")):
        packed = await ann.get(f"/repos/ann/app/archive/{name}.zip")
        assert zipfile.ZipFile(io.BytesIO(packed.content)).read("app/dir/a b.txt") == text


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
        "master",
        "link/passwd",
    ],
)
async def test_a_file_that_is_not_there_is_not_found(ann, first_tip, path):
    assert (await raw(ann, path)).status_code == 404


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        ("page.html", "text/plain; charset=utf-8", "inline"),
        ("large.txt", "text/plain; charset=utf-8", "inline"),
        ("photo", "image/png", "inline"),
        ("photo?render=true", "text/plain; charset=utf-8", "inline"),
        ("drawing.svg", "image/svg+xml", "inline"),
        ("binary", "application/octet-stream", "attachment"),
        ("large.bin", "application/octet-stream", "attachment"),
    ],
)
async def test_raw_files_are_inert(ann, first_tip, path, kind, shown):
    answer = await raw(ann, path)
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"].startswith(f"{shown};")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "allow-" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"].startswith("public")


async def test_a_private_file_is_not_for_shared_caches(ann, first_tip):
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await raw(ann, "page.html")).headers["cache-control"].startswith("private")


async def test_the_name_of_a_file_stays_a_name(ann, first_tip):
    answer = await raw(ann, "odd%2C%20%22n%C3%A4me%22.txt")
    shown = "inline; filename=\"odd_ _n_me_.txt\"; filename*=UTF-8''odd%2C%20%22n%C3%A4me%22.txt"
    assert answer.headers["content-disposition"] == shown


async def test_a_file_that_one_has_is_not_sent_again(ann, first_tip):
    etag = (await raw(ann, "page.html")).headers["etag"]
    assert etag == f'"{(await raw(ann, "v1/page.html")).headers["etag"][1:-1]}"'
    for validator in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await raw(ann, "page.html", if_none_match=validator)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert (await raw(ann, "page.html", if_none_match='"other"')).status_code == 200


@pytest.mark.parametrize("path", ["large.txt", "v1/large.txt"])
@pytest.mark.parametrize(
    ("byte_range", "part"),
    [
        ("bytes=0-9", range(10)),
        ("bytes=1999990-", range(1_999_990, 2_000_000)),
        ("bytes=-5", range(1_999_995, 2_000_000)),
        ("bytes=-9999999999", range(2_000_000)),
        ("bytes=5-99999999999", range(5, 2_000_000)),
        ("bytes=262140-262150", range(262_140, 262_151)),
        ("bytes=700000-1300000", range(700_000, 1_300_001)),
    ],
)
async def test_a_part_of_a_file(ann, first_tip, path, byte_range, part):
    answer = await raw(ann, path, range=byte_range)
    assert answer.status_code == 206
    assert answer.headers["content-range"] == f"bytes {part.start}-{part.stop - 1}/2000000"
    assert answer.headers["content-length"] == str(len(part))
    assert answer.content == LARGE[part.start : part.stop]


async def test_a_part_of_a_small_file(ann, first_tip):
    answer = await raw(ann, "dir/a%20b.txt", range="bytes=3-3")
    assert (answer.status_code, answer.content) == (206, b"a")
    etag = answer.headers["etag"]
    assert (await raw(ann, "dir/a%20b.txt", range="bytes=3-3", if_range=etag)).status_code == 206
    assert (await raw(ann, "dir/a%20b.txt", range="bytes=3-3", if_range='"old"')).status_code == 200


@pytest.mark.parametrize(
    ("path", "byte_range"), [("later.txt", "bytes=5-"), ("later.txt", "bytes=-0"), ("empty", "bytes=0-")]
)
async def test_a_part_that_is_not_there(ann, first_tip, path, byte_range):
    answer = await raw(ann, path, range=byte_range)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{0 if path == 'empty' else 5}"


@pytest.mark.parametrize(
    "byte_range", ["bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=4-2", "lines=1-2", "bytes=x-", "bytes=٣-"]
)
async def test_what_is_no_single_range_gets_the_whole(ann, first_tip, byte_range):
    answer = await raw(ann, "later.txt", range=byte_range.encode())
    assert (answer.status_code, answer.text) == (200, "later")


async def test_a_large_file_is_streamed_whole(ann, first_tip):
    answer = await raw(ann, "large.txt")
    assert answer.content == LARGE
    assert answer.headers["content-length"] == str(len(LARGE))


async def test_archives_hold_one_folder(ann, first_tip):
    packed = await ann.get("/repos/ann/app/archive/refs/heads/feature/one.zip")
    assert "app/dir/a b.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert 'filename="app-feature-one.zip"' in packed.headers["content-disposition"]
    assert packed.headers["content-type"] == "application/octet-stream"
    packed = await ann.get(f"/repos/ann/app/archive/{first_tip[:10]}.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as files:
        assert "app/later.txt" in files.getnames()
    assert (await ann.get("/repos/ann/app/archive/HEAD.zip")).status_code == 200
    for name in ("feature/one.zip", "heads/feature/one.tar.gz", "refs/heads/feature/one.bundle"):
        assert (await ann.get(f"/repos/ann/app/archive/{name}")).status_code == 200, name
    assert (await raw(ann, "HEAD/later.txt")).content == (await raw(ann, "master/later.txt")).content
    for wrong in ("master.rar", "nothing.zip", "refs/heads/nothing.zip", ".zip", "master", "master.zip/x"):
        assert (await ann.get(f"/repos/ann/app/archive/{wrong}")).status_code == 404


async def test_an_archive_is_made_once_and_known_by_its_commit(world, ann, first_tip, git_log):
    first = await ann.get("/repos/ann/app/archive/master.zip")
    git_log.clear()
    again = await ann.get(f"/repos/ann/app/archive/{first_tip}.zip")
    assert again.content == first.content
    assert again.headers["etag"] == first.headers["etag"]
    assert first_tip in again.headers["etag"]
    assert again.headers["content-length"] == str(len(first.content))
    validator = await ann.get(
        "/repos/ann/app/archive/master.zip", headers={"if-none-match": first.headers["etag"]}
    )
    assert (validator.status_code, validator.content) == (304, b"")
    assert list(git_log) == []
    other = await ann.get("/repos/ann/app/archive/master.tar.gz")
    assert other.headers["etag"] != first.headers["etag"]


async def test_a_renamed_repository_has_its_new_name_in_archives(ann, first_tip):
    await ann.get("/repos/ann/app/archive/master.zip")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "Fresh"})
    packed = await ann.get("/repos/ann/Fresh/archive/master.zip")
    assert "fresh/later.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()


async def test_a_kept_archive_is_only_for_who_may_read(world, ann, bob, first_tip):
    await ann.get("/repos/ann/app/archive/master.zip")
    edited = await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.get("/repos/ann/app/archive/master.zip")).status_code == 404
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    await world.confirm_deletion(edited.json()["id"])
    await world.components.workers.step()
    assert [file for file in (world.folder / "storage/archives").glob("*/*") if file.is_file()] == []


async def test_kept_archives_never_have_more_than_their_room(world, ann, first_tip, make_database, tmp_path):
    """The one that was not asked for longest goes; half ones of the dead go too, and fresh ones stay."""
    cache = world.folder / "storage/archives"
    one = await ann.get("/repos/ann/app/archive/v1.tar.gz")
    size = len(one.content)
    (cache / "partial/dead").write_bytes(b"x" * 10)
    os.utime(cache / "partial/dead", (1, 1))
    (cache / "partial/alive").write_bytes(b"x" * 10)
    tight = World(world.settings.database_url, tmp_path, archive_cache_bytes=2 * size + 5000)
    tight.identity = world.identity
    person = tight.user(1, "ann")
    for name in ("master", "feature/one"):
        assert (await person.get(f"/repos/ann/app/archive/{name}.tar.gz")).status_code == 200
    files = sorted(file.name for file in cache.glob("*/*"))
    assert "dead" not in files
    assert "alive" in files
    assert len(files) == 3
    assert sum(file.stat().st_size for file in cache.glob("*/*")) <= 2 * size + 5000
    tiny = World(world.settings.database_url, tmp_path, archive_cache_bytes=100)
    answer = await tiny.user(1, "ann").get("/repos/ann/app/archive/master.tar.gz")
    assert answer.status_code == 200
    await tight.close()
    await tiny.close()


async def test_a_commit_outside_the_history_is_not_shown(world, ann, git_url, tmp_path, first_tip):
    work = tmp_path / "work"
    await git("checkout", "-q", "-b", "gone", cwd=work)
    secret = await commit(work, "secret.txt", "secret")
    await git("push", "-q", f"{git_url}/ann/app.git", "gone", cwd=work, person=ann)
    assert (await raw(ann, f"{secret}/secret.txt")).text == "secret"
    assert (await ann.get(f"/repos/ann/app/archive/{secret}.zip")).status_code == 200
    await git("push", "-q", f"{git_url}/ann/app.git", ":gone", cwd=work, person=ann)
    await unreachable(ann, secret)


async def test_a_commit_that_was_pushed_over_is_not_shown(world, ann, bob, git_url, tmp_path, first_tip):
    work = tmp_path / "work"
    secret = await commit(work, "secret.txt", "secret")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    assert (await ann.post(f"/repos/ann/app/statuses/{secret}", {"state": "success"})).status_code == 201
    await git("reset", "-q", "--hard", first_tip, cwd=work)
    await git("push", "-q", "--force", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    await unreachable(ann, secret)
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    assert (await bob.get(f"/repos/bob/app/raw/{first_tip}/later.txt")).status_code == 200
    await unreachable(bob, secret, "bob/app")


async def test_statuses_are_of_the_commit_that_a_branch_with_a_slash_stands_for(ann, first_tip):
    response = await ann.post("/repos/ann/app/statuses/feature/one", {"state": "success", "context": "ci"})
    assert response.status_code == 201, response.text
    sha = (await ann.get("/repos/ann/app/branches/feature/one")).json()["commit"]["id"]
    for name in ("feature/one", sha, "v1", "v2", sha[:10]):
        assert [one["context"] for one in (await ann.get(f"/repos/ann/app/statuses/{name}")).json()] == ["ci"]
    assert (await ann.get("/repos/ann/app/statuses/master")).json() == []


@pytest.mark.parametrize(("tail", "state"), [("status", "failure"), ("statuses", "error")])
@pytest.mark.parametrize("name", ["feature/one", "feature/status", "feature/status/statuses", "status/x"])
async def test_the_combined_status_of_a_branch_with_a_slash(world, ann, first_tip, tail, state, name):
    if name != "feature/one":
        world.components.storage.open(1).references.create(f"refs/heads/{name}", first_tip)
    assert (await ann.post(f"/repos/ann/app/statuses/{name}", {"state": "error"})).status_code == 201
    response = await ann.get(f"/repos/ann/app/commits/{name}/{tail}")
    assert (response.status_code, response.json()["state"]) == (200, state), response.text
    quoted = await ann.get(f"/repos/ann/app/commits/{name.replace('/', '%2F')}/{tail}")
    assert quoted.json() == response.json()


@pytest.mark.parametrize(
    "path", ["feature/none/status", "feature/one", "feature/one/other", "a/../b/status", "status/status/x"]
)
async def test_what_has_no_combined_status(ann, bob, first_tip, path):
    assert (await ann.get(f"/repos/ann/app/commits/{path}")).status_code == 404
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.get("/repos/ann/app/commits/feature/one/status")).status_code == 404


async def unreachable(person, sha, repository="ann/app"):
    """Neither in full nor abbreviated, by any route."""
    for name in (sha, sha[:12]):
        for path in (
            f"raw/{name}/secret.txt",
            f"archive/{name}.zip",
            f"statuses/{name}",
            f"commits/{name}/status",
            f"commits/{name}/statuses",
            f"editorconfig/x?ref={name}",
        ):
            assert (await person.get(f"/repos/{repository}/{path}")).status_code == 404, path
        answer = await person.post(f"/repos/{repository}/statuses/{name}", {"state": "success"})
        assert answer.status_code == 404


async def test_an_empty_repository_has_nothing_to_show(ann):
    await ann.create("app")
    assert (await ann.get("/repos/ann/app/branches")).json() == []
    for path in ("branches/master", "raw/x", "raw/master/x", "archive/master.zip", "editorconfig/x",
                 "statuses/master", "commits/master/status"):  # fmt: skip
        assert (await ann.get(f"/repos/ann/app/{path}")).status_code == 404, path
