"""The queue of mails, its worker and its history."""
