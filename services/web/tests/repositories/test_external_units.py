"""Links to a tracker and a wiki on other sites."""

import pytest

from ..forge import HOME
from ..world import ANN

URL = "https://elsewhere.example/place"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"external_tracker": {"external_tracker_url": URL}}, "Issues"),
        ({"external_wiki": {"external_wiki_url": URL}, "has_wiki": True}, "Wiki"),
    ],
)
async def test_the_tab_of_an_external_unit_leads_to_its_site(pages, forge, settings, text):
    forge.answers[HOME] |= settings
    shown = (await pages.get("/ann/demo/settings", ANN)).text
    assert f'<a href="{URL}">{text}</a>' in shown
    assert f'href="/ann/demo/{text.lower()}"' not in shown


async def test_without_external_units_the_tabs_are_those_of_the_repository(pages, forge):
    forge.answers[HOME] |= {"has_wiki": True, "external_tracker": None, "external_wiki": None}
    shown = (await pages.get("/ann/demo/settings", ANN)).text
    assert "/ann/demo/issues" in shown
    assert "/ann/demo/wiki" in shown
