"""Stems of English words, so that a question about datasets finds the word dataset."""

import re

_WORD = re.compile(r"[a-z]{4,}")
_LEAST_STEM = 3
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLED = re.compile(r"([b-df-hj-kmnp-rtv-y])\1$")


def stem(word: str) -> str:
    """Return the stem of a word in lower case: without plural, -ed, -ing and a final e.

    These are steps 1 and 5a of Porter, "An algorithm for suffix stripping" (1980), without its rules for derivation:
    they would confuse the names that questions are about. Words of less than four letters, and words with anything but
    letters, have no other form.

    >>> [stem(word) for word in ("datasets", "queries", "running", "licenses", "string", "rp2040")]
    ['dataset', 'query', 'run', 'licens', 'string', 'rp2040']
    """
    if not _WORD.fullmatch(word):
        return word
    return _without_e(_without_tense(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > _LEAST_STEM + 2:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_tense(word: str) -> str:
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and not word.endswith("eed") and len(rest) >= _LEAST_STEM and _VOWEL.search(rest):
            return rest[:-1] if _DOUBLED.search(rest) else rest
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _LEAST_STEM + 1 else word
