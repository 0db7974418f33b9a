"""The process boundary: everything native lives in a child process. No Qt here."""
