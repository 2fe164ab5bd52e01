"""Documents in which a question says that its answer stands."""

import doctest

import pytest

from services.retrieval import pointing
from services.retrieval.pointing import pointed_at

NAMES = ["员工手册.pdf", "2024值班表.xlsx", "价目.csv", "电梯保险费用.docx"]


def test_the_examples() -> None:
    assert doctest.testmod(pointing).failed == 0


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("员工手册里年假几天", {"员工手册.pdf"}),
        ("那个员工手册上面写的年假几天", {"员工手册.pdf"}),
        ("手册上写的年假几天", {"员工手册.pdf"}),
        ("那个csv里谁最多", {"价目.csv"}),
        ("PDF 里有没有提到年假", {"员工手册.pdf"}),
        ("值班表里周三是谁", {"2024值班表.xlsx"}),
        ("电梯里能抽烟吗", set()),
        ("员工手册 年假", set()),
        ("晚上几点关门", set()),
        ("年假几天", set()),
    ],
)
def test_a_file_is_pointed_at(question: str, meant: set[str]) -> None:
    assert pointed_at(question, NAMES) == meant
