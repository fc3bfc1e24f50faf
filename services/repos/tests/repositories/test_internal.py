"""Internal routes for issues and hooks, except pull requests: access, levels, branches, repositories."""

import pytest

from ingot_contracts.repos.access import MOST_IDS

pytestmark = pytest.mark.both_databases


async def test_a_branch_is_taken_away_once_by_whoever_may_write(world, ann, bob, base):
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()["sha"]
    path = f"{base}/branches/topic?tip="
    assert (await bob.internal("DELETE", path + tip)).status_code == 403
    assert (await ann.internal("DELETE", path + "1" * 40)).status_code == 409
    assert (await ann.internal("DELETE", f"{base}/branches/master?tip={tip}")).status_code == 409
    assert (await ann.internal("DELETE", path + tip)).status_code == 204
    assert (await ann.internal("DELETE", path + tip)).status_code == 404
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"]) == ("refs/heads/topic", "0" * 40)


async def test_a_branch_is_taken_away_for_somebody_who_is_not_calling(world, ann, bob, base):
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()["sha"]
    nobody = world.user(0, "nobody")
    answers = [
        await nobody.internal("DELETE", f"{base}/branches/topic?tip={tip}&user={user}")
        for user in (999999, bob.principal.id, ann.principal.id)
    ]
    assert [answer.status_code for answer in answers] == [401, 403, 204]


async def test_a_list_of_repositories_is_cut_down_to_what_somebody_sees(world, ann, bob, base):
    secret = (await ann.create("secret", private=True))["id"]
    for person, ids in ((ann, [base, secret]), (bob, [base])):
        answer = await person.call(
            "POST", "/internal/readable-repositories", {"ids": [secret, base, 999999]}, peer="issues"
        )
        assert answer.json() == {"ids": ids}
    most = {"ids": [base] * (MOST_IDS + 1)}
    assert (await ann.call("POST", "/internal/readable-repositories", most, peer="issues")).status_code == 400


async def test_issues_asks_what_somebody_may_do_who_is_not_calling(world, ann, bob, base):
    await ann.create("secret", private=True)
    nobody = world.user(0, "nobody")
    for path in (f"{base}/access", "by-name/ann/app/access"):
        assert (await nobody.internal("GET", f"{path}?user={ann.principal.id}")).json()["level"] == "owner"
        assert (await nobody.internal("GET", f"{path}?user={bob.principal.id}")).json()["level"] == "read"
    assert (
        await nobody.internal("GET", f"by-name/ann/secret/access?user={bob.principal.id}")
    ).status_code == 404
    assert (
        await nobody.internal("GET", f"by-name/ann/secret/access?user={ann.principal.id}")
    ).status_code == 200
    assert (await nobody.internal("GET", "by-name/ann/secret/access?user=x")).status_code == 400


async def test_hooks_ask_what_somebody_may_do_now(world, ann, bob, base):
    path = f"{base}/level"
    assert (await ann.internal("GET", f"{path}?user={bob.principal.id}")).json() == {"level": "read"}
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert (await ann.internal("GET", f"{path}?user={bob.principal.id}")).json() == {"level": "write"}
    assert (await ann.internal("GET", f"{path}?user={ann.principal.id}")).json() == {"level": "owner"}
    assert (await ann.internal("GET", f"{path}?user=999999")).json() == {"level": "none"}
    assert (await ann.internal("GET", f"{path}?user=x")).status_code == 400
    assert (await ann.internal("GET", "999999/level?user=1")).status_code == 404


@pytest.mark.parametrize(
    ("account", "level"), [({"admin": True}, "owner"), ({"admin": True, "active": False}, "none")]
)
async def test_an_administrator_may_all_while_they_may_sign_in(world, ann, base, account, level):
    world.identity.add_account(77, "root", **account)
    assert (await ann.internal("GET", f"{base}/level?user=77")).json() == {"level": level}
