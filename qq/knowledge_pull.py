"""The command /kb pull, which lists the files of a group and takes in those that the knowledge base lacks."""

import re
from collections.abc import Sequence

from cachetools import TTLCache

from qq.arrivals import messenger
from qq.commands.models import normalized
from qq.depends import services
from qq.group_files import list_group_files
from qq.messages import shortened
from qq.number_ranges import number_ranges
from qq.speaker import Speaker, member_lookup
from services.budgets.day import ZONE
from services.knowledge.group_files import Comparison, FileState, ListedFile
from services.session import Session
from services.text.sizes import size_text

# Files on one page: with the lines around them, it has about ten.
_PAGE = 6
# How long, in seconds, the numbers of a list can be used, and how many lists are kept.
_LIST_S, _MOST_LISTS = 1800.0, 20
_NAMED_GONE = 3
_ALL = frozenset({"all", "全部", "所有"})
_STOP = frozenset({"stop", "停", "停止", "取消", "cancel"})
_PAGE_WORD = re.compile(r"(?:p|page|第|页)\s*(\d{1,4})\s*页?")
_NUMBER_LIST = re.compile(r"[\d\s,，、;；~～到至-]+")
_STATES = {
    FileState.NEW: "",
    FileState.CHANGED: "，新版",
    FileState.HELD: "，已有",
    FileState.OLDER: "，已有更新的",
    FileState.REFUSED: "，收不了",
}

# What each person was shown last in each group, so that the numbers they type mean what they saw.
_shown: TTLCache[Session, Comparison] = TTLCache(_MOST_LISTS, _LIST_S)


async def pull_knowledge(speaker: Speaker, text: str) -> str:
    """List a page of the group's files, take in all or those chosen, or stop. Return the reply."""
    group_id = speaker.session.group_id
    if group_id is None:
        return ""
    word = normalized(text).strip()
    if word in _STOP:
        is_stopping = await services().pulls.stop(speaker.bot.self_id, group_id, messenger)
        return "好，不再收了，正在收的收尾后报一次结果。" if is_stopping else "现在没有在收群文件。"
    if refused := await services().access.upload_refusal(speaker.session, member_lookup(speaker.bot)):
        return refused
    page = _PAGE_WORD.fullmatch(word)
    if not word or page:
        return await _page(speaker, group_id, int(page[1]) if page else 1)
    if word not in _ALL and _NUMBER_LIST.fullmatch(word):
        ranges = number_ranges(word)
        if isinstance(ranges, str):
            return ranges
        comparison = _shown.get(speaker.session)
        if comparison is None:
            return "编号要看最新的列表，先发 /kb pull，再发要收的编号。"
        return await _take_numbers(speaker, group_id, comparison, ranges)
    comparison = await _compared(speaker, group_id)
    if isinstance(comparison, str):
        return comparison
    if word in _ALL:
        return await _take_all(speaker, group_id, comparison)
    return await _take_named(speaker, group_id, comparison, text)


async def _compared(speaker: Speaker, group_id: int) -> Comparison | str:
    """Return the present files of the group, or why there is no list. Their numbers hold from now on."""
    listing = await list_group_files(speaker.bot, group_id)
    if isinstance(listing, str):
        return listing
    comparison = await services().pulls.compare(group_id, listing)
    _shown[speaker.session] = comparison
    return comparison


# -- listing ----------------------------------------------------------------------------------------------------------


