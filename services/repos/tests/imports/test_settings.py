"""Settings and protection rules of a source."""

import pytest

from ingot_repos.imports import store as sources

from .test_people import refused
from .test_sources import (  # noqa: F401 - fixtures
    ANN,
    EVE,
    answer_of,
    copied,
    migrate,
    progress,
    settings,
    source,
    with_releases,
)

SWITCHES = {
    "description": "of a lighthouse",
    "website": "https://example.org/lamps",
    "allow_rebase": False,
    "default_merge_style": "squash",
    "template": True,
    "has_wiki": False,
    "autodetect_manual_merge": False,
    "internal_tracker": {"enable_time_tracker": False, "enable_issue_dependencies": True},
}


def give(source, path, value):  # noqa: F811
    """Let the source answer a request for its repository, or for what is below it."""
    source.lists[path or "/api/v1/repos/there/source"] = value


async def get(person, path=""):
    return (await person.get(f"/repos/bob/copy{path}")).json()


async def test_settings_come_along(world, bob, source):  # noqa: F811
    give(source, "", SWITCHES)
    await migrate(world, bob, source)
    got = await get(bob)
    assert {name: got[name] for name in SWITCHES if name != "internal_tracker"} == {
        name: value for name, value in SWITCHES.items() if name != "internal_tracker"
    }
    assert got["internal_tracker"]["enable_time_tracker"] is False
    assert (got["allow_merge_commits"], got["has_releases"]) == (True, True)


async def test_a_description_of_the_form_stays(world, bob, source):  # noqa: F811
    give(source, "", SWITCHES)
    await migrate(world, bob, source, description="a copy")
    assert (await get(bob))["description"] == "a copy"


@pytest.mark.parametrize(
    "wrong",
    [
        {"website": "javascript:alert(1)"},
        {"website": "https://user:secret@example.org/"},
        {"description": "a\0b" * 500},
        {"default_merge_style": "octopus"},
        {"allow_merge_commits": "yes"},
        {
            "allow_merge_commits": False,
            "allow_rebase": False,
            "allow_rebase_explicit": False,
            "allow_squash_merge": False,
            "allow_fast_forward_only_merge": False,
        },
        ["no", "object"],
    ],
)
async def test_settings_that_are_not_valid_here_are_left_out(world, bob, source, wrong):  # noqa: F811
    give(source, "", wrong if isinstance(wrong, list) else SWITCHES | wrong)
    await migrate(world, bob, source)
    assert (await progress(bob))["status"] == "running"
    got = await get(bob)
    assert got["website"] in ("", SWITCHES["website"])
    assert (len(got["description"]) <= 255, "\0" in got["description"]) == (True, False)
    assert got["allow_merge_commits"]


RULES = [
    {
        "rule_name": "release/*", "priority": 7, "enable_push": True, "enable_push_whitelist": True,
        "push_whitelist_usernames": ["annie", "cat", "gone"], "push_whitelist_teams": ["crew"],
        "enable_status_check": True, "status_check_contexts": ["ci/*", "/re.*/"],
        "protected_file_patterns": "*.key",
    },
    {"branch_name": "old", "required_approvals": 2},
    {"rule_name": "/^regular.*$/"},
    {"rule_name": "priority"},
    {"rule_name": ""},
]  # fmt: skip
TAGS = [{"name_pattern": "v*", "whitelist_usernames": ["annie"]}, {"name_pattern": "/v.*/"}]


def with_rules(source):  # noqa: F811
    give(source, "branch_protections", RULES)
    give(source, "tag_protections", TAGS)
    source.lists |= {"/api/v1/users/annie": ANN, "/api/v1/users/cat": EVE}
    before = source.answer

    async def answer(method, target, headers, writer):
        path = target.partition("?")[0].removeprefix("/api/v1/repos/there/source/")
        if path in ("branch_protections", "tag_protections"):
            return answer_of(source.lists[path])
        return await before(method, target, headers, writer)

    source.answer = answer


