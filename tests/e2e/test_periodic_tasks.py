"""The periodic tasks of all services, as administrators see them."""

import secrets

import httpx
import pytest

from .deployments import ADMINISTRATOR

SENT = "repos_forget_sent_events"


@pytest.fixture
async def http(deployment):
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as client:
        yield client


async def test_an_administrator_sees_the_tasks_of_every_service_and_runs_one(http):
    listed = await http.get("admin/cron", params={"limit": 50}, auth=ADMINISTRATOR)
    tasks = {task["name"]: task for task in listed.json()}
    assert {name.partition("_")[0] for name in tasks} == {"hooks", "identity", "issues", "mail", "repos"}
    assert int(listed.headers["x-total-count"]) == len(tasks)
    assert tasks[SENT]["schedule"] == "@every 3600s"
    ran = await http.post(f"admin/cron/{SENT}", auth=ADMINISTRATOR)
    assert (ran.status_code, ran.content) == (204, b"")


@pytest.mark.parametrize("name", ["missing", "repos_missing", "gateway_x", "repos_..%2Freadyz", "repos_"])
async def test_what_is_no_task_is_not_found(http, name):
    assert (await http.post(f"admin/cron/{name}", auth=ADMINISTRATOR)).status_code == 404


async def test_nobody_else_sees_them(http):
    name, password = f"ann-{secrets.token_hex(3)}", "what ann knows"
    new = {"username": name, "email": f"{name}@example.org", "password": password}
    assert (await http.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
    for credential in (None, (name, password)):
        assert (await http.get("admin/cron", auth=credential)).status_code == 403
        assert (await http.post(f"admin/cron/{SENT}", auth=credential)).status_code == 403
