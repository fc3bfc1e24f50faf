"""LFS by its protocol: batches, transfers, who may do what, and what is stored once."""

import pytest

from ingot_repos.lfs.rules.objects import OBJECTS
from ingot_testing.non_empty import non_empty

from ..lfs_client import FILE, MEDIA_TYPE, ROOT, ask, download, objects_of, oid_of, path, put, upload


async def stored(world):
    """The keys of all objects."""
    return [one.key async for page in world.components.objects.list(OBJECTS) for one in page]


@pytest.fixture
async def app(ann):
    return await ann.create("app")


@pytest.fixture
async def secret(ann):
    return await ann.create("secret", private=True)


@pytest.fixture
def nobody(bob):
    return bob.but(id=0, name="", via="")


async def test_what_was_uploaded_is_downloaded(world, ann, bob, app, nobody):
    offered = await upload(ann)
    assert (offered["oid"], offered["size"]) == (oid_of(FILE), len(FILE))
    for person in (ann, bob, nobody):
        answer = await ask(person, "download", FILE)
        assert answer.headers["content-type"].startswith(MEDIA_TYPE)
        assert (answer.json()["transfer"], answer.json()["hash_algo"]) == ("basic", "sha256")
        (shown,) = answer.json()["objects"]
        target = shown["actions"]["download"]["href"]
        assert target == f"{ROOT}/ann/app.git/info/lfs/objects/{oid_of(FILE)}"
        back = await person.call("GET", target.removeprefix(ROOT))
        assert (back.status_code, back.content) == (200, FILE)
    assert "actions" not in await upload(ann)
    assert len(await stored(world)) == 1


@pytest.mark.parametrize("content", [b"", b"x", FILE * 200], ids=["0", "1", "5 MB"])
async def test_every_size_comes_back_as_it_went(ann, app, content):
    await upload(ann, content)
    back = await download(ann, content)
    assert (back.status_code, back.content) == (200, content)


