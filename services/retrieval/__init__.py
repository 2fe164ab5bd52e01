"""From a question to the passages an answer may rest on: recall, rank, gate."""
