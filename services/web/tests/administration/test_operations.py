"""Periodic tasks, jobs, dead-lettered events and the audit log, as administrators see them on pages."""

import time

import pytest

from ingot_chassis.clock import now
from ingot_chassis.operations import (
    AuditEntry,
    DeadLetteredEvent,
    JobReport,
    JobReports,
    Replayed,
    TaskReport,
)

from ..world import ANN, ROOT

SWEEP = "hooks_sweep"


@pytest.fixture
def forge(forge):
    entry = AuditEntry(
        id="0" * 24, created_at=now(), service="hooks", action="hook.create", subject="hook 1", actor_id=1,
        actor="ann",
        details={"events": ["push", "create"]}, sudo_by="", via="basic", address="10.0.0.1", request_id="r",
    )  # fmt: skip
    event = DeadLetteredEvent("7", "repos.branch.pushed.v1", "9", now(), error="<b>no row</b>")
    job = JobReport(
        id=3, kind="migrate", key="9", run_at=now(), attempts=2, progress="", error="<b>no remote</b>",
        owner=""
    )  # fmt: skip
    forge.internal |= {
        "GET /internal/jobs": JobReports({"waiting": 1, "failed": 2}, [job]),
        "POST /internal/jobs/3": None,
        "DELETE /internal/jobs/3": None,
        "GET /internal/tasks": [TaskReport(SWEEP, 3600, 2, now(), None)],
        "GET /internal/audit": [entry],
        "GET /internal/dead-lettered": [event, DeadLetteredEvent("8", "a.b.v1", "9", now(), size=3_000_000)],
        "POST /internal/dead-lettered": Replayed(applied=1, left=0, sent_again=1),
        f"POST /internal/tasks/{SWEEP}": None,
    }
    return forge


async def test_an_administrator_runs_a_task_now(pages, forge):
    answer = await pages.submit("/admin/tasks", "Run now", to="/admin/tasks", caller=ROOT)
    address = answer.headers["location"]
    assert address.startswith(f"/admin/tasks?outcome=ran+{SWEEP}&proof=")
    assert forge.calls[-1] == ("POST", f"/internal/tasks/{SWEEP}")
    assert ["was run" in (await pages.get(address, ROOT)).text for _ in range(2)] == [True, False]
    assert "was run" not in (await pages.get("/admin/tasks?ran=all", ROOT)).text
    form = {"token": pages.form_token(ROOT, at=time.time()), "name": "repos_../x"}
    refused = await pages.post("/admin/tasks", form, ROOT)
    assert refused.status_code == 404


async def test_an_administrator_sees_events_that_wait_and_tries_them_once_more(pages, forge):
    shown = (await pages.get("/admin/events", ROOT)).text
    assert "&lt;b&gt;no row&lt;/b&gt;" in shown
    assert "2.9 MiB" in shown
    answer = await pages.submit(shown, "Try again", to="/admin/events", caller=ROOT)
    assert "1 applied, 0 left, 1 on the way again" in answer.text


async def test_services_without_failed_events_say_so(pages, forge):
    forge.internal["GET /internal/dead-lettered"] = []
    assert "No failed events." in (await pages.get("/admin/events", ROOT)).text


async def test_an_administrator_sees_jobs_and_tries_one_now_or_forgets_it(pages, forge):
    for state, button, method in (("waiting", "Run now", "POST"), ("failed", "Forget", "DELETE")):
        page = f"/admin/jobs?state={state}"
        shown = (await pages.get(page, ROOT)).text
        assert "&lt;b&gt;no remote&lt;/b&gt;" in shown
        assert 'Failed <span class="count">10</span>' in shown, "two of each service"
        answer = await pages.submit(shown, button, to=page, caller=ROOT)
        assert (answer.headers["location"], forge.calls[-1]) == (page, (method, "/internal/jobs/3"))
    form = {"token": pages.form_token(ROOT, at=time.time()), "service": "repos/..", "id": "3"}
    refused = await pages.post("/admin/jobs", form, ROOT)
    assert (refused.status_code, "that job ended" in refused.text) == (404, True)


async def test_an_administrator_reads_who_did_what(pages, forge):
    shown = (await pages.get("/admin/audit?actor=ann&before=x", ROOT)).text
    assert "push, create" in shown
    assert 'value="ann"' in shown
    assert '<label for="action">Action</label>' in shown
    assert 'id="action-hint">Prefix, such as token.<' in shown


async def test_a_service_that_is_down_hides_nothing_of_the_others(pages, forge):
    shown = (await pages.get("/admin/events", ROOT)).text
    forge.down = {"hooks"}
    for path, row in (
        ("tasks", SWEEP),
        ("jobs", "no remote"),
        ("events", "no row"),
        ("audit", "hook.create"),
    ):
        answer = await pages.get(f"/admin/{path}", ROOT)
        assert (answer.status_code, answer.text.count("does not answer")) == (200, 1)
        assert "hooks does not answer" in answer.text
        assert row in answer.text
    answer = await pages.submit(shown, "Try again", to="/admin/events", caller=ROOT)
    assert (answer.status_code, answer.text.count('role="alert"')) == (503, 1)
    assert "no row" in answer.text
    page = (await pages.get("/admin/tasks", ROOT)).text
    answer = await pages.submit(page, "Run now", to="/admin/tasks", caller=ROOT)
    assert (answer.status_code, answer.text.count('role="alert"'), SWEEP in answer.text) == (503, 1, True)


async def test_an_administrator_sees_the_limits_that_the_gateway_tells(pages):
    assert "did not come through it" in (await pages.get("/admin/limits", ROOT)).text
    headers = pages.callers.headers(ROOT) | {
        "ingot-rate-limits": '{"account":600,"token":0,"address":60,"refusals":{"address":7}}'
    }
    shown = (await pages.client.get("/admin/limits", headers=headers)).text
    assert ("600 points" in shown, shown.count("any number")) == (True, 1)
    assert ("7 refused" in shown, shown.count(" refused<")) == (True, 1)


@pytest.mark.parametrize("path", ["tasks", "jobs", "events", "audit", "limits"])
async def test_nobody_else_sees_or_does_any_of_it(pages, forge, path):
    for caller, status in ((None, 401), (ANN, 403)):
        assert (await pages.get(f"/admin/{path}", caller)).status_code == status
        assert (await pages.post(f"/admin/{path}", {"name": SWEEP}, caller)).status_code in (403, 405)
    assert not any(target.startswith("/internal/") for _, target in forge.calls)
