"""What issues asks: compare, merge, diff, branch tips; and what events of others change here."""

import pytest
from repos_world import commit, git, work_tree

from ingot_contracts.identity import Account, UserDeleted, UserEdited
from ingot_contracts.issues import OpenIssuesCounted
from ingot_contracts.repos import MOST_IDS


@pytest.fixture
async def base(ann, door, tmp_path):
    """ann/app with master and a branch topic that is one commit ahead; gives its id."""
    created = await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, "a.txt", "one\n")
    await git("push", "-q", f"{door}/ann/app.git", "master", cwd=work, person=ann)
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit(work, "b.txt", "two\n", message="topic")
    await git("push", "-q", f"{door}/ann/app.git", "topic", cwd=work, person=ann)
    return created["id"]


async def compared(person, base_id, **more):
    body = {"base_branch": "master", "head_repository_id": base_id, "head_branch": "topic", **more}
    return await person.internal("POST", f"{base_id}/compare", body)


async def test_a_comparison_says_what_a_merge_would_bring(ann, base):
    answer = await compared(ann, base, number=1)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["mergeable"], found["commits"]) == (True, 1)
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()
    assert tip == {"name": "topic", "sha": found["head_sha"]}
    assert (await compared(ann, base, head_branch="nothing")).status_code == 404
    assert (await compared(ann, base, base_branch="..")).status_code == 404


async def test_comparing_needs_access_to_both(world, ann, bob, base):
    other = await ann.create("secret", private=True)
    assert (await compared(bob, base)).status_code == 200
    assert (await compared(bob, base, head_repository_id=other["id"])).status_code == 404


async def test_a_fork_is_compared_with_its_parent(world, ann, bob, base):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.parts.workers.step()
    answer = await compared(bob, base, head_repository_id=fork["id"], number=2)
    assert answer.json()["commits"] == 1


async def test_many_heads_are_compared_with_one_base_at_once(world, ann, bob, base, git_log):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.parts.workers.step()
    secret = await bob.create("secret", private=True, auto_init=True)
    heads = [
        {"repository_id": base, "branch": "topic", "number": 1},
        {"repository_id": base, "branch": "nothing", "number": 2},
        {"repository_id": base, "branch": "master", "number": 3},
        {"repository_id": fork["id"], "branch": "topic", "number": 4},
        {"repository_id": secret["id"], "branch": "master", "number": 5},
        {"repository_id": 999, "branch": "master", "number": 6},
        {"repository_id": base, "branch": "--all", "number": 7},
    ]
    body = {"base_branch": "master", "heads": heads}
    found = (await ann.internal("POST", f"{base}/comparisons", body)).json()["found"]
    assert [one and one["commits"] for one in found] == [1, None, 0, 1, None, None, None]
    assert found[0] == (await compared(ann, base, number=1)).json()
    git_log.clear()
    again = (await ann.internal("POST", f"{base}/comparisons", body)).json()["found"]
    assert (again, list(git_log)) == (found, [])
    alone = (await ann.internal("POST", f"{base}/comparisons?unattended=true", body)).json()["found"]
    assert [one and one["commits"] for one in alone] == [1, None, 0, 1, 1, None, None]


async def test_what_heads_may_be_asked_for(ann, bob, base):
    head = {"repository_id": base, "branch": "topic"}
    other = await ann.create("secret", private=True)
    for person, repository, body, status in (
        (ann, base, {"base_branch": "nothing", "heads": [head]}, 404),
        (ann, base, {"base_branch": "master", "heads": [head] * 101}, 400),
        (ann, base, {"base_branch": "master", "heads": [{"branch": "topic"}]}, 400),
        (ann, base, {"base_branch": "master", "heads": []}, 200),
        (ann, 999, {"base_branch": "master", "heads": []}, 404),
        (bob, other["id"], {"base_branch": "master", "heads": []}, 404),
    ):
        assert (await person.internal("POST", f"{repository}/comparisons", body)).status_code == status


@pytest.mark.parametrize("style", ["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"])
async def test_a_merge_moves_the_base_and_is_announced_as_one(world, ann, base, style):
    found = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": found["head_sha"], "style": style}
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert answer.status_code == 200, answer.text
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["merged_pull"]) == ("refs/heads/master", 1)
    assert (event["before"], event["after"]) == (found["base_sha"], answer.json()["sha"])
    again = (await ann.internal("POST", f"{base}/merge", body)).json()
    assert again == {"sha": answer.json()["sha"], "already": True, "base_sha": "", "merge_base": ""}


