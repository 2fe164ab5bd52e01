"""The rows of the tables in which plugins list their commands."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from qq.confirmations import Confirmation
from services.roles import EVERYBODY, Rights, Role, Venue
from services.text.cleaning import compatible

# What a handler returns: the reply, an irreversible act to confirm first, or None if everything was already said.
Outcome = str | Confirmation | None
# NoneBot injects the arguments by their annotations and refuses to load a handler with an argument that it cannot
# inject.
Handler = Callable[..., Awaitable[Outcome]]

HELP_WORDS = frozenset({"help", "帮助"})


@dataclass(frozen=True, slots=True)
class Command:
    """A command, with either a handler or subcommands.

    `word` and `aliases` call it; without a second word, a command calls the first of its subcommands. `purpose` says in
    the help what it is for, after the `arguments` that it takes; `example` is a value of these. The rights of a command
    with subcommands are those of each subcommand. `counted` tells whether it counts for the limit of commands.
    """

    word: str
    aliases: tuple[str, ...]
    purpose: str
    handler: Handler | None = None
    arguments: str = ""
    example: str = ""
    rights: Rights = EVERYBODY
    counted: bool = True
    subcommands: tuple["Command", ...] = ()

    def __post_init__(self) -> None:
        if (self.handler is None) is not bool(self.subcommands):
            raise ValueError(f"the command {self.word!r} needs either a handler or subcommands")
        if any(subcommand.subcommands for subcommand in self.subcommands):
            raise ValueError(f"the subcommands of {self.word!r} cannot have subcommands")
        if hidden := words_of(self.subcommands).keys() & HELP_WORDS:
            raise ValueError(f"{self.word!r} cannot have the subcommand {min(hidden)!r}, which shows its help")

    @property
    def words(self) -> tuple[str, ...]:
        """All words that call this command."""
        return (self.word, *self.aliases)

    def find(self, word: str) -> "Command | None":
        """Return the subcommand that a word calls, or None."""
        return words_of(self.subcommands).get(normalized(word))

    def is_for(self, role: Role, venue: Venue) -> bool:
        """Return whether a person with this role may use the command, or at least one subcommand, in this chat."""
        return any(command.rights.allow(role, venue) for command in self.subcommands or (self,))

    def uses(self) -> Iterator["Use"]:
        """Yield everything that can be done with this command."""
        if self.handler is not None:
            yield Use(self)
        for subcommand in self.subcommands:
            yield Use(self, subcommand)


@dataclass(frozen=True, slots=True)
class Use:
    """One thing to do: a command, together with its subcommand if it has any."""

    command: Command
    subcommand: Command | None = None

    @property
    def row(self) -> Command:
        """The row of the table with the handler, the rights and the usage."""
        return self.subcommand or self.command

    @property
    def call(self) -> str:
        """The words that call it.

        >>> async def show() -> str: return ""
        >>> Use(Command("kb", (), "知识库", subcommands=(page := Command("list", (), "文件", show),)), page).call
        '/kb list'
        """
        return f"/{self.command.word}" + (f" {self.subcommand.word}" if self.subcommand else "")

    @property
    def usage(self) -> str:
        """The words that call it, and its arguments."""
        return f"{self.call} {self.row.arguments}".rstrip()

    @property
    def line(self) -> str:
        """The line of the help."""
        return f"{self.usage} {self.row.purpose}"


def normalized(word: str) -> str:
    """Return a word in the form in which words are compared: full-width letters and capitals count as the usual ones.

    >>> normalized("ＫＢ") == normalized("Kb") == "kb"
    True
    """
    return compatible(word).casefold()


def words_of(commands: Sequence[Command]) -> dict[str, Command]:
    """Return the commands by each of their words.

    Raise `ValueError` if two of them share a word.
    """
    words: dict[str, Command] = {}
    for command in commands:
        for word in map(normalized, command.words):
            if word in words:
                raise ValueError(f"two commands are called by {word!r}")
            words[word] = command
    return words
