"""Rows that every subject reads: repositories, copies of accounts, and the rows that a viewer may see."""
