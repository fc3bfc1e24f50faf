"""No page truncates a list silently: its links to the next page lead to every row."""

import re
from html import unescape
from itertools import combinations
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest

from .forge import HOME
from .test_calls import PAGES, lists_of
from .test_forms import ANSWERS
from .world import ROOT

ROWS = 51
"""More than any page of a list has."""
TEAM = "/org/crew/settings/teams/1"
EXCERPTS = {
    "/": {"/repos/issues/search": "/issues", "/user/orgs": "All 51"},
    "/admin/auths/1": {"/admin/auths/1/scim_tokens": "at most 10 tokens"},
    "/admin/imports/1": {
        "/admin/imports/1/teams": "51 teams in all.",
        "/admin/imports/1/absent_members": "and others.",
    },
    "/search?q=a": {
        path: f'href="/explore/{kind}?q=a"'
        for path, kind in (
            ("/repos/search", "repos"),
            ("/users/search", "users"),
            ("/repos/issues/search", "issues"),
        )
    },
    "/ann/demo/compare/main...topic": {
        f"{HOME}/branches": '<input id="head"',
        f"{HOME}/teams": "The first 50 teams are offered.",
    },
    **{
        f"/ann/demo/pulls/1{tab}": {f"{HOME}/pulls/1/comments": "The oldest comments on lines are not shown"}
        for tab in ("", "/files")
    },
}
"""Lists of which a page shows only the first or the latest rows, with its note about the others."""
_NEXT = re.compile(r'<a [^>]*rel="next" href="([^"]*)"')


async def _walk(pages, path):
    """The text of each page to which ``path`` leads by links to the next page, by its address."""
    texts, waiting = {}, [path]
    while waiting:
        address = waiting.pop()
        shown = await pages.get(address, ROOT)
        assert shown.status_code == 200, shown.text
        texts[address] = shown.text
        links = [urljoin(address, unescape(link)) for link in _NEXT.findall(shown.text)]
        waiting += [link for link in links if link not in texts and link not in waiting]
    return texts


@pytest.mark.parametrize("page", PAGES)
async def test_links_to_the_next_page_lead_to_every_row_of_a_list(pages, forge, page):
    forge.failures["/orgs/ann"] = 404
    forge.answers |= ANSWERS | lists_of(ROWS)
    texts = await _walk(pages, page)
    excerpts = EXCERPTS.get(page, {})
    for path, words in excerpts.items():
        assert words in texts[page], path
    totals = {path: len(forge.answers.get(path, [])) for path in forge.rows_read}
    cut = {path: len(rows) for path, rows in forge.rows_read.items() if len(rows) < totals[path]}
    assert cut.keys() == excerpts.keys(), cut


async def test_lists_of_one_page_have_pages_of_their_own(pages, forge):
    forge.answers |= ANSWERS | lists_of(ROWS)
    chosen = {frozenset(parse_qsl(urlsplit(address).query)) for address in await _walk(pages, TEAM)}
    lists = [("page", "2"), ("invitations", "2"), ("repositories", "2")]
    assert chosen == {frozenset(some) for size in range(4) for some in combinations(lists, size)}
    labels = re.findall(r'<nav class="pages" aria-label="([^"]*)"', (await pages.get(TEAM, ROOT)).text)
    assert labels == ["Pages of members", "Pages of invitations", "Pages of repositories"]
