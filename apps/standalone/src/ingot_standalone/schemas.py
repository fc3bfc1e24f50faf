"""The schemas of the databases in a data folder."""

from collections.abc import Mapping
from pathlib import Path

import ingot_hooks.store
import ingot_identity.store
import ingot_issues.store
import ingot_repos.store

SCHEMAS: Mapping[str, Path] = {
    "identity": ingot_identity.store.SCRIPTS,
    "repos": ingot_repos.store.SCRIPTS,
    "issues": ingot_issues.store.SCRIPTS,
    "hooks": ingot_hooks.store.SCRIPTS,
}
"""The folder of migrations of each service that has a database."""
