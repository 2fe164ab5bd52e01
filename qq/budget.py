"""Limits on what one person may ask in a minute. A refused command or question costs nothing but one sentence."""

from typing import Annotated

from nonebot.params import Depends

from qq.depends import services
from qq.speaker import Speaker
from services.budgets.questions import QuestionBudget
from services.roles import Role


async def within_command_budget(speaker: Speaker) -> bool:
    """Count a command. Return False, and tell the user once, if it exceeds the limit of this minute.

    Commands of people who manage a group are not counted, because cleaning up takes many of them.
    """
    if await speaker.role() >= Role.ADMIN:
        return True
    admission = services().questions.command(speaker.session)
    if admission.sentence:
        await speaker.reply(admission.sentence)
    return admission.refusal is None


async def _questions() -> QuestionBudget:
    return services().questions


Questions = Annotated[QuestionBudget, Depends(_questions)]
