"""The audit log of mail: an administrator who sends mails again."""

from ingot_chassis.db.audit import list_entries

ADMIN = {"user": 6, "admin": True, "scopes": ["all"]}


async def test_sending_again_is_noted_with_its_person(world, mailbox):
    mailbox.refused.add("bob@example.org")
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    (row,) = await world.rows()
    since = {"since": "2020-01-01T00:00:00Z"}
    assert (await world.call("POST", f"/admin/mails/{row.id}/attempts", **ADMIN)).status_code == 202
    assert (await world.call("POST", "/admin/mails/attempts", since, **ADMIN)).status_code == 202
    assert (await world.call("POST", "/admin/mails/attempts", since, user=2)).status_code == 403
    async with world.db.read() as db:
        noted = (await list_entries(db, service="mail", limit=100))[::-1]
    assert [(entry.action, entry.actor, entry.subject) for entry in noted] == [
        ("mail.resend", "user6", row.id),
        ("mail.resend", "user6", "failed"),
    ]
    assert [entry.details for entry in noted] == [{"user_id": 2}, {"count": 0}]
