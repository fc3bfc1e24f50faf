"""Contents and headers of mails."""
