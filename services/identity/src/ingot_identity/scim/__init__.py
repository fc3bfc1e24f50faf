"""SCIM 2.0: a source creates, changes and deactivates the accounts of its people, and says their groups."""
