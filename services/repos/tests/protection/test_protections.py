"""Protected branches and tags: pushes, changes by the API, merges and deletions obey one set of rules."""

import asyncio

import pytest

from ingot_git.refs.refs import RefChange
from ingot_repos.protection.rules.decisions import Actor, rules_of
from ingot_testing.non_empty import non_empty

from ..world import commit, git

BRANCHES, TAGS = "/repos/ann/app/branch_protections", "/repos/ann/app/tag_protections"


@pytest.fixture
async def work(base, ann, bob, git_url, tmp_path):
    """The work tree of ann/app, where bob may write; master and topic are there."""
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    return tmp_path / "work"


async def push(person, git_url, work, *refs):
    """Exit code and output of a push."""
    return await git("push", f"{git_url}/ann/app.git", *refs, cwd=work, person=person, check=False)


async def protect(person, name, *, repository="ann/app", **fields):
    answer = await person.post(f"/repos/{repository}/branch_protections", {"rule_name": name, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def tip_of(person, branch="master"):
    answer = await person.get(f"/repos/ann/app/branches/{branch}")
    return answer.json()["commit"]["id"] if answer.status_code == 200 else None


@pytest.mark.parametrize("name", ["master", "mas*", "{master,main}"])
async def test_a_refused_push_names_the_rule_and_the_other_refs_of_it_go_on(ann, git_url, work, name):
    await protect(ann, name)
    before = await tip_of(ann)
    await git("checkout", "-q", "master", cwd=work)
    new = await commit(work)
    code, output = await push(ann, git_url, work, "master", "master:other")
    assert code != 0
    assert f"remote: the rule {name!r} protects the branch 'master'" in output
    assert (await tip_of(ann), await tip_of(ann, "other")) == (before, new)


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, {"ann": False, "bob": False}),
        ({"enable_push": True}, {"ann": True, "bob": True}),
        ({"enable_push": True, "enable_push_whitelist": True}, {"ann": False, "bob": False}),
        (
            {"enable_push": True, "enable_push_whitelist": True, "push_whitelist_usernames": ["BOB"]},
            {"ann": False, "bob": True},
        ),
    ],
)
async def test_who_may_push_is_said_by_the_rule(ann, bob, git_url, work, fields, codes):
    await protect(ann, "master", **fields)
    await git("checkout", "-q", "master", cwd=work)
    for person, login in ((ann, "ann"), (bob, "bob")):
        await commit(work)
        code, _ = await push(person, git_url, work, "master")
        assert (code == 0) == codes[login], login


async def test_deploy_keys_push_where_the_rule_names_them(world, ann, base):
    push_, force = {"enable_push": True, "enable_push_whitelist": True}, {"enable_force_push": True}
    key, change = Actor(0, is_deploy_key=True), RefChange("refs/heads/master", "1" * 40, "2" * 40)
    for number, (fields, refused, forced_only) in enumerate((
        (push_, True, False),
        (push_ | {"push_whitelist_deploy_keys": True}, True, True),
        (push_ | force | {"push_whitelist_deploy_keys": True, "enable_force_push_allowlist": True}, True,
         True),
        (push_ | force | {"push_whitelist_deploy_keys": True, "enable_force_push_allowlist": True,
                          "force_push_allowlist_deploy_keys": True}, False, False),
    )):  # fmt: skip
        if number:
            await ann.call("DELETE", f"/api/v1{BRANCHES}/master")
        await protect(ann, "master", **fields)
        async with world.database.read() as db:
            refusals = (await rules_of(db, base)).refusals(key, [change])
        assert [one.forced_only for one in refusals] == ([forced_only] if refused else []), fields


@pytest.mark.parametrize(
    ("fields", "is_allowed"),
    [
        ({}, False),
        ({"enable_force_push": True}, True),
        ({"enable_force_push": True, "enable_force_push_allowlist": True}, False),
        (
            {
                "enable_force_push": True,
                "enable_force_push_allowlist": True,
                "force_push_allowlist_usernames": ["ann"],
            },
            True,
        ),
    ],
)
async def test_history_is_replaced_only_where_the_rule_says_so(ann, git_url, work, fields, is_allowed):
    await protect(ann, "topic", enable_push=True, **fields)
    await git("checkout", "-q", "topic", cwd=work)
    await commit(work)
    assert (await push(ann, git_url, work, "topic"))[0] == 0
    await git("reset", "-q", "--hard", "HEAD~2", cwd=work)
    await commit(work)
    code, output = await push(ann, git_url, work, "+topic")
    assert (code == 0) == is_allowed
    assert ("history must not be replaced" in output) == (not is_allowed)


