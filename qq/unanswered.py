"""The list of what a group asked in vain, for the command that manages approved answers."""

from qq.commands.matcher import Argument
from qq.depends import services
from qq.reports.reviews import unanswered_text
from qq.speaker import Speaking


async def list_unanswered(speaker: Speaking, argument: Argument) -> str:
    """Return one page of the questions of this group that nothing was found for. `argument` is the page, if any."""
    page = 1
    if argument:
        page = int(argument) if argument.isdecimal() and len(argument) <= 6 else 0
    if not page:
        return "没看懂页码，例如：/faq 待答 2"
    return unanswered_text(await services().unanswered.page(speaker.session.chat, page), page)
