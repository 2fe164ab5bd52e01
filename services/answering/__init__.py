"""Turn a question into an answer that can be sent: written by the model, or quoted from the files."""
