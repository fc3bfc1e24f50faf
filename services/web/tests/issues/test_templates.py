"""Templates with which issues begin, on the page of a new issue."""

import pytest

from ingot_contracts.testing.forms import form_of
from ingot_web.issues.rules.issue_forms import MOST_FIELDS

from ..forge import HOME
from ..world import ANN, BOB

PAGE = "/ann/demo/issues/new"
BUG = {
    "name": "Bug", "about": "It <breaks>", "title": "Bug: ", "labels": ["BUG", "none"], "assignees": [],
    "ref": "", "content": "What happened?\n", "body": [], "file_name": ".gitea/ISSUE_TEMPLATE/bug & co.md",
}  # fmt: skip
FIELDS = [
    {"type": "markdown", "id": "", "attributes": {"value": "Thank you"}},
    {
        "type": "input",
        "id": "",
        "attributes": {"label": "Version", "description": "as it says", "value": "1"},
    },
    {"type": "textarea", "id": "more", "attributes": {}},
    {"type": "dropdown", "id": "", "attributes": {"label": "System", "options": ["a", 2]}},
    {"type": "checkboxes", "id": "", "attributes": {"label": "Sure?", "options": [{"label": "Yes"}, "No"]}},
    {"type": "dropdown", "id": "odd", "attributes": {"options": "none"}},
]
IDEA = BUG | {
    "name": "Idea",
    "title": "",
    "labels": [],
    "content": "",
    "body": FIELDS,
    "file_name": "idea.yaml",
}
ADDRESS = f"{PAGE}?template=.gitea%2FISSUE_TEMPLATE%2Fbug+%26+co.md"
LINKS = [
    {"name": "Chat", "url": "https://chat.example/", "about": "Ask"},
    {"name": "Run", "url": "javascript:alert(1)", "about": ""},
]


def config(*, blank):
    return {"blank_issues_enabled": blank, "contact_links": LINKS}


@pytest.fixture
def forge(forge):
    forge.answers |= {
        f"{HOME}/issue_templates": [BUG, IDEA],
        f"{HOME}/issue_config": config(blank=True),
        f"{HOME}/labels": [
            {"id": number, "name": name, "color": "ff0000", "description": ""}
            for number, name in ((3, "bug"), (4, "other"))
        ],
    }
    return forge


async def test_the_page_of_a_new_issue_offers_templates_and_other_addresses(pages, forge):
    shown = (await pages.get(PAGE, ANN)).text
    assert f'href="{ADDRESS}">Bug</a>' in shown
    assert "It &lt;breaks&gt;" in shown
    assert ('href="https://chat.example/"' in shown, "javascript:" in shown) == (True, False)
    assert form_of(shown, PAGE, "Create issue").values["body"] == [""]


async def test_an_issue_begins_with_what_its_template_says(pages, forge):
    forge.changed = {"number": 2, "body": ""}
    shown = (await pages.get(ADDRESS, ANN)).text
    assert ("<h1>New issue: Bug</h1>" in shown, f'href="{PAGE}">Another kind' in shown) == (True, True)
    await pages.submit(shown, "Create issue", to=PAGE)
    body = {"title": "Bug:", "body": "What happened?\n", "labels": [3]}
    assert forge.sent == [("POST", f"{HOME}/issues", body)]


async def test_the_questions_of_a_form_that_is_too_large_are_headings(pages, forge):
    more = [{"type": "markdown", "id": "", "attributes": {}}] * MOST_FIELDS
    forge.answers[f"{HOME}/issue_templates"] = [IDEA | {"body": FIELDS + more}]
    shown = (await pages.get(f"{PAGE}?template=idea.yaml", ANN)).text
    [body] = form_of(shown, PAGE, "Create issue").values["body"]
    assert body.replace("\r\n", "\n") == (
        "### Version\n\n<!-- as it says -->\n\n1\n\n### more\n\n### System\n\n<!-- a, 2 -->\n\n"
        "### Sure?\n\n- [ ] Yes\n- [ ] No\n\n### odd"
    )


@pytest.mark.parametrize(("pushes", "blank", "has_form"), [
    (False, True, True), (False, False, False), (True, False, True),
])  # fmt: skip
async def test_who_begins_without_a_template(pages, forge, pushes, blank, has_form):
    forge.answers[HOME]["permissions"] = {"admin": False, "push": pushes, "pull": True}
    forge.answers[f"{HOME}/issue_config"] = config(blank=blank)
    shown = (await pages.get(PAGE, BOB)).text
    assert ("Create issue" in shown, ">Bug</a>" in shown) == (has_form, True)
    assert "Create issue" in (await pages.get(ADDRESS, BOB)).text
    assert "Create issue" in (await pages.get(f"{PAGE}?title=From+a+link", BOB)).text


async def test_an_issue_that_is_refused_is_still_in_its_form_and_no_template_is_offered(pages, forge):
    forge.answers[f"{HOME}/issue_config"] = config(blank=False)
    forge.answers[f"{HOME}/milestones"] = [{"id": 7, "title": "One"}]
    forge.refuses = 422
    fields = {"title": "mine", "body": "so", "labels": ["4"], "milestone": "7"}
    refused = await pages.submit(ADDRESS, "Create issue", to=PAGE, **fields)
    values = form_of(refused.text, PAGE, "Create issue").values
    assert {name: values[name] for name in fields} == {
        "title": ["mine"],
        "body": ["so"],
        "labels": ["4"],
        "milestone": ["7"],
    }
    assert (refused.status_code, ">Bug</a>" in refused.text) == (422, False)


@pytest.mark.parametrize("status", [404, 409])
async def test_a_repository_whose_files_are_not_there_takes_issues(pages, forge, status):
    forge.failures |= {f"{HOME}/{name}": status for name in ("issue_templates", "issue_config")}
    assert "Create issue" in (await pages.get(PAGE, ANN)).text
