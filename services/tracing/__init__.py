"""The record of every request: what was asked, how the answer came about, and how long each stage took.

`models` is the record, `current` the one that is being filled in, `service` keeps them for a while.
"""
