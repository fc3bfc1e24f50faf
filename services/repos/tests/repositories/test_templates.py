"""The first files of a new repository, and the lists of templates."""

import pytest

from ingot_chassis.clock import now
from ingot_testing.non_empty import non_empty


async def shown(person, path):
    answer = await person.get(f"/repos/ann/app/raw/{path}")
    return answer.text if answer.status_code == 200 else answer.status_code


async def test_a_repository_begins_with_what_is_asked_for(ann):
    creation = await ann.create("app", auto_init=True, gitignores="python, LINUX,Python", license="mit")
    assert creation["empty"] is False
    ignored = await shown(ann, ".gitignore")
    assert ignored.startswith("# Python\n")
    assert ignored.count("__pycache__/") == 1
    assert "\n\n# Linux\n" in ignored
    licence = await shown(ann, "LICENSE")
    assert licence.startswith(f"MIT License\n\nCopyright (c) {now().year} Ann\n")
    assert await shown(ann, "README.md") == "# app\n"


async def test_the_holder_is_the_owner_as_they_are_called_and_not_as_a_template(world):
    joker = world.user(4, "joker", full_name="{year} {holder}")
    answer = await joker.post("/user/repos", {"name": "app", "auto_init": True, "license": "0BSD"})
    assert answer.status_code == 201
    text = (await joker.get("/repos/joker/app/raw/LICENSE")).text
    assert text.startswith(f"Copyright (C) {now().year} by {{year}} {{holder}}\n")


async def test_templates_wait_for_the_first_commit(ann):
    creation = await ann.create("app", gitignores="Python", license="MIT")
    assert creation["empty"] is True
    assert await shown(ann, "LICENSE") == 404


async def test_a_repository_of_an_organization_is_licensed_by_it(world, ann, bob):
    world.organization(9, "acme", full_name="Acme Ltd")
    body = {"name": "app", "auto_init": True, "license": "MIT"}
    for number, (person, path) in enumerate(
        ((ann, "/org/acme/repos"), (bob.but(admin=True), "/admin/users/acme/repos"))
    ):
        world.identity.join(1, 9, owner=True)
        creation = await person.post(path, body | {"name": f"app{number}"})
        assert creation.status_code == 201, creation.text
        text = (await person.get(f"/repos/acme/app{number}/raw/LICENSE")).text
        assert f"{now().year} Acme Ltd\n" in text


async def test_what_there_is_to_choose_from_is_listed_for_everybody(bob):
    nobody = bob.but(id=0, name="", via="")
    names = (await nobody.get("/gitignore/templates")).json()
    assert "Python" in names
    for name in names:
        template = (await nobody.get(f"/gitignore/templates/{name.replace('+', '%2B')}")).json()
        assert template["name"] == name
        assert template["source"].endswith("\n")
    licenses = await nobody.get("/licenses?limit=2")
    assert licenses.headers["x-total-count"] == "3"
    assert [one["key"] for one in licenses.json()] == ["0BSD", "MIT"]
    for one in licenses.json():
        template = (await nobody.get(one["url"].removeprefix("http://ingot.test/api/v1"))).json()
        assert {key: template[key] for key in one} == one
        assert "{holder}" in template["body"]


@pytest.mark.parametrize(
    "path", ["gitignore/templates/Cobol", "licenses/GPL-9", "licenses/..%2Fgitignore%2FC"]
)
async def test_an_unknown_template_is_not_found(ann, path):
    assert (await ann.get(f"/{path}")).status_code == 404


async def test_a_repository_begins_with_a_set_of_labels(world, ann):
    await ann.create("app", issue_labels="default")
    await ann.create("bare")
    named, bare = await world.events("repository.created")
    assert [label["name"] for label in named["labels"]] == [
        label["name"] for label in non_empty((await ann.get("/label/templates/Default")).json())
    ]
    assert bare.get("labels", []) == []
    assert (await ann.get("/label/templates")).json() == ["Advanced", "Default"]
    assert (await ann.get("/label/templates/none")).status_code == 404
    answer = await ann.post("/user/repos", {"name": "third", "issue_labels": "none"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "issue_labels")
