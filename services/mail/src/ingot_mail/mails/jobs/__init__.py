"""Background work of mails."""
