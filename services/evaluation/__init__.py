"""Evaluation of a knowledge base with questions of known outcome: which are answered, and which correctly."""
