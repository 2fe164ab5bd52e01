"""The replies 确认 and 取消 from a person who was asked."""

from nonebot import on_message
from nonebot.adapters.onebot.v11 import MessageEvent
from nonebot.plugin import PluginMetadata

from qq.confirmations import NO, YES, Confirmation
from qq.depends import confirmations
from qq.speaker import Speaking

__plugin_meta__ = PluginMetadata("确认", "不能撤销的事先问一声", "回复「确认」或「取消」", type="application")


def _said(event: MessageEvent) -> str:
    return event.get_plaintext().strip(" 　。.！!~，,\r\n\t")


async def _is_answer(event: MessageEvent, speaker: Speaking) -> bool:
    return _said(event) in YES | NO and confirmations.concerns(speaker.session)


answer = on_message(rule=_is_answer, priority=20, block=True)


@answer.handle()
async def _(event: MessageEvent, speaker: Speaking) -> None:
    said = _said(event)
    pending = confirmations.answer(speaker.session, said)
    if isinstance(pending, str):
        if pending:
            await speaker.reply(pending)
    elif said in NO:
        await speaker.reply("已取消。")
    else:
        # The person may have lost the right since they asked.
        outcome = await speaker.refusal(pending.rights) or await pending.act()
        if isinstance(outcome, Confirmation):
            outcome = confirmations.ask(speaker.session, pending.rights, outcome)
        await speaker.reply(outcome)
