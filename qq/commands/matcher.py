"""From a table of commands to NoneBot: who called what, whether they may, and the reply."""

from contextlib import AsyncExitStack
from typing import Annotated

from nonebot import get_driver
from nonebot.adapters.onebot.v11 import Bot, Message, MessageEvent
from nonebot.dependencies import Dependent
from nonebot.matcher import Matcher
from nonebot.params import Depends
from nonebot.plugin.on import get_matcher_source, store_matcher
from nonebot.rule import Rule
from nonebot.typing import T_State

from qq.budget import within_command_budget
from qq.commands.calls import Call, read_call, split_word
from qq.commands.help import Help
from qq.commands.models import HELP_WORDS, Command, Outcome, Use, normalized, words_of
from qq.commands.registry import registry
from qq.confirmations import Confirmation
from qq.depends import confirmations
from qq.speaker import Speaker, Speaking

_PRIORITY = 10
_CALL, _COMMAND, _ARGUMENT = "qunzhi_call", "qunzhi_command", "qunzhi_argument"


def register(*commands: Command) -> None:
    """Make the commands of a plugin available.

    Raise `ValueError` if another command is called by one of their words, or if a handler has a parameter that NoneBot
    cannot inject.
    """
    words = words_of(commands)
    uses = [use for command in commands for use in command.uses()]
    handlers = {
        use: Dependent[Outcome].parse(call=use.row.handler, allow_types=Matcher.HANDLER_PARAM_TYPES)
        for use in uses
        if use.row.handler is not None
    }

    registry.add(commands)

    async def is_called(event: MessageEvent, state: T_State) -> bool:
        call = call_of(event)
        command = None if call is None else words.get(normalized(call.word))
        state[_CALL], state[_COMMAND] = call, command
        return command is not None

    async def run(matcher: Matcher, bot: Bot, event: MessageEvent, state: T_State, speaker: Speaking) -> None:
        call: Call = state[_CALL]
        command: Command = state[_COMMAND]
        use, argument = _use(command, call.text)
        if (use.row if use else command).counted and not await within_command_budget(speaker):
            return
        if use is None:
            await speaker.reply(await _mistaken(speaker, command, call.text))
            return
        if refused := await speaker.refusal(use.row.rights):
            await speaker.reply(refused)
            return
        state[_ARGUMENT] = argument
        async with AsyncExitStack() as stack:
            outcome = await handlers[use](
                matcher=matcher, bot=bot, event=event, state=state, stack=stack, dependency_cache={}
            )
        if isinstance(outcome, Confirmation):
            outcome = confirmations.ask(speaker.session, use.row.rights, outcome)
        if outcome:
            await speaker.reply(outcome)

    # `on_message` would name this module in the log, instead of the plugin that calls this function.
    source = get_matcher_source(1)
    matcher = Matcher.new("message", Rule(is_called), handlers=[run], priority=_PRIORITY, block=True, source=source)
    store_matcher(matcher)


def call_of(event: MessageEvent) -> Call | None:
    """Return the call at the beginning of a message, or None."""
    return read_call(event.get_message(), get_driver().config.command_start)


async def help_for(speaker: Speaker) -> Help:
    """Return the help for a person."""
    return Help(registry, await speaker.role(), speaker.venue)


def _use(command: Command, text: str) -> tuple[Use | None, str]:
    """Return what is called, or None for an unknown subcommand, and the text after it."""
    if not command.subcommands:
        return Use(command), text
    word, rest = split_word(text)
    subcommand = command.find(word) if word else command.subcommands[0]
    return Use(command, subcommand) if subcommand else None, rest


async def _mistaken(speaker: Speaker, command: Command, text: str) -> str:
    word, rest = split_word(text)
    shown = await help_for(speaker)
    if normalized(word) in HELP_WORDS:
        return shown.about_command(command, rest)
    return shown.unknown_subcommand(command, word)


# These dependencies are asynchronous although they await nothing: NoneBot runs plain functions in threads.
async def _argument(state: T_State) -> str:
    return state[_ARGUMENT]


async def _argument_message(state: T_State) -> Message:
    call: Call = state[_CALL]
    return call.arguments


# The text after the command, and the same as a message for a command without subcommands.
Argument = Annotated[str, Depends(_argument)]
ArgumentMessage = Annotated[Message, Depends(_argument_message)]