async def test_a_protected_branch_is_not_deleted_by_anybody(ann, git_url, work):
    await protect(ann, "topic", enable_push=True, enable_force_push=True)
    code, output = await push(ann, git_url, work, ":topic")
    assert (code != 0, "it must not be deleted" in output) == (True, True)
    tip = await tip_of(ann, "topic")
    answer = await ann.internal("DELETE", f"1/branches/topic?tip={tip}")
    assert (answer.status_code, "'topic'" in answer.json()["message"]) == (403, True)
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app/branches/topic")).status_code == 403
    assert (await ann.call("DELETE", f"/api/v1{BRANCHES}/topic")).status_code == 204
    assert (await push(ann, git_url, work, ":topic"))[0] == 0


async def test_the_first_rule_by_priority_protects(ann, git_url, work):
    await protect(ann, "*", enable_push=True)
    await protect(ann, "topic")
    rules = (await ann.get(BRANCHES)).json()
    assert [(rule["rule_name"], rule["priority"]) for rule in rules] == [("*", 1), ("topic", 2)]
    await git("checkout", "-q", "topic", cwd=work)
    await commit(work)
    assert (await push(ann, git_url, work, "topic"))[0] == 0
    assert (await ann.post(f"{BRANCHES}/priority", {"ids": [2]})).status_code == 204
    await commit(work)
    assert (await push(ann, git_url, work, "topic"))[0] != 0


async def test_the_api_changes_protected_branches_no_more_than_a_push(ann, bob, work):
    await protect(ann, "master")
    body = {"content": "b25l", "message": "one", "branch": "master"}
    before = await tip_of(ann)
    for person in (ann, bob):
        answer = await person.post("/repos/ann/app/contents/one.txt", body)
        assert (answer.status_code, "the rule 'master'" in answer.json()["message"]) == (403, True)
    assert await tip_of(ann) == before
    assert (await ann.post("/repos/ann/app/contents/one.txt", body | {"branch": "topic"})).status_code == 201


async def test_protected_tags_are_for_those_in_the_list(ann, bob, git_url, work):
    rule = await ann.post(TAGS, {"name_pattern": "v*", "whitelist_usernames": ["ann"]})
    assert (rule.status_code, rule.json()["whitelist_usernames"]) == (201, ["ann"])
    assert (await ann.post(TAGS, {"name_pattern": "v*"})).status_code == 403
    other = (await ann.post(TAGS, {"name_pattern": "w*"})).json()["id"]
    for pattern, status in (("v*", 403), ("w*", 200)):
        edited = await ann.call("PATCH", f"/api/v1{TAGS}/{other}", {"name_pattern": pattern})
        assert edited.status_code == status
    code, output = await push(bob, git_url, work, "master:refs/tags/v1")
    assert (code != 0, "the rule 'v*' protects the tag 'v1'" in output) == (True, True)
    assert (await push(ann, git_url, work, "master:refs/tags/v1"))[0] == 0
    assert (await push(bob, git_url, work, ":refs/tags/v1"))[0] != 0
    assert (await push(bob, git_url, work, "master:refs/tags/x1"))[0] == 0
    assert (await bob.post("/repos/ann/app/tags", {"tag_name": "v2"})).status_code == 403
    assert (await bob.post("/repos/ann/app/releases", {"tag_name": "v2"})).status_code == 403
    assert (await ann.post("/repos/ann/app/releases", {"tag_name": "v2"})).status_code == 201
    assert (await bob.get("/repos/ann/app")).json()["release_counter"] == 1


async def test_a_branch_that_no_url_can_name_is_refused_with_the_reason(ann, git_url, work):
    for name in ("@", "-x", "HEAD"):
        code, output = await push(ann, git_url, work, f"master:refs/heads/{name}")
        assert (code != 0, "cannot have this name" in output) == (True, True), name
    assert (await push(ann, git_url, work, "master:refs/heads/ok"))[0] == 0
    assert len((await ann.get("/repos/ann/app/branches")).json()) == 3


async def merge(person, **query):
    body = {"number": 1, "base_branch": "master", "head_sha": await tip_of(person, "topic")}
    path = "1/merge?override=true" if query.get("override") else "1/merge"
    return await person.internal("POST", path, body | {"head_repository_id": 1, "head_branch": "topic"})


@pytest.mark.parametrize(
    ("fields", "statuses"),
    [
        ({}, {"bob": 200}),
        ({"enable_merge_whitelist": True}, {"bob": 405, "ann": 405, "ann overrides": 200}),
        ({"enable_merge_whitelist": True}, {"bob overrides": 405}),
        ({"enable_merge_whitelist": True, "block_admin_merge_override": True}, {"ann overrides": 405}),
        ({"enable_merge_whitelist": True, "merge_whitelist_usernames": ["bob"]}, {"ann": 405, "bob": 200}),
        ({"enable_status_check": True}, {"bob": 405}),
        ({"enable_status_check": True, "status_check_contexts": ["ci/*"]}, {"bob": 405}),
        (
            {
                "enable_merge_whitelist": True,
                "block_admin_merge_override": True,
                "enable_bypass_allowlist": True,
                "bypass_allowlist_usernames": ["bob"],
            },
            {"ann overrides": 405, "bob": 405, "bob overrides": 200},
        ),
    ],
)
async def test_a_merge_obeys_the_rule_of_its_base(ann, bob, work, fields, statuses):
    await protect(ann, "master", **fields)
    for case, status in non_empty(statuses.items()):
        person = ann if case.startswith("ann") else bob
        answer = await merge(person, override="overrides" in case)
        assert answer.status_code == status, (case, answer.text)


