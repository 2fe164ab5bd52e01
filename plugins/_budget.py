"""What one person may ask for in a minute: refused commands and questions cost nothing but one sentence."""

from typing import Annotated

from nonebot.exception import FinishedException
from nonebot.params import Depends

from plugins._depends import services
from plugins._speaker import Speaker, Speaking
from services.budgets.questions import QuestionBudget
from services.roles import Role


async def within_command_budget(speaker: Speaker) -> bool:
    """Count a command. Return False, and say so once, where it is one too many for this minute.

    The commands of those who manage a group are not counted: to clean up takes many.
    """
    if await speaker.role() >= Role.ADMIN:
        return True
    admission = services().questions.command(speaker.session)
    if admission.sentence:
        await speaker.reply(admission.sentence)
    return admission.refusal is None


async def _commanding(speaker: Speaking) -> Speaker:
    """Return who gives a command within their budget; end the handler where there is no room for it."""
    if not await within_command_budget(speaker):
        raise FinishedException
    return speaker


async def _questions() -> QuestionBudget:
    return services().questions


Commanding = Annotated[Speaker, Depends(_commanding)]
Questions = Annotated[QuestionBudget, Depends(_questions)]