async def _page(speaker: Speaker, group_id: int, page: int) -> str:
    # The first page is a new list, and the others belong to it.
    comparison = _shown.get(speaker.session) if page > 1 else None
    if comparison is None:
        comparison = await _compared(speaker, group_id)
    if isinstance(comparison, str):
        return comparison
    pages = max(1, -(-len(comparison.files) // _PAGE))
    if not 1 <= page <= pages:
        return f"只有 {pages} 页，发 /kb pull p{pages} 看最后一页。" if pages > 1 else "只有一页，发 /kb pull 看。"
    lines = [_totals(comparison, page, pages)]
    if page == 1 and (progress := await services().pulls.progress(group_id)):
        lines.append(f"正在收：{progress.total} 个里收好 {progress.done} 个，停下发 /kb pull stop")
    first = (page - 1) * _PAGE
    shown = comparison.files[first : first + _PAGE]
    lines += [_entry(first + number, listed) for number, listed in enumerate(shown, 1)]
    if page == 1:
        lines += _notes(comparison)
    if comparison.count(FileState.NEW, FileState.CHANGED):
        lines.append("全收：/kb pull all；选收：/kb pull 1 3-5")
    if page < pages:
        lines.append(f"下一页：/kb pull p{page + 1}")
    return "\n".join(lines)


def _totals(comparison: Comparison, page: int, pages: int) -> str:
    if not comparison.files:
        return "群文件是空的。"
    counts = (
        (comparison.count(FileState.NEW, FileState.CHANGED), "没收"),
        (comparison.count(FileState.HELD, FileState.OLDER), "已有"),
        (comparison.count(FileState.REFUSED), "收不了"),
    )
    parts = "，".join(f"{word} {count} 个" for count, word in counts if count)
    return f"群文件 {len(comparison.files)} 个：{parts}" + (f"（第 {page}/{pages} 页）" if pages > 1 else "")


def _entry(number: int, listed: ListedFile) -> str:
    file = listed.file
    name = f"{shortened(file.folder, 10)}/{shortened(file.name, 24)}" if file.folder else shortened(file.name, 24)
    date = f"，{file.uploaded_at.astimezone(ZONE):%Y-%m-%d}" if file.uploaded_at else ""
    size = size_text(file.size) if file.size else "大小不明"
    return f"{number}. {name}（{size}{date}{_STATES[listed.state]}）"


def _notes(comparison: Comparison) -> list[str]:
    notes: list[str] = []
    if comparison.unread_folders:
        notes.append(f"{len(comparison.unread_folders)} 个文件夹没能打开，过一会儿再发 /kb pull 看")
    if comparison.is_cut:
        notes.append("群文件太多，只列出了前面的")
    if gone := comparison.gone:
        named = "、".join(f"{row.number}「{shortened(row.name, 14)}」" for row in gone[:_NAMED_GONE])
        more = f"等 {len(gone)} 个" if len(gone) > _NAMED_GONE else ""
        notes.append(f"群里已删、库里还在：{named}{more}，要删发 /kb delete {gone[0].number}")
    return notes


# -- taking in --------------------------------------------------------------------------------------------------------


async def _take_all(speaker: Speaker, group_id: int, comparison: Comparison) -> str:
    wanted = [listed for listed in comparison.files if listed.is_wanted]
    present = comparison.count(FileState.HELD, FileState.OLDER)
    if not wanted:
        return _nothing_wanted(comparison)
    refused = comparison.count(FileState.REFUSED)
    return await _take(speaker, group_id, wanted, present, f"，收不了 {refused} 个" if refused else "")


def _nothing_wanted(comparison: Comparison) -> str:
    if not comparison.files:
        return "群文件是空的。"
    refused = comparison.count(FileState.REFUSED)
    if refused == len(comparison.files):
        return f"群里的 {refused} 个文件都收不了，发 /kb pull 1 看第一个的原因。"
    left = f"，另有 {refused} 个收不了" if refused else ""
    return f"群里能收的文件都已入库{left}。"


async def _take_numbers(
    speaker: Speaker, group_id: int, comparison: Comparison, ranges: Sequence[tuple[int, int]]
) -> str:
    total = len(comparison.files)
    if not total:
        return "群文件是空的。"
    for first, last in ranges:
        if last > total:
            wrong = str(last) if first == last else f"{first}-{last}"
            return f"没有编号 {wrong}，编号是 1 到 {total}，发 /kb pull 看列表。"
    numbers = sorted({number for first, last in ranges for number in range(first, last + 1)})
    return await _take_chosen(speaker, group_id, [comparison.files[number - 1] for number in numbers])


async def _take_named(speaker: Speaker, group_id: int, comparison: Comparison, text: str) -> str:
    wanted = normalized(text)
    files = list(enumerate(comparison.files, 1))
    found = [(number, listed) for number, listed in files if normalized(listed.file.name) == wanted] or [
        (number, listed) for number, listed in files if wanted in normalized(f"{listed.file.folder}/{listed.file.name}")
    ]
    if not found:
        return f"群文件里没有名字带「{shortened(text, 20)}」的，发 /kb pull 看列表。"
    if len(found) > 1:
        lines = [_entry(number, listed) for number, listed in found[:_PAGE]]
        more = [f"还有 {len(found) - _PAGE} 个，把名字写全一点"] if len(found) > _PAGE else []
        return "\n".join([f"有 {len(found)} 个，发编号：", *lines, *more])
    return await _take_chosen(speaker, group_id, [found[0][1]])


async def _take_chosen(speaker: Speaker, group_id: int, chosen: Sequence[ListedFile]) -> str:
    """Take in what a person named. A file with a newer namesake is taken in too, because they asked for it."""
    wanted = [listed for listed in chosen if listed.state not in (FileState.HELD, FileState.REFUSED)]
    refused = [listed for listed in chosen if listed.state is FileState.REFUSED]
    present = len(chosen) - len(wanted) - len(refused)
    if wanted:
        return await _take(speaker, group_id, wanted, present, f"，收不了 {len(refused)} 个" if refused else "")
    if refused:
        name, others = shortened(refused[0].file.name, 24), len(refused) - 1
        more = f"另外 {others} 个也收不了。" if others else ""
        return f"「{name}」没有入库：{refused[0].reason}{more}"
    return f"「{shortened(chosen[0].file.name, 24)}」已入库，不用再收。" if present == 1 else "这些文件都已入库。"


async def _take(speaker: Speaker, group_id: int, wanted: Sequence[ListedFile], present: int, refused: str) -> str:
    files = [listed.file for listed in wanted]
    if not await services().pulls.start(speaker.bot.self_id, speaker.session, files, present, messenger):
        progress = await services().pulls.progress(group_id)
        done = f"，{progress.total} 个里收好 {progress.done} 个" if progress else ""
        return f"群文件正在收{done}，收完再发；停下发 /kb pull stop。"
    held = f"（已有 {present} 个{refused}）" if present else f"（{refused[1:]}）" if refused else ""
    return f"开始收 {len(files)} 个文件{held}，收完说一声。停下发 /kb pull stop。"