async def test_a_merge_whose_outcome_is_unknown_is_not_made_a_second_time(world, ann, base):
    found = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": found["head_sha"], "style": "squash"}
    async with world.parts.pushes.journaled(base, 1, ["refs/heads/master"], merged_pull=1) as push_id:
        assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 409
        await world.parts.pushes.settle(push_id)
    assert (await ann.internal("POST", f"{base}/merge", body)).json()["already"] is False


async def test_a_merge_is_made_by_the_person_who_asks(ann, base):
    found = (await compared(ann, base, number=1)).json()
    body = {
        "number": 1,
        "base_branch": "master",
        "head_sha": found["head_sha"],
        "title": "Join",
        "message": "Why",
    }
    await ann.internal("POST", f"{base}/merge", body)
    tip = (await ann.get("/repos/ann/app/branches/master")).json()["commit"]
    assert tip["message"] == "Join\n\nWhy\n"
    assert tip["committer"] == {"name": "Ann", "email": "ann@example.org", "username": "ann"}


async def test_what_cannot_be_merged_says_why(world, ann, bob, base):
    found = (await compared(ann, base, number=1)).json()
    body = {"number": 1, "base_branch": "master", "head_sha": found["head_sha"]}
    assert (await bob.internal("POST", f"{base}/merge", body)).status_code == 403
    stale = body | {"head_sha": found["base_sha"]}
    assert (await ann.internal("POST", f"{base}/merge", stale)).status_code == 409
    assert (await ann.internal("POST", f"{base}/merge", body | {"base_branch": "no"})).status_code == 404
    assert (await ann.internal("POST", f"{base}/merge", {"number": 1})).status_code == 400
    assert await world.rows("push") == []


async def test_conflicting_changes_are_a_conflict(world, ann, base, door, tmp_path):
    work = tmp_path / "work"
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "b.txt", "other\n")
    await git("push", "-q", f"{door}/ann/app.git", "master", cwd=work, person=ann)
    found = (await compared(ann, base, number=1)).json()
    assert found["mergeable"] is False
    body = {"number": 1, "base_branch": "master", "head_sha": found["head_sha"]}
    assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 409


async def test_a_merge_that_names_the_branch_needs_no_comparison_before(world, ann, base, git_log):
    tip, before = [
        (await ann.internal("GET", f"{base}/branches/{name}")).json()["sha"] for name in ("topic", "master")
    ]
    body = {"number": 1, "base_branch": "master", "head_repository_id": base, "head_branch": "topic"}
    moved = await ann.internal("POST", f"{base}/merge", body | {"head_sha": before})
    assert moved.status_code == 409
    git_log.clear()
    answer = (await ann.internal("POST", f"{base}/merge", body | {"head_sha": tip})).json()
    assert (answer["already"], answer["base_sha"], answer["merge_base"]) == (False, before, before)
    assert (await ann.internal("GET", f"{base}/branches/master")).json()["sha"] == answer["sha"] != before
    assert list(git_log) == []
    assert await world.rows("push") == []


@pytest.mark.parametrize("seen", [True, False])
async def test_the_head_of_a_fork_is_merged_as_far_as_the_person_may_see_it(world, ann, bob, base, seen):
    fork = (await bob.post("/repos/ann/app/forks")).json()
    await world.parts.workers.step()
    if not seen:
        await bob.call("PATCH", "/api/v1/repos/bob/app", {"private": True})
    tip = (await bob.internal("GET", f"{fork['id']}/branches/topic")).json()["sha"]
    body = {
        "number": 9,
        "base_branch": "master",
        "head_repository_id": fork["id"],
        "head_branch": "topic",
        "head_sha": tip,
    }
    answer = await ann.internal("POST", f"{base}/merge", body)
    assert answer.status_code == (200 if seen else 409), answer.text
    if not seen:  # what was kept while it could be seen is merged
        await compared(ann, base, number=9)
        assert (await ann.internal("POST", f"{base}/merge", body)).status_code == 200


async def test_a_branch_that_is_gone_is_merged_as_it_was_kept(ann, base, door, tmp_path):
    tip = (await compared(ann, base, number=1)).json()["head_sha"]
    await git("push", "-q", f"{door}/ann/app.git", ":topic", cwd=tmp_path / "work", person=ann)
    body = {"base_branch": "master", "head_repository_id": base, "head_branch": "topic", "head_sha": tip}
    assert (await ann.internal("POST", f"{base}/merge", body | {"number": 2})).status_code == 409
    assert (await ann.internal("POST", f"{base}/merge", body | {"number": 1})).status_code == 200


