"""Branches, raw files and archives."""

import io
import os
import tarfile
import zipfile

import pytest
from repos_world import World, commit, counted, git, work_tree

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)

LARGE = b"".join(b"%07d\n" % n for n in range(250_000))


@pytest.fixture
async def pushed(world, ann, door, tmp_path):
    """ann/app with a branch that has a slash, a tag and some files; gives the id of the last commit."""
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "page.html", "<script>alert(1)</script>")
    await commit(work, "dir/a b.txt", "in a folder")
    (work / "binary").write_bytes(b"\0\1\2")
    (work / "photo").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    (work / "empty").write_bytes(b"")
    (work / "large.bin").write_bytes(b"\0" + LARGE)
    (work / 'odd, "näme".txt').write_text("odd")
    (work / "link").symlink_to("/etc/passwd")
    await commit(work, "large.txt", LARGE.decode())
    await git("tag", "v1", cwd=work)
    await git("tag", "-a", "-m", "annotated", "v2", cwd=work)
    await git("branch", "feature/one", cwd=work)
    sha = await commit(work, "later.txt", "later")
    await git("push", "-q", f"{door}/ann/app.git", "--all", cwd=work, person=ann)
    await git("push", "-q", f"{door}/ann/app.git", "--tags", cwd=work, person=ann)
    return sha


def raw(person, path, **headers):
    return person.get(
        f"/repos/ann/app/raw/{path}", headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


async def test_branches_are_listed_by_name_with_their_commits(ann, pushed):
    answer = await ann.get("/repos/ann/app/branches")
    assert [branch["name"] for branch in answer.json()] == ["feature/one", "master"]
    tip = answer.json()[1]["commit"]
    assert tip["id"] == pushed
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
    path = world.parts.storage.path(created["id"])
    (path / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted\n{lines}")
    git_log.clear()
    async with counted(world.database) as statements:
        answer = await ann.get("/repos/ann/app/branches?limit=50")
    assert answer.headers["x-total-count"] == str(count)
    assert len(answer.json()) == min(count, 50)
    assert len(statements) == 2
    assert list(git_log) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("later.txt", "later"),
        ("master/later.txt", "later"),
        ("feature/one/dir/a%20b.txt", "in a folder"),
        ("feature%2Fone/dir%2Fa%20b.txt", "in a folder"),
        ("v1/dir/a%20b.txt", "in a folder"),
        ("v2/dir/a%20b.txt", "in a folder"),
        ("dir/a%20b.txt", "in a folder"),
        ("link", "/etc/passwd"),
        ("empty", ""),
    ],
)
async def test_a_raw_path_is_split_into_ref_and_file(ann, pushed, path, text):
    assert (await raw(ann, path)).text == text
    assert (await raw(ann, f"{pushed}/later.txt")).text == "later"


async def test_a_branch_comes_before_a_tag_and_a_shorter_name_before_a_longer_one(
    ann, pushed, door, tmp_path
):
    """The branch `v1` hides the tag; below the tag `deep` the branch of a longer name is what counts."""
    work = tmp_path / "work"
    await git("checkout", "-q", "-b", "v1", cwd=work)
    await commit(work, "dir/a b.txt", "of the branch")
    await git("tag", "deep", "master", cwd=work)
    await git("branch", "deep/er", "refs/heads/v1", cwd=work)
    await git("push", "-q", f"{door}/ann/app.git", "refs/heads/v1:refs/heads/v1", "refs/heads/deep/er", "refs/tags/deep",
              cwd=work, person=ann)  # fmt: skip
    assert (await raw(ann, "v1/dir/a%20b.txt")).text == "of the branch"
    assert (await raw(ann, "deep/er/dir/a%20b.txt")).text == "of the branch"
    assert (await raw(ann, "deep/dir/a%20b.txt")).text == "in a folder"
    packed = await ann.get("/repos/ann/app/archive/v1.zip")
    with zipfile.ZipFile(io.BytesIO(packed.content)) as found:
        assert found.read("app/dir/a b.txt") == b"of the branch"


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
async def test_a_file_that_is_not_there_is_not_found(ann, pushed, path):
    assert (await raw(ann, path)).status_code == 404


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        ("page.html", "text/plain; charset=utf-8", "inline"),
        ("large.txt", "text/plain; charset=utf-8", "inline"),
        ("photo", "image/png", "inline"),
        ("photo?render=true", "text/plain; charset=utf-8", "inline"),
        ("binary", "application/octet-stream", "attachment"),
        ("large.bin", "application/octet-stream", "attachment"),
    ],
)
async def test_raw_files_are_inert(ann, pushed, path, kind, shown):
    answer = await raw(ann, path)
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"].startswith(f"{shown};")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "allow-" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"].startswith("public")


