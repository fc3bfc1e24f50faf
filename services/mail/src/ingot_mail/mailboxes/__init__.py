"""The mailbox that takes replies: polled by IMAP, next to the pipe of a mail server."""
