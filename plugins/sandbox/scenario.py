"""The scenario for a first visit: people, groups, three documents and five questions."""

from pathlib import Path

from simulator.stage import Cast
from simulator.world import Member

# Longer than any QQ number, so that no real account or group shares a knowledge base or a memory with the page.
BOT_ID = 900_000_000_000
CAST = Cast(
    lowest_id=BOT_ID,
    bot=Member(BOT_ID, "群知"),
    people=(
        Member(BOT_ID + 1, "周老师", role="owner"),
        Member(BOT_ID + 2, "陈助教", role="admin"),
        Member(BOT_ID + 3, "小林", role="member"),
        Member(BOT_ID + 4, "阿明", role="member"),
    ),
    groups=(
        (BOT_ID + 101, "高等数学课程群"),
        (BOT_ID + 102, "青禾读书社"),
        (BOT_ID + 103, "开源项目交流群"),
    ),
)
SAMPLES = tuple(
    Path(__file__).parent / "samples" / name
    for name in ("高等数学课程说明.pdf", "社团经费报销办法.docx", "机房使用常见问题.md")
)
# None of the documents answers the last question, and the bot says so.
QUESTIONS = (
    "期中考试在第几周？",
    "缺课几次不能参加期末考试？",
    "活动结束后多少天内要报销？",
    "机房周末几点关门？",
    "校车几点发车？",
)
