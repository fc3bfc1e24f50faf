"""Networks from which people sign in: a mail is sent about a new one."""
