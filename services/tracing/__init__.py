"""The record of every request: which stages it went through and how long each took."""
