"""The schemas of the databases in a data folder."""

from collections.abc import Mapping
from pathlib import Path

import ingot_hooks.migrations
import ingot_identity.migrations
import ingot_issues.migrations
import ingot_mail.migrations
import ingot_repos.migrations

SCHEMAS: Mapping[str, Path] = {
    "identity": ingot_identity.migrations.SCRIPTS,
    "repos": ingot_repos.migrations.SCRIPTS,
    "issues": ingot_issues.migrations.SCRIPTS,
    "hooks": ingot_hooks.migrations.SCRIPTS,
    "mail": ingot_mail.migrations.SCRIPTS,
}
"""The folder of migrations of each service that has a database."""
