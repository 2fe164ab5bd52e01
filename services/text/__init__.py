"""Rules about text that every part of the product shares: cleaning, numerals, links."""
