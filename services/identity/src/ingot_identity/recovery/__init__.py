"""Pages that mails link to: confirmation of an address, and reset of a forgotten password."""
