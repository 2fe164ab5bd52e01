"""The line about what the models used today."""

import pytest

from qq.reports.usage import usage_text
from services.records.usage import ModelUsage


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (ModelUsage(12, 34_000, 125_000), "今天：调用 12 次，约 3.4 万 token，约 ¥0.12"),
        (ModelUsage(1, 900, 4_000), "今天：调用 1 次，约 900 token，不到 ¥0.01"),
        (ModelUsage(3, 900, 0, 3), "今天：调用 3 次，约 900 token"),
        (ModelUsage(3, 900, 50_000, 2), "今天：调用 3 次，约 900 token，约 ¥0.05（另有 2 次价格未知）"),
        (ModelUsage(), "今天：调用 0 次，约 0 token，约 ¥0.00"),
    ],
)
def test_one_line(usage: ModelUsage, line: str) -> None:
    assert usage_text(usage) == line
