"""Comparing branches by their names."""

import pytest


@pytest.mark.parametrize(
    ("base", "head", "location"),
    [
        ("main", "topic/one", "/ann/demo/compare/main...topic/one"),
        ("main", "ä b", "/ann/demo/compare/main...%C3%A4%20b"),
        ("main", "x\r\nSet-Cookie: a=b", "/ann/demo/compare/main...x%0D%0ASet-Cookie%3A%20a%3Db"),
        ("//evil.example", "x?y#z", "/ann/demo/compare///evil.example...x%3Fy%23z"),
    ],
)
async def test_choosing_branches_leads_to_their_comparison_and_nowhere_else(world, base, head, location):
    answer = await world.client.get("/ann/demo/compare", params={"base": base, "head": head})

    assert (answer.status_code, answer.headers["location"]) == (303, location)
    assert "set-cookie" not in answer.headers
