"""Every object of a repository as the API shows it, and how two repositories differ."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .moved_repository import People

Objects = Mapping[str, Mapping[str, Any]]
"""Objects by kind, and by a name that both repositories give them."""
PAGE = Path(__file__).parents[2] / "docs/reference/imports.md"
_LISTS = {
    "repository": "",
    "label": "labels",
    "milestone": "milestones?state=all",
    "issue": "issues?state=all&type=issues&sort=oldest",
    "pull request": "pulls?state=all&sort=oldest",
    "tracked time": "times",
    "branch": "branches",
    "tag": "tags",
    "release": "releases",
    "wiki page": "wiki/pages",
    "branch rule": "branch_protections",
    "tag rule": "tag_protections",
    "hook": "hooks",
    "collaborator": "collaborators",
    "subscriber": "subscribers",
    "commit status": "commits/main/statuses",
    "commit": "commits?sha=main",
    "deploy key": "keys",
}
"""Paths below a repository by kinds."""
_NAMES = ("rule_name", "name_pattern", "number", "tag_name", "title", "name", "login", "sha")
"""Fields that name an object; the first one that it has counts. Others are numbered."""
_IDS = re.compile(
    r"(?<=/)(comments|labels|milestones?|releases|assets|attachments|reviews|statuses)/[0-9a-f-]{1,36}(?![\w-])"
    r"|(?<=#issuecomment-)[0-9]+|(?<=#pullrequestreview-)[0-9]+|(?<=#pullrequestreviewcomment-)[0-9]+"
    r"|(?<=discussion_r)[0-9]+"
)
"""Ids of one Ingot in an address."""
_MISSING = "(missing)"


async def objects_of(people: People, who: str, full_name: str, site: str) -> dict[str, dict[str, Any]]:
    """Return all objects of a repository; in addresses, the site and the ids have one spelling."""
    root = f"repos/{full_name}"
    objects_by_kind: dict[str, dict[str, Any]] = {}
    for kind, path in _LISTS.items():
        listed = await people.all(who, f"{root}/{path}") if path else [await people(who, "GET", root)]
        objects_by_kind[kind] = _named(listed)
    issues = [*objects_by_kind["issue"].values(), *objects_by_kind["pull request"].values()]
    for kind in ("comment", "timeline row", "reaction", "blocker", "attachment", "review", "line comment"):
        objects_by_kind[kind] = {}
    for one in issues:
        at = f"{root}/issues/{one['number']}"
        groups = {
            "comment": await people.all(who, f"{at}/comments"),
            "timeline row": [
                row
                for row in await people.all(who, f"{at}/timeline")
                if row["type"] not in ("comment", "review")
            ],
            "reaction": sorted(await people(who, "GET", f"{at}/reactions") or [], key=_moment),
            "blocker": await people.all(who, f"{at}/dependencies"),
            "attachment": await people(who, "GET", f"{at}/assets"),
        }
        for comment in groups["comment"]:
            of_comment = f"{root}/issues/comments/{comment['id']}"
            reactions = await people(who, "GET", f"{of_comment}/reactions") or []
            groups["reaction"] += sorted(reactions, key=_moment)
            groups["attachment"] += await people(who, "GET", f"{of_comment}/assets")
        if one in objects_by_kind["pull request"].values():
            groups |= await _reviews(people, who, f"{root}/pulls/{one['number']}")
        for kind, objects in groups.items():
            objects_by_kind[kind] |= {f"{one['number']}/{place}": each for place, each in enumerate(objects)}
    for name in objects_by_kind["wiki page"]:
        objects_by_kind["wiki page"][name] = await people(who, "GET", f"{root}/wiki/page/{name}")
    ours = re.compile(re.escape(site))
    return {
        kind: {name: neutral(one, ours) for name, one in objects.items()}
        for kind, objects in objects_by_kind.items()
    }


async def _reviews(people: People, who: str, at: str) -> dict[str, list[Any]]:
    """Return the reviews of a pull request, those before requests, and their comments on lines."""
    reviews = sorted(
        await people.all(who, f"{at}/reviews"),
        key=lambda one: (one["state"] == "REQUEST_REVIEW", one["submitted_at"]),
    )
    lines = [await people(who, "GET", f"{at}/reviews/{one['id']}/comments") for one in reviews]
    return {"review": reviews, "line comment": [one for group in lines for one in group]}


def _moment(one: Mapping[str, Any]) -> tuple[str, str]:
    return one["created_at"], one["content"]


def _named(objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = defaultdict[str, int](int)
    named = {}
    for one in objects:
        name = next((str(one[field]) for field in _NAMES if one.get(field)), "-")
        names[name] += 1
        named[name if names[name] == 1 else f"{name} {names[name]}"] = one
    return named


def neutral(value: Any, site: re.Pattern[str]) -> Any:
    """Return a value that names no site and no id of it.

    A person is its login, and a repository inside of another object is its name.
    """
    if isinstance(value, str):
        short = site.sub("https://site/", value)
        return _IDS.sub(lambda match: (match[1] or "") + "/…", short) if short != value else value
    if isinstance(value, list):
        return [neutral(one, site) for one in value]
    if isinstance(value, dict):
        if "login" in value and "avatar_url" in value:
            return value["login"]
        return {
            name: one["full_name"]
            if isinstance(one, dict) and {"full_name", "owner"} <= one.keys()
            else neutral(one, site)
            for name, one in value.items()
        }
    return value


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a value with their paths."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _leaves(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for place, one in enumerate(value):
            yield from _leaves(one, f"{path}[{place}]")
    else:
        yield path, value


def differences(was: Objects, is_now: Objects) -> dict[tuple[str, str], str]:
    """Return examples of fields that differ, by their kind and their path without places of lists."""
    examples: dict[tuple[str, str], str] = {}
    for kind, objects in was.items():
        for name in objects.keys() | is_now[kind].keys():
            if name not in objects or name not in is_now[kind]:
                field = "all" if name in objects else "new"
                examples[kind, field] = f"{name}: {objects.get(name)} {is_now[kind].get(name)}"
                continue
            left, right = dict(_leaves(objects[name])), dict(_leaves(is_now[kind][name]))
            for path in left.keys() | right.keys():
                before, after = left.get(path, _MISSING), right.get(path, _MISSING)
                if before != after:
                    field = re.sub(r"\[\d+\]", "", path)
                    text = f"{name}: {before!r} became {after!r}"
                    examples[kind, field] = min(text, examples.get((kind, field), text))
    return examples


class Row(NamedTuple):
    """A row of the table in the docs: kinds of objects, and the fields of them that differ."""

    kinds: list[str]
    fields: list[str]
    text: str

    def describes(self, difference: tuple[str, str]) -> bool:
        """Return whether a kind and a field differ as the row says."""
        return any(_is_kind(one, difference) for one in self.kinds) and any(
            _is_field(one, difference) for one in self.fields
        )

    def outdated(self, examples: Collection[tuple[str, str]]) -> list[str]:
        """Return the kinds and fields of the row that do not differ."""
        if self.text.startswith("may differ"):
            return []
        own = [one for one in examples if self.describes(one)]
        kinds = [name for name in self.kinds if not any(_is_kind(name, one) for one in own)]
        return kinds + [name for name in self.fields if not any(_is_field(name, one) for one in own)]


def _is_kind(name: str, difference: tuple[str, str]) -> bool:
    return name in ("every object", difference[0])


def _is_field(name: str, difference: tuple[str, str]) -> bool:
    """Return whether a field has a name: as a whole, around it, or without the fields around it."""
    field = difference[1]
    return name in (field, field.rpartition(".")[2]) or field.startswith(f"{name}.")


def allowed_differences(heading: str = "# Differences after an import") -> list[Row]:
    """Return the rows of the table below a heading in the docs."""
    _, _, section = f"\n{PAGE.read_text()}".partition(f"\n{heading}\n")
    lines = section.partition("\n## ")[0].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return [
        Row([one.strip() for one in kinds.split(",")], [one.strip(" `") for one in fields.split(",")], text)
        for kinds, fields, text in rows[1:]
    ]
