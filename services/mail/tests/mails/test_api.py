"""Administrators see the history of mails, and send mails again."""

ADMIN = {"user": 6, "admin": True, "scopes": ["all"]}


async def test_the_history_shows_states_and_errors(world, mailbox):
    mailbox.refused.add("bob@example.org")
    world.add_issue()
    await world.notify((1, "participating"), (2, "participating"))
    await world.worker.step()
    listed = await world.call("GET", "/admin/mails", **ADMIN)
    assert listed.headers["X-Total-Count"] == "2"
    assert [(one["user_id"], one["state"]) for one in listed.json()] == [(2, "failed"), (1, "sent")]
    failed = (await world.call("GET", "/admin/mails?status=failed", **ADMIN)).json()
    assert [one["user_id"] for one in failed] == [2]
    assert "550" in failed[0]["error"]
    one = await world.call("GET", f"/admin/mails/{failed[0]['id']}", **ADMIN)
    assert one.json() == failed[0]


async def test_a_failed_mail_is_sent_again(world, mailbox):
    mailbox.refused.add("bob@example.org")
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    mailbox.refused.clear()
    (row,) = await world.rows()
    again = await world.call("POST", f"/admin/mails/{row.id}/attempts", **ADMIN)
    assert (again.status_code, again.json()["state"]) == (202, "pending")
    await world.worker.step()
    assert len(mailbox.taken) == 1


async def test_all_failed_mails_are_sent_again(world, mailbox):
    mailbox.refused |= {"ann@example.org", "bob@example.org"}
    world.add_issue()
    await world.notify((1, "participating"), (2, "participating"))
    await world.worker.step()
    mailbox.refused.clear()
    body = {"since": "2020-01-01T00:00:00Z"}
    assert (await world.call("POST", "/admin/mails/attempts", body, **ADMIN)).json() == {"count": 2}
    await world.worker.step()
    assert len(mailbox.taken) == 2


async def test_a_mail_that_was_sent_is_not_sent_again(world, mailbox):
    world.add_issue()
    await world.notify((2, "participating"))
    await world.worker.step()
    (row,) = await world.rows()
    assert (await world.call("POST", f"/admin/mails/{row.id}/attempts", **ADMIN)).status_code == 409
    await world.worker.step()
    assert len(mailbox.taken) == 1


async def test_an_unknown_status_is_refused_by_name(world):
    refused = await world.call("GET", "/admin/mails?status=lost", **ADMIN)
    assert refused.status_code in (400, 422)
    assert "status" in refused.text
