"""All commands of the bot, which the plugins add when they are loaded."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from qq.commands.models import Command, Use, normalized, words_of
from services.roles import Role

# The share of matching characters that makes a word look like a slip of another one. Half of them is enough, because
# most Chinese words have two characters.
_LEAST_SIMILARITY = 0.5


class CommandRegistry:
    """The commands in the order in which they are shown: what everybody may do comes first, then by name.

    The order in which NoneBot loads the plugins is not fixed.
    """

    def __init__(self) -> None:
        self._commands: Sequence[Command] = ()

    def add(self, commands: Sequence[Command]) -> None:
        """Add the table of a plugin. Raise `ValueError` if a word already calls another command."""
        words_of([*self._commands, *commands])
        self._commands = sorted([*self._commands, *commands], key=_order)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def find(self, word: str) -> Command | None:
        """Return the command that a word calls, or None."""
        return words_of(self._commands).get(normalized(word))

    def uses(self) -> Iterator[Use]:
        """Yield everything that can be done with all commands."""
        for command in self._commands:
            yield from command.uses()


def _order(command: Command) -> tuple[int, str]:
    first = (command.subcommands or (command,))[0]
    return first.rights.group or Role.MEMBER, command.word


def nearest(word: str, commands: Iterable[Command]) -> Command | None:
    """Return the command one of whose words resembles `word` most, or None if none does."""
    words = words_of(list(commands))
    found = difflib.get_close_matches(normalized(word), words, n=1, cutoff=_LEAST_SIMILARITY)
    return words[found[0]] if found else None


registry = CommandRegistry()
