"""Limits of texts, and that a text is parsed without a lock."""

import asyncio

import pytest

from ingot_issues.markdown.rules.rendering import LARGEST
from ingot_issues.references import rules as references

TEXTS = [
    ("POST", "/issues", {"title": "x"}),
    ("PATCH", "/issues/1", {}),
    ("POST", "/pulls", {"title": "x", "head": "two", "base": "main"}),
    ("PATCH", "/pulls/1", {}),
    ("POST", "/issues/1/comments", {}),
    ("PATCH", "/issues/comments/1", {}),
]


async def test_a_body_over_the_limit_is_refused(world):
    headers = world.headers(1) | {"content-type": "application/json"}
    body = b'{"title": "' + b"x" * 20_000_000 + b'"}'
    for path in ("issues", "issues/1/comments", "pulls", "labels"):
        answer = await world.http.post(f"/api/v1/repos/ann/app/{path}", content=body, headers=headers)
        assert answer.status_code == 413, path
        assert answer.json()["message"]


@pytest.mark.parametrize(("method", "path", "more"), TEXTS)
async def test_a_text_has_128_k_characters_at_most(world, method, path, more):
    await world.propose()
    assert (await world.call("POST", "/issues/1/comments", {"body": "x"})).json()["id"] == 1
    for body in ("- #1\n" * 1_500_000, "x" * (LARGEST + 1)):
        refused = await world.call(method, path, more | {"body": body})
        assert (refused.status_code, "body" in refused.json()["message"]) == (422, True)
    assert (await world.call("GET", "/issues/1")).json()["comments"] == 1
    assert (await world.call(method, path, more | {"body": "x" * LARGEST})).status_code in (200, 201)


@pytest.mark.parametrize(("method", "path", "more"), TEXTS)
async def test_a_text_is_parsed_without_a_lock(world, monkeypatch, method, path, more):
    """Another request writes into the same repository from within the parser."""
    await world.open_issue("target")
    await world.propose()
    await world.call("POST", "/issues/2/comments", {"body": "x"})
    inner = references.plain_text_of

    async def parse(text: str) -> str:
        if len(text) > 10_000:
            async with asyncio.timeout(30):
                assert (await world.call("POST", "/issues/1/labels", {"labels": []})).status_code == 200
        return await inner(text)

    monkeypatch.setattr(references, "plain_text_of", parse)
    path = path.replace("/1", "/2") if "comments/" not in path else path
    answer = await world.call(method, path, more | {"body": "see #1\n\n" + "x " * 10_000})
    assert answer.status_code in (200, 201)
    kinds = [row["type"] for row in (await world.call("GET", "/issues/1/timeline")).json()]
    assert [kind[-4:] for kind in kinds] == ["_ref"]