async def test_a_private_file_is_not_for_shared_caches(ann, pushed):
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await raw(ann, "page.html")).headers["cache-control"].startswith("private")


async def test_the_name_of_a_file_stays_a_name(ann, pushed):
    answer = await raw(ann, "odd%2C%20%22n%C3%A4me%22.txt")
    shown = "inline; filename=\"odd_ _n_me_.txt\"; filename*=UTF-8''odd%2C%20%22n%C3%A4me%22.txt"
    assert answer.headers["content-disposition"] == shown


async def test_a_file_that_one_has_is_not_sent_again(ann, pushed):
    etag = (await raw(ann, "page.html")).headers["etag"]
    assert etag == f'"{(await raw(ann, "v1/page.html")).headers["etag"][1:-1]}"'
    for held in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await raw(ann, "page.html", if_none_match=held)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert (await raw(ann, "page.html", if_none_match='"other"')).status_code == 200


@pytest.mark.parametrize("path", ["large.txt", "v1/large.txt"])
@pytest.mark.parametrize(
    ("asked", "part"),
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
async def test_a_part_of_a_file(ann, pushed, path, asked, part):
    answer = await raw(ann, path, range=asked)
    assert answer.status_code == 206
    assert answer.headers["content-range"] == f"bytes {part.start}-{part.stop - 1}/2000000"
    assert answer.headers["content-length"] == str(len(part))
    assert answer.content == LARGE[part.start : part.stop]


async def test_a_part_of_a_small_file(ann, pushed):
    answer = await raw(ann, "dir/a%20b.txt", range="bytes=3-3")
    assert (answer.status_code, answer.content) == (206, b"a")
    etag = answer.headers["etag"]
    assert (await raw(ann, "dir/a%20b.txt", range="bytes=3-3", if_range=etag)).status_code == 206
    assert (await raw(ann, "dir/a%20b.txt", range="bytes=3-3", if_range='"old"')).status_code == 200


@pytest.mark.parametrize(
    ("path", "asked"), [("later.txt", "bytes=5-"), ("later.txt", "bytes=-0"), ("empty", "bytes=0-")]
)
async def test_a_part_that_is_not_there(ann, pushed, path, asked):
    answer = await raw(ann, path, range=asked)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{0 if path == 'empty' else 5}"


@pytest.mark.parametrize(
    "asked", ["bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=4-2", "lines=1-2", "bytes=x-", "bytes=٣-"]
)
async def test_what_is_no_single_range_gets_the_whole(ann, pushed, asked):
    answer = await raw(ann, "later.txt", range=asked.encode())
    assert (answer.status_code, answer.text) == (200, "later")


async def test_a_large_file_is_streamed_whole(ann, pushed):
    answer = await raw(ann, "large.txt")
    assert answer.content == LARGE
    assert answer.headers["content-length"] == str(len(LARGE))


async def test_archives_hold_one_folder(ann, pushed):
    packed = await ann.get("/repos/ann/app/archive/feature/one.zip")
    assert "app/dir/a b.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
    assert 'filename="app-feature-one.zip"' in packed.headers["content-disposition"]
    assert packed.headers["content-type"] == "application/octet-stream"
    packed = await ann.get(f"/repos/ann/app/archive/{pushed[:10]}.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as files:
        assert "app/later.txt" in files.getnames()
    for wrong in ("master.rar", "nothing.zip", ".zip", "master", "master.zip/x"):
        assert (await ann.get(f"/repos/ann/app/archive/{wrong}")).status_code == 404


async def test_an_archive_is_made_once_and_known_by_its_commit(world, ann, pushed, git_log):
    first = await ann.get("/repos/ann/app/archive/master.zip")
    git_log.clear()
    again = await ann.get(f"/repos/ann/app/archive/{pushed}.zip")
    assert again.content == first.content
    assert again.headers["etag"] == first.headers["etag"]
    assert pushed in again.headers["etag"]
    assert again.headers["content-length"] == str(len(first.content))
    held = await ann.get(
        "/repos/ann/app/archive/master.zip", headers={"if-none-match": first.headers["etag"]}
    )
    assert (held.status_code, held.content) == (304, b"")
    assert list(git_log) == []
    other = await ann.get("/repos/ann/app/archive/master.tar.gz")
    assert other.headers["etag"] != first.headers["etag"]


async def test_a_renamed_repository_has_its_new_name_in_archives(ann, pushed):
    await ann.get("/repos/ann/app/archive/master.zip")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "Fresh"})
    packed = await ann.get("/repos/ann/Fresh/archive/master.zip")
    assert "fresh/later.txt" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()


