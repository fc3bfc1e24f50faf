"""Locks of LFS: create, list, verify, delete."""

import pytest

from ..lfs_client import MEDIA_TYPE, path

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def app(ann, bob, world):
    created = await ann.create("app")
    for person, mode in ((bob, "write"), (world.user(3, "carl"), "read")):
        login = person.principal.name
        await ann.call("PUT", f"/api/v1/repos/ann/app/collaborators/{login}", {"permission": mode})
    return created


async def lock(person, file="a.psd", **more):
    return await person.call("POST", f"{path()}/locks", {"path": file, **more})


async def locks_of(person, query=""):
    answer = await person.call("GET", f"{path()}/locks{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def verify(person, **body):
    answer = await person.call("POST", f"{path()}/locks/verify", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def unlock(person, lock_id, **body):
    return await person.call("POST", f"{path()}/locks/{lock_id}/unlock", body)


async def test_a_lock_is_shown_to_all_and_freed_by_its_owner(ann, bob, app):
    lock_of_ann = await lock(ann, "dir/ä.psd", ref={"name": "refs/heads/main"})
    assert (lock_of_ann.status_code, lock_of_ann.headers["content-type"]) == (201, MEDIA_TYPE)
    shown = lock_of_ann.json()["lock"]
    assert (shown["path"], shown["owner"]) == ("dir/ä.psd", {"name": "ann"})
    assert shown["locked_at"].endswith("Z")
    assert "." not in shown["locked_at"]
    assert await locks_of(bob) == {"locks": [shown]}
    assert await verify(ann) == {"ours": [shown], "theirs": []}
    assert await verify(bob) == {"ours": [], "theirs": [shown]}
    again = await lock(bob, "dir/ä.psd")
    assert (again.status_code, again.json()["lock"]) == (409, shown)
    assert (await unlock(bob, shown["id"])).status_code == 403
    freed = await unlock(ann, shown["id"])
    assert (freed.status_code, freed.json()) == (200, {"lock": shown})
    assert (await unlock(ann, shown["id"])).status_code == 404
    assert await locks_of(bob) == {"locks": []}


async def test_force_frees_the_lock_of_somebody_else(ann, bob, app):
    lock_of_ann = (await lock(ann)).json()["lock"]
    assert (await unlock(bob, lock_of_ann["id"], force=True)).status_code == 200
    assert (await lock(bob)).status_code == 201


async def test_locks_are_found_by_path_and_id_and_paged_by_cursor(ann, app):
    locks = [(await lock(ann, f"{n}.psd")).json()["lock"] for n in range(5)]
    assert await locks_of(ann, "?path=3.psd") == {"locks": [locks[3]]}
    assert await locks_of(ann, f"?id={locks[2]['id']}") == {"locks": [locks[2]]}
    for nothing in (
        "?path=x",
        "?id=x",
        "?id=999",
        f"?id={'9' * 30}",
        f"?path=1.psd&id={locks[2]['id']}",
    ):
        assert await locks_of(ann, nothing) == {"locks": []}
    first = await locks_of(ann, "?limit=2")
    assert first["locks"] == locks[:2]
    second = await locks_of(ann, f"?limit=2&cursor={first['next_cursor']}&refspec=refs/heads/main")
    assert second["locks"] == locks[2:4]
    assert await locks_of(ann, f"?limit=2&cursor={second['next_cursor']}") == {"locks": locks[4:]}
    verified = await verify(ann, limit=3)
    assert verified["ours"] == locks[:3]
    assert (await verify(ann, cursor=verified["next_cursor"]))["ours"] == locks[3:]


async def test_a_list_costs_the_same_however_many_locks_there_are(world, ann, app):
    counts = []
    for number in range(3):
        await lock(ann, f"{number}.psd")
        with world.count_statements() as statements:
            await locks_of(ann)
        counts.append(len(statements))
    assert len(set(counts)) == 1


PATHS_OF_NO_FILE = (
    ({}, 422),
    ({"path": ""}, 422),
    ({"path": "/a"}, 422),
    ({"path": "a//b"}, 422),
    ({"path": "../a"}, 422),
    ({"path": "a/."}, 422),
    ({"path": "a\0"}, 422),
    ({"path": "a" * 2001}, 422),
    ({"path": "ä" * 1500}, 422),
    ({"path": 5}, 422),
    ({"path": ["a"]}, 422),
    ([], 422),
)


async def test_a_path_that_no_file_has_is_not_locked(ann, app):
    for body, status in PATHS_OF_NO_FILE:
        answer = await ann.call("POST", f"{path()}/locks", body)
        assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE), body
        assert answer.json()["message"]


async def test_a_cursor_that_nobody_got_is_refused(ann, app):
    for cursor in ("x", "-1", "9" * 30, "1.5", "½"):
        listed = await ann.call("GET", f"{path()}/locks", params={"cursor": cursor})
        verified = await ann.call("POST", f"{path()}/locks/verify", {"cursor": cursor})
        assert (listed.status_code, verified.status_code) == (422, 422), cursor


async def test_who_may_lock(world, ann, bob, app):
    carl, dora = world.person(world.user(3, "carl").principal), world.user(4, "dora")
    nobody = bob.but(id=0, name="", via="")
    lock_of_ann = (await lock(ann)).json()["lock"]
    for person, reading, writing in (
        (nobody, 200, 401),
        (dora, 200, 403),
        (carl, 200, 403),
        (ann.but(scopes=["read:repository"]), 200, 403),
        (ann.but(restricted_to=[99]), 200, 403),
    ):
        statuses = [
            (await person.call("GET", f"{path()}/locks")).status_code,
            (await lock(person, "b")).status_code,
            (await person.call("POST", f"{path()}/locks/verify", {})).status_code,
            (await unlock(person, lock_of_ann["id"], force=True)).status_code,
        ]
        assert statuses == [reading, writing, writing, writing]
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    for person, status in ((nobody, 401), (dora, 404), (carl, 200)):
        assert (await person.call("GET", f"{path()}/locks")).status_code == status


async def test_a_lock_is_not_found_below_another_repository(ann, app):
    await ann.create("second")
    lock_of_ann = (await lock(ann)).json()["lock"]
    answer = await ann.call("POST", f"{path('ann/second')}/locks/{lock_of_ann['id']}/unlock", {"force": True})
    assert answer.status_code == 404
