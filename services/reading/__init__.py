"""Reading: a question and a passage are read together, to tell whether and where the passage answers."""