async def test_a_part_of_an_object_is_downloaded(ann, app):
    await upload(ann)
    part = await download(ann, Range="bytes=10-19")
    assert (part.status_code, part.content) == (206, FILE[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(FILE)}"
    rest = await download(ann, Range=f"bytes={len(FILE) - 5}-")
    assert (rest.status_code, rest.content) == (206, FILE[-5:])
    beyond = await download(ann, Range=f"bytes={len(FILE)}-")
    assert (beyond.status_code, beyond.headers["content-type"]) == (416, MEDIA_TYPE)


async def test_an_object_that_two_repositories_have_is_stored_once(world, ann, bob, app):
    await upload(ann)
    await bob.create("other")
    assert "actions" not in await upload(bob, repo="bob/other")  # bob may read ann/app
    assert (await download(bob, repo="bob/other")).content == FILE
    assert len(await stored(world)) == 1


async def test_an_object_that_one_may_not_read_is_proven_by_its_bytes(world, ann, bob, secret):
    await upload(ann, repo="ann/secret")
    await bob.create("other")
    (refused,) = await objects_of(bob, "download", FILE, repo="bob/other")
    assert refused["error"]["code"] == 404
    (offered,) = await objects_of(bob, "upload", FILE, repo="bob/other")
    assert set(offered["actions"]) == {"upload", "verify"}
    wrong = await put(bob, b"x" * len(FILE), as_oid=oid_of(FILE), repo="bob/other")
    assert wrong.status_code == 422
    assert (await download(bob, repo="bob/other")).status_code == 404
    await upload(bob, repo="bob/other")
    assert (await download(bob, repo="bob/other")).content == FILE
    assert len(await stored(world)) == 1


@pytest.mark.parametrize(
    ("sent", "size", "status", "words"),
    [
        (FILE[:-1] + b"!", len(FILE), 422, "oid: is not the checksum of the sent bytes"),
        (FILE[:-1], len(FILE), 400, "26000 bytes were announced, but 25999 were sent"),
        (FILE + b"!", len(FILE), 413, "26000 bytes were announced, but more were sent"),
        (b"", len(FILE), 400, "26000 bytes were announced, but 0 were sent"),
        (FILE, len(FILE) + 1, 400, "26001 bytes were announced, but 26000 were sent"),
    ],
    ids=["other bytes", "too few", "too many", "none", "another size"],
)
@pytest.mark.parametrize("is_stored", [False, True])
async def test_bytes_that_are_not_the_object_are_refused(
    world, ann, bob, app, sent, size, status, words, is_stored
):
    if is_stored:  # by a repository that bob cannot read
        await ann.create("secret", private=True)
        await upload(ann, repo="ann/secret")
    await bob.create("mine")
    answer = await put(bob, sent, as_oid=oid_of(FILE), size=size, repo="bob/mine")
    assert (answer.status_code, answer.json()["message"]) == (status, words), "the same, stored or not"
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert set(answer.json()) == {"message", "documentation_url"}
    assert (await download(bob, repo="bob/mine")).status_code == 404
    assert len(await stored(world)) == int(is_stored)


async def test_an_object_of_another_size_is_refused_in_its_batch(ann, app):
    await upload(ann)
    for operation in ("upload", "download"):
        body = {"operation": operation, "objects": [{"oid": oid_of(FILE), "size": 5}]}
        answer = await ann.call("POST", f"{path()}/objects/batch", body)
        assert answer.json()["objects"][0]["error"]["code"] == 422
    verified = await ann.call("POST", f"{path()}/verify", {"oid": oid_of(FILE), "size": 5})
    assert verified.status_code == 422


BATCHES_THAT_SAY_NOTHING = (
    ({"operation": "upload"}, 422),
    ({"operation": "other", "objects": []}, 422),
    ({"operation": "upload", "objects": [], "transfers": ["ssh"]}, 422),
    ({"operation": "upload", "objects": [], "hash_algo": "sha512"}, 409),
    ({"operation": "upload", "objects": [{"oid": "a" * 64, "size": "x"}]}, 422),
    ({"operation": "upload", "objects": [{"oid": "a" * 64}]}, 422),
    ({"operation": "upload", "objects": [{"oid": f"{n:064x}", "size": 1} for n in range(1001)]}, 422),
    ({"operation": "download", "objects": {"oid": "a" * 64, "size": 1}}, 422),
    ([], 422),
)


async def test_a_batch_that_says_nothing_is_refused(ann, app):
    headers = {"Content-Type": MEDIA_TYPE}
    for body, status in BATCHES_THAT_SAY_NOTHING:
        answer = await ann.call("POST", f"{path()}/objects/batch", body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE), body
        assert answer.json()["message"]


async def test_an_object_that_cannot_be_is_refused_beside_the_others(ann, app):
    impossible = [("x", 1), ("A" * 64, 1), ("../..", 1), ("a" * 64, -1), ("é" * 64, 1)]
    objects = [{"oid": oid, "size": size} for oid, size in [*impossible, (oid_of(FILE), len(FILE))]]
    answer = await ann.call("POST", f"{path()}/objects/batch", {"operation": "upload", "objects": objects})
    *bad, good = answer.json()["objects"]
    assert [one["error"]["code"] for one in bad] == [422] * len(impossible)
    assert "upload" in good["actions"]


async def test_a_path_that_names_no_object_takes_no_bytes(ann, app):
    oid = "a" * 64
    for target in ("x/1", f"{oid}/-1", f"{oid}/x", f"{oid}/{'9' * 40}", f"{oid}/1e3", f"{oid}/½", "%00/1"):
        answer = await ann.world.http.put(f"{path()}/objects/{target}", headers=ann.headers(), content=b"x")
        assert answer.status_code in (404, 422), target


async def test_who_may_do_what(world, ann, bob, nobody, app, secret):
    await upload(ann)
    await upload(ann, repo="ann/secret")
    carl, dora = world.user(3, "carl"), world.user(4, "dora")
    for person, mode in ((carl, "read"), (dora, "write")):
        answer = await ann.call(
            "PUT", f"/api/v1/repos/ann/secret/collaborators/{person.principal.name}", {"permission": mode}
        )
        assert answer.status_code == 204
    narrow = ann.but(restricted_to=[app["id"]])
    reading = ann.but(scopes=["read:repository"])
    expected = {
        # download and upload of ann/app, then of ann/secret
        "nobody": (nobody, 200, 401, 401, 401),
        "stranger": (bob, 200, 403, 404, 404),
        "reader": (carl, 200, 403, 200, 403),
        "writer": (dora, 200, 403, 200, 200),
        "owner": (ann, 200, 200, 200, 200),
        "restricted": (narrow, 200, 200, 404, 404),
        "reading": (reading, 200, 403, 200, 403),
        "elsewhere": (ann.but(scopes=["write:issue"]), 403, 403, 403, 403),
    }
    for name, (person, *statuses) in expected.items():
        batches = [
            (await ask(person, operation, FILE, repo=repo)).status_code
            for repo in ("ann/app", "ann/secret")
            for operation in ("download", "upload")
        ]
        transfers = [
            status
            for repo in ("ann/app", "ann/secret")
            for status in (
                (await download(person, repo=repo)).status_code,
                (await put(person, FILE, repo=repo)).status_code,
            )
        ]
        assert (name, batches, transfers) == (name, statuses, statuses)
    refused = await ask(nobody, "upload", FILE)
    assert refused.headers["www-authenticate"].startswith("Basic")
    assert refused.headers["lfs-authenticate"].startswith("Basic")


async def test_what_one_may_not_see_answers_as_what_is_not_there(ann, bob, secret):
    await upload(ann, repo="ann/secret")
    for call in (
        lambda repo: ask(bob, "download", FILE, repo=repo),
        lambda repo: download(bob, repo=repo),
        lambda repo: put(bob, FILE, repo=repo),
    ):
        there, absent = await call("ann/secret"), await call("ann/nothing")
        assert there.status_code == absent.status_code == 404
        assert there.json()["message"] == absent.json()["message"]


async def test_an_archived_repository_gives_and_takes_none(ann, app):
    await upload(ann)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert (await ask(ann, "upload", b"other")).status_code == 403
    assert (await put(ann, b"other")).status_code == 403
    assert (await download(ann)).content == FILE


async def test_a_former_name_leads_to_the_repository(ann, app):
    await upload(ann)
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"name": "renamed"})
    moved = await ask(ann, "download", FILE)
    assert (moved.status_code, moved.headers["location"]) == (
        307,
        "/ann/renamed.git/info/lfs/objects/batch",
    )
    assert (await download(ann)).status_code == 302
    assert (await download(ann, repo="ann/renamed")).content == FILE


async def test_a_batch_costs_the_same_however_many_objects_there_are(world, ann, app):
    counts = {}
    for number in (1, 20):
        contents = [b"%d" % n for n in range(number)]
        for content in contents:
            await upload(ann, content)
        for operation in ("upload", "download"):
            with world.count_statements() as statements:
                await objects_of(ann, operation, *contents)
            counts.setdefault(operation, []).append(len(statements))
    assert all(len(set(of_operation)) == 1 for of_operation in non_empty(counts.values())), counts


async def test_only_known_methods_are_there(ann, app):
    for method, target in (("DELETE", f"objects/{oid_of(FILE)}"), ("GET", "objects/batch"), ("PUT", "locks")):
        answer = await ann.call(method, f"{path()}/{target}")
        assert answer.status_code == 405
    assert (await ann.call("GET", f"{path()}/nothing")).status_code == 404
