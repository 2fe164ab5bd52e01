"""Limits on what one member and one group may ask of the bot, and the charging of model calls."""