async def test_a_kept_archive_is_only_for_who_may_read(world, ann, bob, pushed):
    await ann.get("/repos/ann/app/archive/master.zip")
    edited = await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.get("/repos/ann/app/archive/master.zip")).status_code == 404
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    await world.forget(edited.json()["id"])
    await world.parts.workers.step()
    assert [file for file in (world.folder / "storage/archives").glob("*/*") if file.is_file()] == []


async def test_kept_archives_never_have_more_than_their_room(world, ann, pushed, make_database, tmp_path):
    """The one that was not asked for longest goes; half ones of the dead go too, and fresh ones stay."""
    kept = world.folder / "storage/archives"
    one = await ann.get("/repos/ann/app/archive/v1.tar.gz")
    size = len(one.content)
    (kept / "partial/dead").write_bytes(b"x" * 10)
    os.utime(kept / "partial/dead", (1, 1))
    (kept / "partial/alive").write_bytes(b"x" * 10)
    tight = World(world.settings.database_url, tmp_path, archive_cache_bytes=2 * size + 5000)
    tight.identity = world.identity
    person = tight.user(1, "ann")
    for name in ("master", "feature/one"):
        assert (await person.get(f"/repos/ann/app/archive/{name}.tar.gz")).status_code == 200
    files = sorted(file.name for file in kept.glob("*/*"))
    assert "dead" not in files
    assert "alive" in files
    assert len(files) == 3
    assert sum(file.stat().st_size for file in kept.glob("*/*")) <= 2 * size + 5000
    tiny = World(world.settings.database_url, tmp_path, archive_cache_bytes=100)
    answer = await tiny.user(1, "ann").get("/repos/ann/app/archive/master.tar.gz")
    assert answer.status_code == 200
    await tight.close()
    await tiny.close()


async def test_a_commit_outside_the_history_is_not_shown(world, ann, door, tmp_path, pushed):
    work = tmp_path / "work"
    await git("checkout", "-q", "-b", "gone", cwd=work)
    secret = await commit(work, "secret.txt", "secret")
    await git("push", "-q", f"{door}/ann/app.git", "gone", cwd=work, person=ann)
    assert (await raw(ann, f"{secret}/secret.txt")).text == "secret"
    assert (await ann.get(f"/repos/ann/app/archive/{secret}.zip")).status_code == 200
    await git("push", "-q", f"{door}/ann/app.git", ":gone", cwd=work, person=ann)
    await unreachable(ann, secret)


