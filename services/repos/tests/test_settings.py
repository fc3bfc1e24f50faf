"""Default settings."""

import msgspec

from ingot_repos.settings import Settings


def test_a_push_of_two_gibibytes_and_what_git_adds_is_not_too_large():
    defaults = {field.name: field.default for field in msgspec.structs.fields(Settings)}
    assert defaults["max_push_bytes"] > 2.1 * 2**30
