"""Pages behind links of mails: confirming an address, and a new password for a forgotten one."""
