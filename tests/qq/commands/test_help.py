"""Tests of the help: what is shown to whom, pages that fit a phone, and the replies to mistakes."""

import pytest

from qq.commands.help import PAGE_LINES, Help
from qq.commands.models import Command
from qq.commands.registry import CommandRegistry
from services.roles import Place, Role, Venue
from tests.qq.commands.tables import done, registry

GROUP, PRIVATE = Venue(Place.GROUP), Venue(Place.PRIVATE)
PHONE_LINES = 10


def shown(text: str = "", role: Role = Role.MEMBER, venue: Venue = GROUP) -> str:
    return Help(registry(), role, venue).about(text)


def test_the_overview_names_what_one_may_use() -> None:
    assert shown().split("\n") == [
        "把文件发出来就会入库，问我就从里面找答案。你能用的命令：",
        "/ask 问题 提问",
        "/kb 知识库：status、list",
        "看用法：/help 加命令，例如 /help kb",
    ]
    assert "/kb 知识库：status、list、delete\n/bot 机器人：status\n" in shown(role=Role.SUPERUSER)
    assert "/kb 知识库：status、list、delete、use\n" in shown(venue=PRIVATE)


def test_a_command_shows_its_lines() -> None:
    for topic in ("kb", "/kb", "知识库", "／资料", "KB"):
        assert shown(topic).split("\n") == [
            "知识库的命令，也可以写 /知识库：",
            "/kb status 知识库状态",
            "/kb list [页] 文件列表",
            "看例子：/help kb list",
        ]
    assert shown("问") == "/ask 问题 提问\n例如：/ask 几点熄灯\n也可以写：/问"


def test_one_subcommand_by_its_own_word() -> None:
    expected = "/kb list [页] 文件列表\n例如：/kb list 2\n也可以写：/知识库 列表"
    assert shown("kb list") == shown("/知识库 列表") == shown("列表") == shown("LIST") == expected
    # The same word of several commands shows all of them.
    assert shown("status", Role.SUPERUSER).count("状态\n也可以写：") == 2
    assert shown("status").count("也可以写：") == 1


def test_what_one_may_not_use_is_refused_as_the_command_is() -> None:
    assert shown("kb delete") == "需要管理员：这件事要由群管理员来做。"
    assert shown("kb use") == "这个命令只能在私聊里用。"
    assert shown("bot") == "需要管理员：这件事要由机器人管理员来做。"
    assert "删除" not in shown("kb") + shown()


def test_mistakes_name_the_nearest_that_one_may_use() -> None:
    assert shown("kbb") == "没有 kbb 这个命令，是不是 /kb？发 /help 看能用的命令。"
    assert shown("kb lits") == "没有 /kb lits 这个命令，是不是 /kb list？发 /help kb 看全部。"
    assert shown("kb delet") == "没有 /kb delet 这个命令，发 /help kb 看全部。"
    assert "/kb delete" in shown("kb delet", Role.ADMIN)
    assert shown("没" * 99) == f"没有 {'没' * 20} 这个命令，发 /help 看能用的命令。"


@pytest.mark.parametrize("count", [0, 1, PAGE_LINES, PAGE_LINES + 1, 60])
def test_every_page_fits_a_phone_and_nothing_is_left_out(count: int) -> None:
    rows = tuple(Command(f"row{number}", (), f"第 {number} 行", done) for number in range(count))
    commands = CommandRegistry()
    commands.add([*rows, Command("many", (), "许多", subcommands=(*rows, Command("last", (), "最后", done)))])
    help_ = Help(commands, Role.MEMBER, GROUP)
    for call, total in (("", count + 1), ("many", count + 1)):
        pages: list[str] = [help_.about(call)]
        while "下一页：/help" in pages[-1]:
            pages.append(help_.about(pages[-1].rpartition("下一页：/help")[2]))
        assert all(len(page.split("\n")) <= PHONE_LINES for page in pages)
        assert len(pages) == -(-total // PAGE_LINES)
        lines = [line for page in pages for line in page.split("\n")[1:-1]]
        assert len(lines) == len(set(lines)) == total
        assert help_.about(f"{call} {len(pages) + 1}").startswith("只有")
