"""Events of other services, which become mails."""
