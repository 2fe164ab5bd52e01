"""The workflows that answer people, one package for each. They do not know each other."""
