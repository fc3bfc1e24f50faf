"""The audit log of all services, as administrators read it."""

import secrets

import httpx
import pytest

from .deployments import ADMINISTRATOR

PASSWORD = "what ann knows"


@pytest.fixture
async def http(deployment):
    async with httpx.AsyncClient(base_url=f"{deployment.url}api/v1/", timeout=60) as client:
        yield client


@pytest.fixture
async def ann(http):
    """Create a user and return the name."""
    name = f"ann-{secrets.token_hex(3)}"
    new = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
    assert (await http.post("admin/users", json=new, auth=ADMINISTRATOR)).status_code == 201
    return name


async def pages(http, query):
    """Every page from the first on, by the links."""
    answer = await http.get("admin/audit", params=query, auth=ADMINISTRATOR)
    yield answer.json()
    while "next" in answer.links:
        answer = await http.get(answer.links["next"]["url"], auth=ADMINISTRATOR)
        yield answer.json()


async def test_an_administrator_reads_what_somebody_did_in_every_service(http, ann):
    auth = (ann, PASSWORD)
    collaborator = f"repos/{ann}/demo/collaborators/{ADMINISTRATOR[0]}"
    hook = {
        "type": "gitea",
        "config": {"url": "https://example.com/", "content_type": "json", "secret": "s3"},
    }
    answers = [
        await http.post("user/repos", json={"name": "demo"}, auth=auth),
        await http.put(collaborator, json={"permission": "read"}, auth=auth),
        await http.post(f"users/{ann}/tokens", json={"name": "ci"}, auth=auth),
        await http.post(f"repos/{ann}/demo/hooks", json=hook, auth=auth),
        await http.delete(collaborator, auth=auth),
    ]
    assert [answer.status_code for answer in answers] == [201, 204, 201, 201, 204]

    noted = [entry async for page in pages(http, {"actor": ann, "limit": 2}) for entry in page]

    assert [(entry["service"], entry["action"]) for entry in reversed(noted)] == [
        ("repos", "collaborator.add"),
        ("identity", "token.create"),
        ("hooks", "hook.create"),
        ("repos", "collaborator.remove"),
    ]
    assert {entry["via"] for entry in noted} == {"basic"}
    assert all(entry["address"] and entry["request_id"] for entry in noted)
    assert answers[2].json()["sha1"] not in str(noted)
    alone = [page async for page in pages(http, {"actor": ann, "service": "identity"})]
    assert [[entry["action"] for entry in page] for page in alone] == [["token.create"]]


async def test_nobody_else_reads_it(http, ann):
    token = await http.post(f"users/{ann}/tokens", json={"name": "t"}, auth=(ann, PASSWORD))
    headers = {"Authorization": f"token {token.json()['sha1']}"}
    for credential in ({}, {"auth": (ann, PASSWORD)}, {"headers": headers}):
        assert (await http.get("admin/audit", **credential)).status_code == 403


@pytest.mark.parametrize(
    ("field", "value"), [("service", "issues"), ("before", "x"), ("actor", "a" * 61), ("action", "a" * 61)]
)
async def test_a_filter_that_means_nothing_is_named(http, field, value):
    refused = await http.get("admin/audit", params={field: value}, auth=ADMINISTRATOR)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
