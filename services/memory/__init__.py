"""Conversation memory: a log that is never edited, a working history, and summaries of its beginning."""
