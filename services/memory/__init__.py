"""What a conversation remembers: a log that is never edited, a working history, summaries of its beginning."""
