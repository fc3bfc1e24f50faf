"""The API of rules for branches."""

import pytest

PATH = "/repos/ann/app/branch_protections"


@pytest.fixture
async def app(ann, bob):
    return await ann.create("app", auto_init=True)


async def test_a_rule_is_created_shown_changed_and_deleted(ann, bob, app):
    created = await ann.post(PATH, {"rule_name": "release/*", "push_whitelist_usernames": ["Bob"]})
    assert created.status_code == 201
    rule = created.json()
    assert (rule["rule_name"], rule["branch_name"], rule["priority"]) == ("release/*", "release/*", 1)
    assert rule["push_whitelist_usernames"] == ["bob"]
    assert (await ann.get(f"{PATH}/release/*")).json() == rule
    assert (await ann.get(PATH)).json() == [rule]
    changes = {"required_approvals": 1, "push_whitelist_usernames": [], "priority": 7, "enable_push": True}
    edited = (await ann.call("PATCH", f"/api/v1{PATH}/release/*", changes)).json()
    assert {name: edited[name] for name in changes} == changes
    assert {name: edited[name] for name in rule if name not in {*changes, "updated_at"}} == {
        name: rule[name] for name in rule if name not in {*changes, "updated_at"}
    }
    assert (await ann.call("DELETE", f"/api/v1{PATH}/release/*")).status_code == 204
    assert (await ann.get(f"{PATH}/release/*")).status_code == 404
    assert (await ann.call("PATCH", f"/api/v1{PATH}/release/*", {})).status_code == 404
    assert (await ann.call("DELETE", f"/api/v1{PATH}/release/*")).status_code == 404


async def test_a_rule_has_its_name_alone(ann, app):
    assert (await ann.post(PATH, {"branch_name": "main"})).status_code == 201
    assert (await ann.post(PATH, {"rule_name": "main"})).status_code == 403
    unknown = await ann.post(f"{PATH}/priority", {"ids": [1, 99]})
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (422, "ids")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "rule_name"),
        ({"rule_name": "a\nb"}, "rule_name"),
        ({"rule_name": "[a"}, "rule_name"),
        ({"rule_name": "/v[0-9]+/"}, "rule_name"),
        ({"rule_name": "n" * 256}, "rule_name"),
        ({"rule_name": "priority"}, "rule_name"),
        ({"rule_name": "a", "push_whitelist_usernames": ["nobody"]}, "push_whitelist_usernames"),
        ({"rule_name": "a", "push_whitelist_teams": ["nobody"]}, "push_whitelist_teams"),
        ({"rule_name": "a", "merge_whitelist_usernames": ["x"] * 101}, "merge_whitelist_usernames"),
        ({"rule_name": "a", "required_approvals": -1}, "required_approvals"),
        ({"rule_name": "a", "required_approvals": 2**70}, "required_approvals"),
        ({"rule_name": "a", "protected_file_patterns": "a;[b"}, "protected_file_patterns"),
        ({"rule_name": "a", "status_check_contexts": ["[x"]}, "status_check_contexts"),
    ],
)
async def test_a_rule_that_cannot_be_is_refused_by_field(ann, app, body, field):
    answer = await ann.post(PATH, body)
    assert answer.status_code == 422, answer.text
    if answer.status_code == 422:
        assert answer.json()["errors"][0]["field"].startswith(field)
    assert (await ann.get(PATH)).json() == []


async def test_a_list_of_rules_costs_the_same_however_many_there_are(world, ann, bob, app):
    costs = []
    for number in range(3):
        await ann.post(PATH, {"rule_name": f"r{number}", "push_whitelist_usernames": ["ann", "bob"]})
        with world.count_statements() as statements:
            await ann.get(PATH)
        costs.append(len(statements))
    assert len(set(costs)) == 1


async def test_teams_that_have_the_repository_are_named_in_rules(world, ann, app):
    world.organization(9, "acme")
    world.identity.join(1, 9, owner=True, teams={50: "owner"})
    world.identity.add_team(50, 9, "owner", name="Owners")
    await ann.post("/orgs/acme/repos", {"name": "lib", "auto_init": True})
    path = "/repos/acme/lib/branch_protections"
    created = await ann.post(
        path, {"rule_name": "a", "enable_push": True, "push_whitelist_teams": ["owners"]}
    )
    assert (created.status_code, created.json()["push_whitelist_teams"]) == (201, ["Owners"])


async def test_branches_say_what_protects_them_and_what_the_caller_may_do(world, ann, bob, app):
    branches = "/repos/ann/app/branches"
    for name in ("release/1", "release/2", "topic"):
        await ann.post(branches, {"new_branch_name": name})
    with world.count_statements() as without:
        await ann.get(branches)
    rule = {
        "rule_name": "release/*",
        "enable_push": True,
        "enable_push_whitelist": True,
        "push_whitelist_usernames": ["ann"],
        "enable_merge_whitelist": True,
        "merge_whitelist_usernames": ["bob"],
        "required_approvals": 2,
        "enable_status_check": True,
        "status_check_contexts": ["ci/*"],
    }
    await ann.post(PATH, rule)
    with world.count_statements() as statements:
        listed = {branch["name"]: branch for branch in (await ann.get(branches)).json()}
    assert len(statements) == len(without)
    assert not listed["topic"]["protected"]
    assert listed["topic"]["effective_branch_protection_name"] == ""
    protected = {
        "protected": True,
        "required_approvals": 2,
        "enable_status_check": True,
        "status_check_contexts": ["ci/*"],
        "user_can_push": True,
        "user_can_merge": False,
        "effective_branch_protection_name": "release/*",
    }
    assert listed["release/1"] == listed["release/1"] | protected
    one = (await ann.get(f"{branches}/release/2")).json()
    assert one == one | protected
    created = (await ann.post(branches, {"new_branch_name": "release/3"})).json()
    assert created == created | protected
    stranger = (await bob.get(f"{branches}/release/1")).json()
    nothing = {"user_can_push": False, "user_can_merge": False, "effective_branch_protection_name": ""}
    assert stranger == stranger | protected | nothing
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "write"})
    writer = (await bob.get(f"{branches}/release/1")).json()
    assert (writer["user_can_push"], writer["user_can_merge"]) == (False, True)
    matching = await ann.get(f"{branches}?q=SE/&limit=2")
    assert ([branch["name"] for branch in matching.json()], matching.headers["X-Total-Count"]) == (
        ["release/1", "release/2"],
        "3",
    )
