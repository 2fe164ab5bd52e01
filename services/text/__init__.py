"""Rules about text that all parts of the product share: cleaning, numerals and links."""
