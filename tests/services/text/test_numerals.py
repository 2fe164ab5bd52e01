"""Test the values of Chinese numerals."""

import doctest

import pytest

from services.text import numerals
from services.text.numerals import numeral_value


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(numerals).failed == 0


@pytest.mark.parametrize(
    ("numeral", "value"),
    [("十", 10), ("一百二十", 120), ("一百零五", 105), ("两千", 2000), ("一万二", 12_000), ("三亿零五万", 300_050_000)],
)
def test_values(numeral: str, value: int) -> None:
    assert numeral_value(numeral) == value


def test_other_signs_are_refused() -> None:
    with pytest.raises(KeyError):
        numeral_value("三x")