async def edit_file(person):
    body = {"content": "b25l", "message": "one", "branch": "topic"}
    return await person.post("/repos/ann/app/contents/one.txt", body)


async def update_topic(person):
    body = {"head_branch": "topic", "head_sha": await tip_of(person, "topic"), "base_branch": "master"}
    return await person.internal("POST", "1/update-branch", body | {"base_repository_id": 1})


async def delete_topic(person):
    return await person.internal("DELETE", f"1/branches/topic?tip={await tip_of(person, 'topic')}")


@pytest.mark.parametrize(
    ("branch", "change", "status"),
    [("master", merge, 405), ("topic", edit_file, 403), ("topic", update_topic, 403),
     ("topic", delete_topic, 403)],
)  # fmt: skip
async def test_a_rule_that_is_made_while_a_change_waits_for_its_turn_counts(
    world, ann, bob, git_url, work, branch, change, status
):
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "later.txt", "later")
    assert (await push(ann, git_url, work, "master"))[0] == 0
    before = await tip_of(ann, branch)
    turn = world.components.pushes.turn(1)
    async with turn:
        waiting = asyncio.create_task(change(bob))
        while not turn._waiters:
            await asyncio.sleep(0)
        await protect(ann, branch, enable_merge_whitelist=True)
    answer = await waiting
    assert (answer.status_code, f"the rule '{branch}'" in answer.text) == (status, True)
    assert await tip_of(ann, branch) == before


async def test_a_head_that_is_behind_its_base_by_now_is_not_merged(ann, bob, git_url, work):
    """Whatever issues knew of the branches when it asked."""
    await protect(ann, "master", enable_push=True, block_on_outdated_branch=True)
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "later.txt", "later")
    assert (await push(ann, git_url, work, "master"))[0] == 0
    behind = await tip_of(ann)
    refused = await merge(bob)
    assert (refused.status_code, "is behind it" in refused.text) == (409, True)
    assert (await merge(bob, override=True)).status_code == 409  # bob may not override
    assert await tip_of(ann) == behind
    await git("checkout", "-q", "topic", cwd=work)
    await git("merge", "-q", "--no-edit", "master", cwd=work)
    assert (await push(ann, git_url, work, "topic"))[0] == 0
    assert (await merge(bob)).status_code == 200


async def test_who_may_override_merges_a_head_that_is_behind(ann, bob, git_url, work):
    await protect(ann, "master", enable_push=True, block_on_outdated_branch=True)
    await git("checkout", "-q", "master", cwd=work)
    await commit(work, "later.txt", "later")
    assert (await push(ann, git_url, work, "master"))[0] == 0
    assert (await merge(ann)).status_code == 409
    assert (await merge(ann, override=True)).status_code == 200


async def test_checks_that_are_required_must_succeed_at_the_head(ann, bob, work):
    await protect(ann, "master", enable_status_check=True, status_check_contexts=["ci/*", "lint"])
    sha = await tip_of(ann, "topic")
    rule = f"1/merge-rule?branch=master&head={sha}"
    for context, state, missing in (
        ("ci/test", "pending", ["ci/*", "lint"]),
        ("ci/test", "success", ["lint"]),
        ("ci/more", "failure", ["ci/*", "lint"]),
        ("ci/more", "skipped", ["lint"]),
        ("lint", "success", []),
    ):
        await ann.post(f"/repos/ann/app/statuses/{sha}", {"context": context, "state": state})
        shown = (await bob.internal("GET", rule)).json()
        assert (shown["rule_name"], shown["missing_checks"]) == ("master", missing)
        assert (await merge(bob)).status_code == (405 if missing else 200)


async def test_issues_gets_what_it_needs_of_the_rule(ann, bob, work):
    unprotected = (await bob.internal("GET", "1/merge-rule?branch=master&head=")).json()
    assert (unprotected["rule_name"], unprotected["required_approvals"]) == ("", 0)
    await protect(
        ann,
        "master",
        required_approvals=2,
        enable_approvals_whitelist=True,
        approvals_whitelist_username=["bob"],
        block_on_rejected_reviews=True,
        block_on_outdated_branch=True,
        dismiss_stale_approvals=True,
    )
    shown = (await bob.internal("GET", "1/merge-rule?branch=master&head=")).json()
    assert (shown["required_approvals"], shown["approvers"], shown["may_override"]) == (2, [2], False)
    assert shown["block_on_rejected_reviews"]
    assert (await ann.internal("GET", "1/merge-rule?branch=master")).json()["may_override"] is True
    assert (await ann.call("GET", "/internal/repositories/1/merge-rule", peer="hooks")).status_code == 404