async def test_of_a_head_that_is_gone_what_is_kept_is_compared(world, ann, bob, base, door, tmp_path):
    fork = (await bob.post("/repos/ann/app/forks")).json()["id"]
    await world.parts.workers.step()
    tips = [
        (await compared(bob, base, head_repository_id=source, number=number)).json()["head_sha"]
        for number, source in ((1, base), (2, fork))
    ]
    await git("push", "-q", f"{door}/ann/app.git", ":topic", cwd=tmp_path / "work", person=ann)
    assert (await bob.call("DELETE", "/api/v1/repos/bob/app")).status_code == 204
    await world.parts.workers.step()
    heads = [
        {"repository_id": source, "branch": "topic", "number": number}
        for number, source in ((1, base), (2, fork), (3, base), (3, fork))
    ]
    body = {"base_branch": "master", "heads": heads}
    for asked in ("", "?unattended=true"):
        found = (await ann.internal("POST", f"{base}/comparisons{asked}", body)).json()["found"]
        assert [one and (one["head_sha"], one["mergeable"]) for one in found] == [
            (tips[0], True),
            (tips[1], True),
            None,
            None,
        ]


@pytest.mark.parametrize(
    ("file", "style", "status"),
    [("b.txt", "merge", 405), ("b.txt", "rebase", 405), ("c.txt", "fast-forward-only", 409)],
)
async def test_a_merge_that_names_the_branch_tells_conflicts_apart(
    ann, base, door, tmp_path, file, style, status
):
    work = tmp_path / "work"
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, file, "other\n")
    await git("push", "-q", f"{door}/ann/app.git", "master", cwd=work, person=ann)
    tip = (await ann.internal("GET", f"{base}/branches/topic")).json()["sha"]
    body = {
        "number": 1,
        "base_branch": "master",
        "head_repository_id": base,
        "head_branch": "topic",
        "head_sha": tip,
        "style": style,
    }
    assert (await ann.internal("POST", f"{base}/merge", body)).status_code == status


async def test_diff_and_patch_are_texts_of_commits_in_the_history(ann, bob, base):
    found = (await compared(ann, base, number=1)).json()
    query = f"{base}/diff?base={found['base_sha']}&head={found['head_sha']}"
    assert "+two" in (await ann.internal("GET", query)).text
    assert "Subject: [PATCH] topic" in (await ann.internal("GET", f"{query}&format=patch")).text
    assert (await ann.internal("GET", f"{base}/diff?base={'1' * 40}&head=--output=x")).status_code == 404


async def test_commits_and_files_of_a_pull_request_are_paged(ann, base, door, tmp_path):
    work = tmp_path / "work"
    await commit(work, "c/d.bin", "\0", message="more")
    await git("mv", "a.txt", "z.txt", cwd=work)
    await commit(work, "c/e.txt", "1\n2\n", message="most")
    await git("push", "-q", f"{door}/ann/app.git", "topic", cwd=work, person=ann)
    found = (await compared(ann, base, number=1)).json()
    query = f"base={found['merge_base']}&head={found['head_sha']}"
    told = (await ann.internal("GET", f"{base}/commits?{query}&limit=2")).json()
    assert (told["total"], [c["message"] for c in told["commits"]]) == (3, ["most\n", "more\n"])
    assert told["commits"][0]["author"]["login"] == "ann"
    rest = (await ann.internal("GET", f"{base}/commits?{query}&offset=2&limit=2")).json()
    assert [c["message"] for c in rest["commits"]] == ["topic\n"]
    files = (await ann.internal("GET", f"{base}/files?{query}")).json()
    assert files["total"] == 4
    assert {f["path"]: f["status"] for f in files["files"]} == {
        "b.txt": "added", "c/d.bin": "added", "c/e.txt": "added", "z.txt": "renamed",
    }  # fmt: skip
    whole = (await ann.internal("GET", f"{base}/commits?base=&head={found['head_sha']}")).json()
    assert whole["total"] == 4
    for text in ("diff", "diff?format=patch"):
        joined = "&" if "?" in text else "?"
        answer = await ann.internal("GET", f"{base}/{text}{joined}base=&head={found['head_sha']}")
        assert "+one" in answer.text


