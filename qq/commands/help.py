"""What `/help` shows: only what this person may do here, in pages that fit a phone."""

from collections.abc import Iterable, Sequence

from qq.commands.calls import split_word
from qq.commands.models import Command, Use, normalized
from qq.commands.registry import CommandRegistry, nearest
from services.roles import Role, Venue, refusal

# With a line above and one below, a page has at most ten lines.
PAGE_LINES = 8
_NAMED = 5
_TYPED_CHARS = 20


class Help:
    """The help for one person in one chat."""

    def __init__(self, registry: CommandRegistry, role: Role, venue: Venue) -> None:
        self._registry = registry
        self._role = role
        self._venue = venue

    def about(self, text: str) -> str:
        """Return the help about `text`: a page, a command, a subcommand, or both with a page behind."""
        topic, rest = split_word(text)
        number = _page_number(topic)
        if not topic or number:
            return self._overview(number or 1)
        command = self._registry.find(topic) or self._registry.find(topic[1:])
        if command is not None:
            return self.about_command(command, rest)
        uses = [use for use in self._allowed() if normalized(topic) in map(normalized, use.row.words)]
        if uses:
            return "\n".join(part for use in uses for part in _details(use))
        return self.unknown_command(topic)

    def about_command(self, command: Command, text: str) -> str:
        """Return the help about a command, about the subcommand that `text` names, or a page of its subcommands."""
        word, _ = split_word(text)
        if not command.is_for(self._role, self._venue):
            return refusal(self._venue.place, (command.subcommands or (command,))[0].rights.lowest(self._venue))
        if not command.subcommands:
            return "\n".join(_details(Use(command)))
        number = _page_number(word)
        if word and not number:
            subcommand = command.find(word)
            if subcommand is None:
                return self.unknown_subcommand(command, word)
            if not subcommand.rights.allow(self._role, self._venue):
                return refusal(self._venue.place, subcommand.rights.lowest(self._venue))
            return "\n".join(_details(Use(command, subcommand)))
        uses = self._allowed_of(command)
        also = f"，也可以写 /{command.aliases[0]}" if command.aliases else ""
        first = next((use for use in uses if use.row.example), uses[0])
        return _page(
            f"{command.purpose}的命令{also}：",
            [use.line for use in uses],
            number or 1,
            f"/help {command.word}",
            f"看例子：/help {first.call.removeprefix('/')}",
        )

    def unknown_command(self, word: str) -> str:
        """Return the reply to a command that does not exist."""
        allowed = [command for command in self._registry if command.is_for(self._role, self._venue)]
        found = nearest(word.lstrip("/／"), allowed)
        suggestion = f"是不是 /{found.word}？" if found else ""
        return f"没有 {word[:_TYPED_CHARS]} 这个命令，{suggestion}发 /help 看能用的命令。"

    def unknown_subcommand(self, command: Command, word: str) -> str:
        """Return the reply to a subcommand that does not exist."""
        uses = self._allowed_of(command)
        found = nearest(word, [use.row for use in uses])
        suggestion = f"是不是 /{command.word} {found.word}？" if found else ""
        return f"没有 /{command.word} {word[:_TYPED_CHARS]} 这个命令，{suggestion}发 /help {command.word} 看全部。"

    def _overview(self, number: int) -> str:
        lines = [self._summary(command) for command in self._registry if command.is_for(self._role, self._venue)]
        return _page(
            "把文件发出来就会入库，问我就从里面找答案。你能用的命令：",
            lines,
            number,
            "/help",
            "看用法：/help 加命令，例如 /help kb",
        )

    def _summary(self, command: Command) -> str:
        if not command.subcommands:
            return Use(command).line
        words = [use.row.word for use in self._allowed_of(command)]
        more = f" 等 {len(words)} 个" if len(words) > _NAMED else ""
        return f"/{command.word} {command.purpose}：{'、'.join(words[:_NAMED])}{more}"

    def _allowed(self) -> Iterable[Use]:
        return (use for use in self._registry.uses() if use.row.rights.allow(self._role, self._venue))

    def _allowed_of(self, command: Command) -> list[Use]:
        return [use for use in command.uses() if use.row.rights.allow(self._role, self._venue)]


def _details(use: Use) -> list[str]:
    lines = [use.line]
    if use.row.example:
        lines.append(f"例如：{use.call} {use.row.example}")
    if use.row.aliases:
        words = [use.command, *([use.subcommand] if use.subcommand else [])]
        lines.append(f"也可以写：/{' '.join((each.aliases or (each.word,))[0] for each in words)}")
    return lines


def _page(title: str, lines: Sequence[str], number: int, call: str, footer: str) -> str:
    pages = max(1, -(-len(lines) // PAGE_LINES))
    if number > pages:
        return f"只有 {pages} 页，发 {call} {pages} 看最后一页。" if pages > 1 else f"只有一页，发 {call} 看。"
    shown = lines[(number - 1) * PAGE_LINES : number * PAGE_LINES]
    return "\n".join([title, *shown, f"下一页：{call} {number + 1}" if number < pages else footer])


def _page_number(text: str) -> int:
    """Return a positive number, or 0 for anything else."""
    return int(text) if text.isdecimal() and len(text) <= 3 else 0
