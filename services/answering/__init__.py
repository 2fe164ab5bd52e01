"""From a question to an answer that can be sent: written by the model, or quoted from the files."""