async def test_a_commit_that_was_pushed_over_is_not_shown(world, ann, bob, door, tmp_path, pushed):
    work = tmp_path / "work"
    secret = await commit(work, "secret.txt", "secret")
    await git("push", "-q", f"{door}/ann/app.git", "master", cwd=work, person=ann)
    assert (await ann.post(f"/repos/ann/app/statuses/{secret}", {"state": "success"})).status_code == 201
    await git("reset", "-q", "--hard", pushed, cwd=work)
    await git("push", "-q", "--force", f"{door}/ann/app.git", "master", cwd=work, person=ann)
    await unreachable(ann, secret)
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.parts.workers.step()
    assert (await bob.get(f"/repos/bob/app/raw/{pushed}/later.txt")).status_code == 200
    await unreachable(bob, secret, "bob/app")


async def test_statuses_are_of_the_commit_that_a_branch_with_a_slash_stands_for(ann, pushed):
    told = await ann.post("/repos/ann/app/statuses/feature/one", {"state": "success", "context": "ci"})
    assert told.status_code == 201, told.text
    sha = (await ann.get("/repos/ann/app/branches/feature/one")).json()["commit"]["id"]
    for name in ("feature/one", sha, "v1", "v2", sha[:10]):
        assert [one["context"] for one in (await ann.get(f"/repos/ann/app/statuses/{name}")).json()] == ["ci"]
    assert (await ann.get("/repos/ann/app/statuses/master")).json() == []


@pytest.mark.parametrize("tail", ["status", "statuses"])
@pytest.mark.parametrize("name", ["feature/one", "feature/status", "feature/status/statuses", "status/x"])
async def test_the_combined_status_of_a_branch_with_a_slash(world, ann, pushed, tail, name):
    if name != "feature/one":
        world.parts.storage.open(1).references.create(f"refs/heads/{name}", pushed)
    assert (await ann.post(f"/repos/ann/app/statuses/{name}", {"state": "error"})).status_code == 201
    told = await ann.get(f"/repos/ann/app/commits/{name}/{tail}")
    assert (told.status_code, told.json()["state"]) == (200, "error"), told.text
    quoted = await ann.get(f"/repos/ann/app/commits/{name.replace('/', '%2F')}/{tail}")
    assert quoted.json() == told.json()


@pytest.mark.parametrize(
    "path", ["feature/none/status", "feature/one", "feature/one/other", "a/../b/status", "status/status/x"]
)
async def test_what_has_no_combined_status(ann, bob, pushed, path):
    assert (await ann.get(f"/repos/ann/app/commits/{path}")).status_code == 404
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.get("/repos/ann/app/commits/feature/one/status")).status_code == 404


@pytest.mark.parametrize("tail", ["status", "statuses"])
async def test_both_spellings_of_the_combined_status(ann, pushed, tail):
    path = f"/repos/ann/app/commits/master/{tail}"
    empty = (await ann.get(path)).json()
    assert (empty["state"], empty["sha"], empty["total_count"], empty["statuses"]) == (
        "pending",
        pushed,
        0,
        [],
    )
    for number, (state, worst) in enumerate(
        [
            ("pending", "pending"),
            ("success", "success"),
            ("warning", "warning"),
            ("failure", "failure"),
            ("error", "error"),
        ]
    ):
        told = {"state": state, "context": f"c{number}"}
        assert (await ann.post(f"/repos/ann/app/statuses/{pushed}", told)).status_code == 201
        assert (await ann.get(path)).json()["state"] == worst
    for number in range(5):
        told = {"state": "success", "context": f"c{number}"}
        await ann.post(f"/repos/ann/app/statuses/{pushed}", told)
    found = (await ann.get(path)).json()
    assert (found["state"], found["total_count"]) == ("success", 5)


async def unreachable(person, sha, repository="ann/app"):
    """Neither in full nor abbreviated, at any door."""
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
