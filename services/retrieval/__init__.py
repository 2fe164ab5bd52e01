"""Retrieval: from a question to the passages that an answer may use, by recall, ranking and a gate."""