async def test_rules_come_with_the_people_who_are_here(world, copied, bob, source):  # noqa: F811
    with_rules(source)
    await migrate(world, bob.but(admin=True), source)
    release, old = sorted(await get(bob, "/branch_protections"), key=lambda one: one["rule_name"] == "old")
    assert (release["rule_name"], release["priority"], release["enable_push"]) == ("release/*", 7, True)
    assert (release["push_whitelist_usernames"], release["push_whitelist_teams"]) == (["ann"], [])
    assert (release["status_check_contexts"], release["protected_file_patterns"]) == (["ci/*"], "*.key")
    assert (old["rule_name"], old["required_approvals"], old["enable_push"]) == ("old", 2, False)
    [tag] = await get(bob, "/tag_protections")
    assert (tag["name_pattern"], tag["whitelist_usernames"]) == ("v*", ["ann"])


async def test_a_source_allows_no_other_person_than_the_importer(world, copied, bob, source):  # noqa: F811
    with_rules(source)
    await migrate(world, bob, source)
    rules = await get(bob, "/branch_protections")
    assert [one["push_whitelist_usernames"] for one in rules if one["enable_push"]] == [[]]


async def test_a_killed_job_adds_no_rule_twice(world, bob, source):  # noqa: F811
    with_releases(source)
    whole, source.files["/there/files/a.zip"] = source.files["/there/files/a.zip"], b""
    with_rules(source)
    await migrate(world, bob, source, releases=True)
    assert (await progress(bob))["status"] == "running"
    source.files["/there/files/a.zip"] = whole
    table = world.database.metadata.tables["job"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(run_at=table.c.created_at))
    await world.components.import_workers.step()
    assert len(await get(bob, "/branch_protections")) == 2
    assert len(await get(bob, "/tag_protections")) == 1


def unmapped(kind, pattern, *logins):
    return {
        "kind": kind, "pattern": pattern, "logins": list(logins), "teams": [], "missing": [],
        "others": 0, "is_left_out": False,
    }  # fmt: skip


CREW = {"teams": ["crew"], "missing": ["the check /re.*/"]}
LEFT_OUT = [
    {
        "kind": kind,
        "pattern": pattern,
        "logins": [],
        "teams": [],
        "missing": [],
        "others": 0,
        "is_left_out": True,
    }
    for kind, pattern in (("branch", "/^regular.*$/"), ("branch", "priority"), ("tag", "/v.*/"))
]


async def test_rules_that_differ_from_the_source_are_named(world, copied, bob, source):  # noqa: F811
    """In a dry run and in the import alike: rules that do not come, and people without an account."""
    with_rules(source)
    root, release = bob.but(admin=True), unmapped("branch", "release/*", "cat", "gone") | CREW
    alone = [unmapped("branch", "release/*", "annie", "cat", "gone") | CREW, unmapped("tag", "v*", "annie")]
    for person, expected in ((root, [release]), (bob, alone)):
        _, report = await refused(person, source, dry_run=True)
        assert report["unmapped_rules"] == LEFT_OUT + expected
    await migrate(world, root, source)
    assert (await progress(bob))["unmapped_rules"] == [*LEFT_OUT, release]


async def test_a_rule_with_many_people_is_reported_with_the_first_of_them(world, bob, source):  # noqa: F811
    """And only the answer about an import reads the report."""
    with_rules(source)
    names = [f"p{number:03}" for number in range(30)]
    give(source, "tag_protections", [{"name_pattern": "v*", "whitelist_usernames": names}])
    repository_id = await migrate(world, bob, source)
    [tag] = [one for one in (await progress(bob))["unmapped_rules"] if one["kind"] == "tag"]
    assert tag == unmapped("tag", "v*", *names[:20]) | {"others": 10}
    async with world.database.read() as db:
        row = await sources.get(db, repository_id)
    assert row.service == "gitea"
    assert not any(hasattr(row, name) for name in ("unmapped_rules", "deploy_keys"))
