"""Answers of services of another release: fields that they lack take the defaults of the contracts."""

import pytest

from ingot_contracts.repos.repositories import Repository
from ingot_web.clients.shapes import SHAPES, complete, shape_of

from ..forge import HOME, older, repository
from ..pages.test_templates import WITH_FORMS
from ..test_calls import FEW, PAGES, lists_of
from ..test_forms import ANSWERS
from ..world import ROOT


@pytest.mark.parametrize("page", [*PAGES, *WITH_FORMS])
async def test_a_page_needs_no_field_that_has_a_default(pages, forge, page):
    forge.answers |= ANSWERS | lists_of(FEW)
    forge.failures["/orgs/ann"] = 404
    forge.is_older = True
    shown = await pages.get(page, ROOT)
    # A release without `has_wiki` has no wikis.
    assert shown.status_code == (404 if "/wiki/" in page else 200)


def test_fields_that_an_answer_lacks_take_their_defaults():
    whole = repository(parent=repository(name="upstream"), topics=["git"], future="x")
    answer = older(whole)
    assert not {"description", "parent", "topics"} & answer.keys()
    del answer["permissions"]
    answer |= {"parent": older(whole["parent"]), "topics": ["git"]}
    complete([answer], Repository)
    assert (answer["description"], answer["topics"], answer["future"]) == ("", ["git"], "x")
    assert answer["permissions"] == {"admin": False, "push": False, "pull": False}
    assert (answer["parent"]["name"], answer["parent"]["archived"]) == ("upstream", False)


def test_answers_do_not_share_a_default():
    one, other = older(repository()), older(repository())
    complete([one, other], Repository)
    one["topics"].append("git")
    assert other["topics"] == []


@pytest.mark.parametrize(
    "path", ["/repos/ann/demo/branches", "/repos/ann/demo/issues/1/timeline", "/version"]
)
def test_what_no_contract_has_stays_as_it_is(path):
    assert shape_of(path) is None


async def test_every_shape_is_that_of_an_answer(pages, forge):
    forge.answers |= ANSWERS | lists_of(FEW)
    forge.failures["/orgs/ann"] = 404
    forge.is_older = True  # so reviews are read from the API
    for page in (*PAGES, *WITH_FORMS):
        await pages.get(page, ROOT)
    shapes = {shape_of(path) for path in forge.read_paths} - {None}
    assert shapes == {shape for _, shape in SHAPES}
    assert shape_of(HOME) is Repository
