"""Fields of Gitea's bodies are accepted, and its fields are in the answers.

What is refused or missing is in `exceptions.py`, with the reason.
"""

from collections.abc import Iterator

import pytest

from ..e2e.deployments import CHEAP_PASSWORDS, Standalone, running
from ..safety.routes import ROUTES
from .answers import Comparison
from .exceptions import MISSING, REFUSED, UNREAD, UNSEEN
from .gitea import OPERATIONS, TYPES, Operation, inner, without_names
from .reads import Furnished
from .scene import Scene, caller, least, tries

SERVED = {(route.method, without_names(route.path.removeprefix("/api/v1"))) for route in ROUTES}
SERVED_OPERATIONS = [operation for operation in OPERATIONS if operation.place in SERVED]
WITH_BODIES = [operation for operation in SERVED_OPERATIONS if operation.body in TYPES]
WITH_ANSWERS = [
    operation
    for operation in SERVED_OPERATIONS
    if operation.answers and not operation.body and operation.id not in UNREAD
]
TEXTS = ("string", "file")


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    remotes = {"INGOT_REPOS_ALLOWED_REMOTES": "127.0.0.0/8"}
    deployment = Standalone(tmp_path_factory.mktemp("fields"), CHEAP_PASSWORDS | remotes)
    with running(deployment):
        yield Scene(deployment.url)


def test_most_operations_are_served():
    assert len(SERVED_OPERATIONS) >= 382
    assert sum(len(TYPES[operation.body]) for operation in WITH_BODIES) >= 580
    assert {name for name, _ in REFUSED} <= {name for one in WITH_BODIES for name in (one.body, one.id)}


@pytest.mark.parametrize("operation", WITH_BODIES, ids=lambda operation: operation.id)
def test_each_field_of_a_body_is_accepted(scene, operation):
    comparison, wrong = Comparison(), []
    place, body = least(scene, operation)
    _send(scene, operation, place, body, comparison, wrong)
    for field in TYPES[operation.body].values():
        refused = [
            value
            for name in (operation.body, operation.id)
            for value in REFUSED.get((name, field.name), ([], ""))[0]
        ]
        for place, body in tries(scene, operation, field):
            status = _send(scene, operation, place, body, comparison, [])
            if (status >= 400) != (body.get(field.name) in refused):
                wrong.append(f"{field.name} = {body.get(field.name)!r}: {status}")
    wrong += [f"{one.name} is {one.problem}" for one in comparison.differences if one.name not in MISSING]
    assert not wrong, "\n".join(sorted({*wrong}))


def test_answers_have_the_fields_of_their_types(scene):
    comparison, wrong = Comparison(), []
    furnished = Furnished(scene)
    for operation in WITH_ANSWERS:
        answer = furnished.request(operation)
        if not answer.is_success:
            wrong.append(f"{operation.id}: {answer.status_code} {answer.text}")
        elif answer.status_code in operation.answers and operation.answers[answer.status_code] not in TEXTS:
            comparison.add(operation.id, operation.answers[answer.status_code], answer.json())
    differing = {one.name for one in comparison.differences}
    wrong += [
        f"{one.path}: {one.name} is {one.problem}"
        for one in comparison.differences
        if one.name not in MISSING
    ]
    wrong += [f"no longer missing: {name}" for name in MISSING.keys() - differing]
    absent = _types_of_answers() - comparison.types
    wrong += [f"not seen: {kind}" for kind in absent - UNSEEN.keys()]
    wrong += [f"seen by now: {kind}" for kind in UNSEEN.keys() - absent]
    assert not wrong, "\n".join(sorted({*wrong}))


def _send(
    scene: Scene,
    operation: Operation,
    place: dict[str, object],
    body: dict[str, object],
    comparison: Comparison,
    wrong: list[str],
) -> int:
    """Return the status. A refusal is added to ``wrong``."""
    path = operation.path[1:].format(**place)
    answer = scene.request(operation.method, path, body, who=caller(operation))
    kind = operation.answers.get(answer.status_code, "")
    if not answer.is_success:
        wrong.append(f"{body}: {answer.status_code} {answer.text}")
    elif kind and kind not in TEXTS:
        comparison.add(operation.id, kind, answer.json())
    return answer.status_code


def _types_of_answers() -> set[str]:
    """Return the types of the answers, and of what is in them."""
    kinds: set[str] = set()
    left = [kind for operation in WITH_ANSWERS for kind in operation.answers.values()]
    while left:
        kind = inner(left.pop())
        if kind in TYPES and kind not in kinds:
            kinds.add(kind)
            left += [field.kind for field in TYPES[kind].values()]
    return kinds
