"""The few mistakes that would leak data or lose events, looked for in the syntax trees of all modules."""

import ast
import re

import pytest

from .sources import Source, called, dotted, sources

CHASSIS = "libs/chassis/src/ingot_chassis/"
TESTING = "libs/testing/src/ingot_testing/"
READS_ENVIRONMENT = {
    f"{CHASSIS}command.py",  # hands it to `settings.load`
    "apps/standalone/src/ingot_standalone/settings.py",
    "libs/git/src/ingot_git/process/command.py",  # PATH alone, for the clean environment of git
    ("libs/git/src/ingot_git/process/parent_watchdog.py"),  # a program of its own: hands the environment on
    (
        "libs/git/src/ingot_git/remote/helper_programs.py"
    ),  # programs that git starts: what the git package passes to them
}
ENVIRONMENT = ("environ", "environb", "getenv")
STARTS_PROCESSES = (
    "libs/git/src/ingot_git/",
    "apps/standalone/src/ingot_standalone/nats_server.py",
    f"{CHASSIS}cpu_process.py",
    TESTING,
)
MERGES_OF_LIBGIT2 = {
    "merge_commits", "merge_trees", "merge_file_from_index", "cherrypick", "revert", "revert_commit",
    "rebase_init",
}  # fmt: skip
ENDS_TRANSACTION = re.compile(
    r"(tx|db|conn|connection|session|engine|writing|reading)\.(commit|rollback|begin)$"
)
PUBLISHES = {f"{CHASSIS}events/bus.py", f"{CHASSIS}events/relay.py"}
ROUTES = {"get", "post", "put", "patch", "delete", "head", "route", "asgi"}
LONGEST_FILE = 600
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc", "base", "stuff"}
FORGE_NOUNS = re.compile(
    r"\b(repository|repositories|issue|issues|webhook|branch|pull request|organization)\b", re.IGNORECASE
)
NOUNS_ALLOWED = {f"{CHASSIS}security/principal.py", f"{CHASSIS}http/policy.py"}


def lines_of(looks_wrong, *, where=lambda source: True) -> list[str]:
    """Places of the nodes that ``looks_wrong``."""
    return [
        f"{source.place}:{node.lineno}"
        for source in sources()
        if where(source)
        for node in ast.walk(source.tree)
        if looks_wrong(node)
    ]


def outside(*prefixes: str):
    return lambda source: not source.place.startswith(prefixes)


def test_only_the_chassis_commits():
    """A commit elsewhere ends a transaction before its events are in the outbox. Leave the `transaction()`
    block."""
    assert not lines_of(
        lambda node: bool(ENDS_TRANSACTION.search(called(node))), where=outside(CHASSIS, TESTING)
    )


def test_only_settings_read_the_environment():
    """A setting that is read elsewhere is not checked at start and not documented. Add a field to
    settings.py."""

    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            return node.module == "os" and any(alias.name in ENVIRONMENT for alias in node.names)
        return isinstance(node, ast.Attribute) and dotted(node) in {f"os.{name}" for name in ENVIRONMENT}

    def reads_no_settings(source: Source) -> bool:
        return source.place not in READS_ENVIRONMENT and "/testing/" not in source.place

    assert not lines_of(reads, where=reads_no_settings)


def test_git_is_started_in_its_own_package():
    """Elsewhere its environment is not cleaned and user values may be taken as options. Use `run_git`."""

    def starts(node: ast.AST) -> bool:
        name = called(node)
        return name.startswith(
            ("subprocess.", "os.exec", "os.spawn", "os.popen", "os.system")
        ) or name.endswith(
            (".create_subprocess_exec", ".create_subprocess_shell", ".subprocess_exec", ".posix_spawn")
        )

    def imports(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            return node.module in ("subprocess", "git")
        return isinstance(node, ast.Import) and any(
            alias.name in ("subprocess", "git") for alias in node.names
        )

    assert not lines_of(lambda node: starts(node) or imports(node), where=outside(*STARTS_PROCESSES))


def test_libgit2_merges_nothing():
    """It loses files and reads no attributes. Use `tree_merges`, which asks git."""
    assert not lines_of(lambda node: isinstance(node, ast.Attribute) and node.attr in MERGES_OF_LIBGIT2)


def test_no_shell_is_started():
    assert not lines_of(
        lambda node: (
            isinstance(node, ast.keyword) and node.arg == "shell" and getattr(node.value, "value", None)
        )
    )


def test_every_route_declares_its_policy():
    """A route without one answers 404; say who may call it."""

    def undeclared(node: ast.AST) -> bool:
        return called(node) in ROUTES and not any(keyword.arg == "policy" for keyword in node.keywords)

    assert not lines_of(
        undeclared, where=lambda source: "/api/" in source.place or source.place.endswith("app.py")
    )


def test_only_the_relay_publishes():
    """An event that is published before its commit may announce what is rolled back. Use `tx.emit`."""
    assert not lines_of(
        lambda node: called(node).endswith((".publish", ".publish_async")),
        where=lambda source: source.place not in PUBLISHES and "/testing/" not in source.place,
    )


def test_every_task_has_an_owner():
    """A task without a reference may be collected while it runs, and its error is lost."""
    assert not lines_of(
        lambda node: (
            isinstance(node, ast.Expr) and called(node.value).endswith((".create_task", ".ensure_future"))
        )
    )


def test_time_is_read_in_one_place():
    """Naive or local times end up in answers. Use `ingot_chassis.clock.now`."""
    assert not lines_of(
        lambda node: called(node) in ("datetime.now", "datetime.utcnow", "datetime.datetime.now"),
        where=lambda source: source.place != f"{CHASSIS}clock.py",
    )


def test_bodies_and_headers_are_never_logged():
    assert not lines_of(
        lambda node: (
            called(node).startswith("log.")
            and any(
                keyword.arg in ("body", "headers", "password", "token", "secret") for keyword in node.keywords
            )
        )
    )


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.place)
def test_a_module_says_what_it_is_for_and_stays_readable(source):
    lines = source.text.count("\n")
    name = source.place.rsplit("/", 1)[-1].removesuffix(".py")
    assert ast.get_docstring(source.tree) or not source.text, "no docstring"
    assert lines <= LONGEST_FILE, f"{lines} lines"
    assert name not in VAGUE_NAMES, "a vague name"


def test_the_chassis_knows_no_forge():
    """The chassis fits any service: only services know about git forges."""
    nouns = [
        f"{source.place}: {match.group()}"
        for source in sources()
        if source.place.startswith(CHASSIS) and source.place not in NOUNS_ALLOWED
        for match in [FORGE_NOUNS.search(source.text)]
        if match
    ]
    assert not nouns


def test_only_the_chassis_writes_arguments_for_one_database():
    """Services use `partial_index` and `LASTING_IDS` (ADR 37)."""
    uses = lines_of(
        lambda node: isinstance(node, ast.keyword) and re.match(r"(sqlite|postgresql)_", node.arg or ""),
        where=outside(CHASSIS, "libs/testing/"),
    )
    assert uses == []
