"""A small table of commands for tests."""

from qq.commands.models import Command
from qq.commands.registry import CommandRegistry
from services.roles import Rights, Role


async def done() -> str:
    return "好。"


def table() -> tuple[Command, ...]:
    return (
        Command("ask", ("问",), "提问", done, arguments="问题", example="几点熄灯"),
        Command(
            "bot", ("机器人",), "机器人", subcommands=(Command("status", ("状态",), "状态", done, rights=OPERATOR),)
        ),
        Command(
            "kb",
            ("知识库", "资料"),
            "知识库",
            subcommands=(
                Command("status", ("状态",), "知识库状态", done),
                Command("list", ("列表",), "文件列表", done, arguments="[页]", example="2"),
                Command("delete", ("删除",), "删除文件", done, arguments="编号", example="1", rights=ADMINS),
                Command("use", ("使用",), "查那个群的资料", done, arguments="群号", rights=Rights(group=None)),
            ),
        ),
    )


ADMINS = Rights(group=Role.ADMIN)
OPERATOR = Rights(group=Role.SUPERUSER, private=Role.SUPERUSER)


def registry(*more: Command) -> CommandRegistry:
    commands = CommandRegistry()
    commands.add([*table(), *more])
    return commands
