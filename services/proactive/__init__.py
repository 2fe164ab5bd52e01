"""Answering what the bot was not asked: when to, and above all when not to."""
