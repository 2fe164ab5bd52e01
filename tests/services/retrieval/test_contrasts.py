"""Words that exclude each other."""

import pytest

from services.retrieval.contrasts import contrasts, names_all_days


def _meets(asked: str, passage: str) -> bool:
    """Return whether no set of contrasts tells the passage apart from the question."""
    return all(
        not (members := contrast.named(asked))
        or not (named := contrast.named(passage))
        or contrast.meets(members, named)
        for contrast in contrasts()
    )


@pytest.mark.parametrize(
    ("asked", "passage", "is_met"),
    [
        ("期末考试", "期中考试在五月", False),
        ("期末考试", "期中和期末考试", True),
        ("博士答辩", "硕士答辩", False),
        ("研究生答辩", "硕士答辩", True),
        ("半年报的利润", "一季报", False),
        ("上半年的利润", "半年报", True),
        ("江苏的指标", "安徽省", False),
        ("江苏的指标", "各市的指标", True),
        ("周末", "周日", True),
        ("macos", "a machine", True),
        ("windows", "linux only", False),
    ],
)
def test_members_exclude_each_other(asked: str, passage: str, is_met: bool) -> None:
    assert _meets(asked, passage) is is_met


def test_every_member_meets_itself() -> None:
    for contrast in contrasts():
        for word in contrast.words:
            assert contrast.meets(contrast.named(word), contrast.named(word))


def test_a_span_of_days_names_all() -> None:
    assert names_all_days("周一至周五") and names_all_days("每天") and not names_all_days("周一、周五")
