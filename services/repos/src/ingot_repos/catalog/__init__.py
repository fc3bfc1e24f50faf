"""The rows that every subject reads: repositories, copies of accounts, and what a viewer may see of them."""
