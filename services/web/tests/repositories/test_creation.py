"""New repositories, empty or made of a template, on their pages."""

from ..forge import HOME
from ..world import ANN

PAGE = "/ann/demo/generate"


async def test_a_template_is_used_for_what_was_chosen_of_it(pages, forge):
    forge.answers[HOME]["template"] = True
    forge.answers |= {
        f"POST {HOME}/generate": {"full_name": "crew/new"},
        "/user/orgs": [{"username": "crew"}],
    }
    answer = await pages.submit(PAGE, "Create repository", owner="crew", name="new", labels="1")
    assert answer.headers["location"] == "/crew/new"
    chosen = {"git_content": True, "topics": False, "labels": True, "protected_branch": False}
    body = {"owner": "crew", "name": "new", "description": "", "private": False, **chosen}
    assert forge.sent == [("POST", f"{HOME}/generate", body)]


async def test_what_is_refused_is_said_with_what_was_written(pages, forge):
    forge.answers[HOME]["template"] = True
    forge.refuses = 409
    refused = await pages.submit(PAGE, "Create repository", name="new", git_content=(), topics="1")
    assert (refused.status_code, "<p>refused</p>" in refused.text) == (409, True)
    assert 'value="new"' in refused.text
    for name, is_chosen in (("git_content", False), ("topics", True)):
        assert (f'name="{name}" value="1" checked' in refused.text) is is_chosen


async def test_the_way_to_a_template_stands_on_its_pages_alone(pages, forge):
    link = f'href="{PAGE}">Use this template</a>'
    for is_template in (False, True):
        forge.answers[HOME]["template"] = is_template
        for caller in (ANN, None):
            shown = (await pages.get("/ann/demo/branches", caller)).text
            assert (link in shown) is (is_template and caller is ANN)
        assert ("is not a template" in (await pages.get(PAGE, ANN)).text) is not is_template
    rules = 'name="protected_branch"'
    assert rules in (await pages.get(PAGE, ANN)).text
    forge.answers[HOME]["permissions"]["push"] = False
    assert rules not in (await pages.get(PAGE, ANN)).text


async def test_the_form_has_the_organization_from_which_somebody_comes(pages, forge):
    """Else the browser would silently choose another owner. Administrators also come from other users'
    organizations."""
    forge.answers["/user/orgs"] = [{"username": "crew"}]
    for chosen in ("crew", "lamps"):
        shown = (await pages.get(f"/repo/create?org={chosen}", ANN)).text
        assert f'<option value="{chosen}" selected>' in shown
        assert shown.count(f'value="{chosen}"') == 1
