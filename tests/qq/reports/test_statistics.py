"""Tests of the statistics as people read them."""

from dataclasses import replace

from qq.outbox.replies import Picture
from qq.render.markup import markup
from qq.reports.statistics import CATEGORIES, statistics_reply, statistics_text
from services.records.statistics import DocumentCount, TurnCounts
from services.records.tables import ModelFeature
from services.records.usage import ModelUsage
from services.statistics.service import Statistics
from services.statistics.topics import Topic

STATISTICS = Statistics(
    days=7,
    turns=TurnCounts(20, 12, 2, 3, 1, 1, 1, 4, 2, 5),
    categories=[("technical", 8), ("platform", 4)],
    topics=[Topic("宿舍几点熄灯，" * 9, 3), Topic("食堂在哪", 1), Topic("第三个", 1)],
    most_cited=[DocumentCount(1, "员工手册.pdf", 9)],
    never_cited=6,
    never_cited_first=[DocumentCount(number, f"旧{number}.txt", 0) for number in range(2, 7)],
    usage={ModelFeature.ANSWER: ModelUsage(12, 34_000, 130_000, 0), None: ModelUsage(1, 500, 0, 1)},
    median_s=1.23,
    p95_s=4.5,
)


def test_the_words_fit_a_phone_screen() -> None:
    lines = statistics_text(STATISTICS).split("\n")
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 80
    assert lines[0] == "最近 7 天：提问 20 次，答出 12，没找到 3，反问 2，审核 1，在等 1，没答成 1"
    assert lines[1] == "已解决：有人确认 4，推定 5（没评价也没再追问）"
    assert lines[-2] == "用时：一半在 1.2 秒内，95% 在 4.5 秒内"
    assert lines[-1] == "模型：回答 12 次 3.4 万 token ¥0.13；其他 1 次 500 token"


def test_the_picture_shows_the_same() -> None:
    reply = statistics_reply(STATISTICS)
    assert isinstance(reply, Picture)
    assert reply.text == statistics_text(STATISTICS)
    (drawing,) = reply.drawings
    html = markup(drawing)
    for shown in ("20", "技术问题", "食堂在哪", "员工手册.pdf", "没引用过的文件（6 个）", "¥0.13", "4.5 秒"):
        assert shown in html


def test_a_chat_without_questions_gets_a_sentence() -> None:
    assert statistics_reply(replace(STATISTICS, turns=TurnCounts())) == "最近 7 天没有人提问。换一段时间：/stats 30"


def test_every_category_of_the_specification_has_a_name() -> None:
    assert set(CATEGORIES) == {"model_usage", "technical", "platform", "project"}
