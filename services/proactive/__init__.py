"""Unasked answers: when to give them, and above all when not to."""
