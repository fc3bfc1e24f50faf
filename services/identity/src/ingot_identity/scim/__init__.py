"""SCIM 2.0: a source creates, changes and deactivates accounts of its people, and manages their groups."""
