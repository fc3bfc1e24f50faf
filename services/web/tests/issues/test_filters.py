"""Lists of issues and of pull requests, with filters."""

import re
from html import unescape
from urllib.parse import parse_qs

import pytest

from ingot_contracts.testing.forms import form_of
from ingot_web.issues.rules.filters import ListFilter

from ..forge import HOME, issue
from ..world import ANN

LISTS = ["/ann/demo/issues", "/ann/demo/pulls"]


def label(number, name):
    return {"id": number, "name": name, "color": "ff0000", "description": ""}


def links(html):
    """Addresses of the links of a page by the words that everybody gets."""
    pairs = re.findall(r'<a (?:[^>]* )?href="([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    beside = re.compile(r'<span aria-hidden="true">.*?</span>|<[^>]*>')
    return {beside.sub("", unescape(words)): unescape(address) for address, words in pairs}


def menu(html, words):
    """The part of a page from these words of a menu to its end."""
    return html.partition(words)[2].partition("</details>")[0]


@pytest.mark.parametrize(
    ("query", "filter_of_list"),
    [
        ([], ListFilter()),
        ([("state", "strange"), ("without", "hope"), ("page", "2")], ListFilter()),
        ([("labels", "bug"), ("labels", ""), ("labels", "bug")], ListFilter(labels=("bug",))),
        ([("labels", str(n)) for n in range(51)], ListFilter(labels=tuple(str(n) for n in range(50)))),
        ([("milestone", "1.0"), ("milestone", "2.0")], ListFilter(milestone="2.0")),
        (
            [("without", "assignee"), ("without", "labels"), ("state", "all")],
            ListFilter("all", without=("labels", "assignee")),
        ),
    ],
)
def test_an_address_says_what_a_list_shows(query, filter_of_list):
    assert ListFilter.of(query) == filter_of_list


@pytest.mark.parametrize("page", LISTS)
async def test_a_list_shows_what_has_all_labels_that_were_chosen_one_after_the_other(pages, forge, page):
    labels = [label(1, "bug"), label(2, "ui, or text"), label(3, "2026")]
    forge.answers |= {f"{HOME}/labels": labels, f"{HOME}/issues": [issue()]}
    address = f"{page}?poster=bob"
    for name in ("bug", "ui, or text", "2026"):
        address = page + links((await pages.get(address)).text)[name]
    shown = (await pages.get(address)).text
    query = parse_qs(forge.queries[f"{HOME}/issues"])
    assert (query["label_name"], query["created_by"]) == (["bug", "ui, or text", "2026"], ["bob"])
    assert "labels" not in query
    assert "Label: bug, ui, or text, 2026<" in shown
    assert links(shown)["bug, no longer"] == "?state=open&labels=ui%2C+or+text&labels=2026&poster=bob"
    assert links(menu(shown, "Label: "))["Any"] == "?state=open&poster=bob"
    assert form_of(shown, "", "Search").values["labels"] == ["bug", "ui, or text", "2026"]


@pytest.mark.parametrize("page", LISTS)
async def test_a_list_shows_what_has_no_label_no_milestone_and_nobody(pages, forge, page):
    forge.answers |= {f"{HOME}/labels": [label(1, "bug")], f"{HOME}/issues": [issue()]}
    address = f"{page}?labels=bug&milestone=1.0&assignee=carl&sort=oldest"
    for words in ("No label", "No milestone", "Nobody"):
        address = page + links((await pages.get(address)).text)[words]
    shown = (await pages.get(address)).text
    query = parse_qs(forge.queries[f"{HOME}/issues"])
    assert query["without"] == ["labels", "milestone", "assignee"]
    assert query.keys().isdisjoint({"label_name", "milestone_title", "assigned_by"})
    for words in ("Label: none<", "Milestone: none<", "Assignee: nobody<"):
        assert words in shown
    others = "&sort=oldest&without=milestone&without=assignee"
    assert links(shown)["bug"] == f"?state=open&labels=bug{others}"
    assert links(shown)["Closed"].startswith("?state=closed&sort=oldest&without=labels&")
    people = form_of(menu(shown, "Assignee: "), "", "Show").values
    assert people["without"] == ["labels", "milestone"]
    assert "Clear filters" in shown


async def test_closed_milestones_stand_behind_the_open_ones(pages, forge):
    forge.answers[f"{HOME}/issues"] = [issue()]
    for state, titles in (("open", ("2.0", "3.0, or never")), ("closed", ("1.0",))):
        forge.answers[f"{HOME}/milestones?state={state}"] = [{"title": title} for title in titles]
    shown = (await pages.get("/ann/demo/issues?milestone=2.0", ANN)).text
    choices = links(menu(shown, "Milestone: 2.0<"))
    assert list(choices) == ["Any", "No milestone", "2.0", "3.0, or never", "1.0 closed"]
    await pages.get("/ann/demo/issues" + choices["3.0, or never"], ANN)
    assert parse_qs(forge.queries[f"{HOME}/issues"])["milestone_title"] == ["3.0, or never"]
    assert "All milestones" not in shown


async def test_a_menu_has_the_newest_of_many_closed_milestones_and_a_way_to_all(pages, forge):
    path = f"{HOME}/milestones"
    forge.answers[f"{path}?state=closed"] = [{"title": f"v{number}"} for number in range(201, 0, -1)]
    shown = menu((await pages.get("/ann/demo/issues", ANN)).text, "Milestone<")
    assert [words for words in links(shown) if words.endswith(" closed")] == [
        f"v{number} closed" for number in range(201, 151, -1)
    ]
    assert links(shown)["All milestones"] == "/ann/demo/milestones"
    assert path not in forge.read_paths


@pytest.mark.parametrize(
    ("query", "followed"),
    [
        ("", ["?state=open", "?state=closed"]),
        ("?state=closed", ["?state=open", "?state=closed"]),
        ("?labels=bug", ["?state=open"]),
        ("?labels=bug&state=all", []),
    ],
)
async def test_robots_follow_only_the_plain_states_of_a_list(pages, forge, query, followed):
    forge.answers |= {f"{HOME}/labels": [label(1, "bug"), label(2, "ui")], f"{HOME}/issues": [issue()]}
    for state in ("open", "closed"):
        forge.answers[f"{HOME}/milestones?state={state}"] = [{"title": state}]
    shown = (await pages.get(f"/ann/demo/issues{query}", ANN)).text
    tags = re.findall(r'<a [^>]*href="\?[^>]*>', shown)
    assert len(tags) > 10
    assert [re.search(r'href="([^"]*)"', tag)[1] for tag in tags if 'rel="nofollow"' not in tag] == followed