@pytest.mark.parametrize("what", ["commits", "files", "diff"])
async def test_what_is_between_commits_is_for_readers_and_of_the_history(world, ann, bob, what):
    secret = await ann.create("secret", private=True, auto_init=True)
    query = f"{secret['id']}/{what}?base=&head="
    tip = (await ann.internal("GET", f"{secret['id']}/branches/{secret['default_branch']}")).json()["sha"]
    assert (await ann.internal("GET", query + tip)).status_code == 200
    assert (await bob.internal("GET", query + tip)).status_code == 404
    assert (await bob.internal("GET", query + tip + "&unattended=true")).status_code == 200
    for head in ("1" * 40, "--output=x", ""):
        assert (await ann.internal("GET", query + head)).status_code == 404


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
            "POST", "/internal/seen", {"ids": [secret, base, 999999]}, as_service="issues"
        )
        assert answer.json() == {"ids": ids}
    most = {"ids": [base] * (MOST_IDS + 1)}
    assert (await ann.call("POST", "/internal/seen", most, as_service="issues")).status_code == 400


async def test_issues_asks_what_somebody_may_do_who_is_not_calling(world, ann, bob, base):
    await ann.create("secret", private=True)
    nobody = world.user(0, "nobody")
    for path in (f"by-id/{base}/access", "ann/app/access"):
        assert (await nobody.internal("GET", f"{path}?user={ann.principal.id}")).json()["level"] == "owner"
        assert (await nobody.internal("GET", f"{path}?user={bob.principal.id}")).json()["level"] == "read"
    assert (await nobody.internal("GET", f"ann/secret/access?user={bob.principal.id}")).status_code == 404
    assert (await nobody.internal("GET", f"ann/secret/access?user={ann.principal.id}")).status_code == 200
    assert (await nobody.internal("GET", "ann/secret/access?user=x")).status_code == 400


async def test_a_renamed_owner_is_found_under_the_new_name(world, ann):
    await ann.create("app")
    renamed = Account(id=1, kind="user", login="anna", email="ann@example.org")
    await world.hear(UserEdited(account=renamed, previous_login="ann"))
    assert (await ann.get("/repos/anna/app")).json()["full_name"] == "anna/app"


async def test_a_name_that_changed_hands_leads_to_its_new_holder(world, ann, bob):
    await ann.create("app")
    await bob.create("app")
    world.identity.add(1, "old", email="ann@example.org")
    renamed = Account(id=2, kind="user", login="ann", email="bob@example.org")
    await world.hear(UserEdited(account=renamed, previous_login="bob"))
    assert (await ann.get("/repos/ann/app")).json()["owner"]["id"] == 2
    assert (await ann.get("/repos/old/app")).json()["owner"]["id"] == 1


async def test_the_deletion_of_an_account_takes_its_marks_along(world, ann, bob):
    await ann.create("app")
    await bob.call("PUT", "/api/v1/repos/ann/app/collaborators/bob")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob")
    await world.hear(UserDeleted(user_id=2, login="bob"))
    assert (await ann.call("GET", "/api/v1/repos/ann/app/collaborators")).json() == []


async def test_open_issues_are_counted_by_issues(world, ann):
    created = await ann.create("app")
    await world.hear(OpenIssuesCounted(repository_id=created["id"], open_issues=3))
    assert (await ann.get("/repos/ann/app")).json()["open_issues_count"] == 3


async def test_hooks_ask_what_somebody_may_do_now(world, ann, bob, base):
    path = f"by-id/{base}/level"
    assert (await ann.internal("GET", f"{path}?user={bob.principal.id}")).json() == {"level": "read"}
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    assert (await ann.internal("GET", f"{path}?user={bob.principal.id}")).json() == {"level": "write"}
    assert (await ann.internal("GET", f"{path}?user={ann.principal.id}")).json() == {"level": "owner"}
    assert (await ann.internal("GET", f"{path}?user=999999")).json() == {"level": "none"}
    assert (await ann.internal("GET", f"{path}?user=x")).status_code == 400
    assert (await ann.internal("GET", "by-id/999999/level?user=1")).status_code == 404


@pytest.mark.parametrize(
    ("account", "level"), [({"admin": True}, "owner"), ({"admin": True, "active": False}, "none")]
)
async def test_an_administrator_may_all_while_they_may_sign_in(world, ann, base, account, level):
    world.identity.add(77, "root", **account)
    assert (await ann.internal("GET", f"by-id/{base}/level?user=77")).json() == {"level": level}


async def test_a_status_is_announced(world, ann, base):
    told = {"state": "failure", "context": "ci", "description": "it burns"}
    answer = await ann.post("/repos/ann/app/statuses/topic", told)
    assert answer.status_code == 201
    (event,) = await world.events("repos.status.created.v1")
    assert event["status"] == answer.json()
    assert (event["repository"]["full_name"], event["sender"]["login"]) == ("ann/app", "ann")
    assert len(event["sha"]) == 40
