"""Pages behind links in mails: confirmation of an address, and a new password for a forgotten one."""
