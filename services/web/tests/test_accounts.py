"""Pages of people and organizations."""

from urllib.parse import parse_qsl

from .forge import ANN_USER, MOMENT, issue

SEARCH = "/repos/issues/search"
PERSON = ANN_USER | {"created": MOMENT} | dict.fromkeys(("description", "location", "website"), "")


async def test_what_somebody_opened_anywhere_is_on_their_page(pages, forge):
    lamp = issue(number=3, title="It flickers", repository={"full_name": "bob/lamp"})
    forge.answers |= {"/users/ann": PERSON, SEARCH: [lamp]}
    forge.failures["/orgs/ann"] = 404
    assert 'href="?tab=activity">Activity</a>' in (await pages.get("/ann")).text
    assert SEARCH not in forge.read_paths
    shown = (await pages.get("/ann?tab=activity")).text
    assert ("It flickers" in shown, "bob/lamp" in shown) == (True, True)
    query = dict(parse_qsl(forge.queries[SEARCH]))
    assert (query["created_by"], query["state"]) == ("ann", "all"), "also what is closed"


async def test_an_organization_opens_nothing(pages, forge):
    organization = PERSON | {"username": "ann", "visibility": "public", "avatar_url": ""}
    forge.answers |= {"/users/ann": PERSON, "/orgs/ann": organization}
    assert "Activity" not in (await pages.get("/ann?tab=activity")).text
    assert SEARCH not in forge.read_paths
