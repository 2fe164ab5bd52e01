"""Ratings of answers by members, and what they change."""
