"""Conditions under which a push is inspected, read with one statement."""

import pytest

from ingot_chassis.clock import now
from ingot_repos.transport.store import push_conditions

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize(
    ("rule", "table", "expected"),
    [
        (None, "", (False, False)),
        (("branch_protections", {"rule_name": "master"}), "", (True, False)),
        (("tag_protections", {"name_pattern": "v*"}), "", (True, False)),
        (None, "lfs_user", (False, True)),
        (None, "lfs_link", (False, True)),
    ],
)
async def test_each_condition_is_seen_and_that_of_another_repository_is_not(
    world, ann, rule, table, expected
):
    app, other = [(await ann.create(name))["id"] for name in ("app", "other")]
    if rule is not None:
        answer = await ann.post(f"/repos/ann/app/{rule[0]}", rule[1])
        assert answer.status_code == 201, answer.text
    tables = world.database.metadata.tables
    async with world.database.transaction() as tx:
        values = {"repository_id": app}
        if table == "lfs_link":
            row = {"shard": "shard-0", "oid": "0" * 64, "size": 1, "uuid": "x", "created_at": now()}
            added = tables["lfs_object"].insert().values(row).returning(tables["lfs_object"].c.id)
            values["object_id"] = (await tx.execute(added)).scalar_one()
        if table:
            await tx.execute(tables[table].insert().values(values))
    async with world.database.read() as db:
        for repository, conditions in ((app, expected), (other, (False, False))):
            row = await push_conditions.get(db, repository, 1)
            assert (row.is_protected, row.uses_lfs, row.has_account) == (*conditions, True)
        assert not (await push_conditions.get(db, app, 99)).has_account
