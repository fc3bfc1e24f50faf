"""Labels in the form of responses and events."""

from ingot_contracts.issues.labels import Label
from ingot_issues.labels.store.repository import LabelOnIssue, LabelRow
from ingot_issues.records.rules.presenter import Presenter


def label_view(presenter: Presenter, label: LabelRow | LabelOnIssue, full_name: str) -> Label:
    """Return a label of the repository ``full_name``, or of the organization in its first part."""
    of = f"repos/{full_name}" if label.organization_id is None else f"orgs/{full_name.partition('/')[0]}"
    url = f"{presenter.root}api/v1/{of}/labels/{label.id}"
    return Label(
        id=label.id,
        name=label.name,
        color=label.color,
        url=url,
        description=label.description,
        exclusive=label.exclusive,
        is_archived=label.is_archived,
    )
