"""The documents and the statistics of real groups for the operator, who has to know HTTP__TOKEN."""

from pathlib import Path

from nonebot import get_bots, logger
from nonebot.adapters.onebot.v11 import Bot
from nonebot.adapters.onebot.v11.exception import ActionFailed, ApiNotAvailable, NetworkError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from plugins.sandbox.guard import PageHeaders
from plugins.sandbox.library import Library, document_json, number_of, rejected
from plugins.sandbox.shell import shell
from plugins.sandbox.statistics import statistics_json
from qq.connection.guards import BearerGuard, NeighbourGuard
from qq.connection.routes import RouteTable
from qq.depends import services
from services.session import GLOBAL_COLLECTION
from services.statistics.service import MOST_DAYS
from simulator.stage import Rejected

_PAGE = 50
_GROUP = "group_"
_NAMES_TIMEOUT_S = 3


def add_operator_page(table: RouteTable, static: Path, token: str, *, has_access_token: bool) -> None:
    """Serve the page, which holds no data, and behind `token` everything that it shows.

    The token is never a cookie: the page sends it with each request, so no other page can use it.
    """

    async def index(_request: Request) -> Response:
        return shell("群资料", "/operator/static", "operator.js")

    headers = [Middleware(PageHeaders)]
    page = [Route("/operator", index), Mount("/operator/static", StaticFiles(directory=static))]
    table.add(NeighbourGuard(has_access_token=has_access_token), Starlette(routes=page, middleware=headers))
    library = Library("/operator/api", _collection, str)
    data = [
        Route("/operator/api/groups", _groups),
        Route("/operator/api/documents", _documents),
        Route("/operator/api/statistics", _statistics),
        *library.routes,
    ]
    application = Starlette(routes=data, middleware=headers, exception_handlers={Rejected: rejected})
    table.add(BearerGuard("HTTP__TOKEN", token), application)


async def _groups(_request: Request) -> Response:
    """Return the groups with a knowledge base. Private chats are left out."""
    names = await _names()
    found = [name for name in await services().knowledge.collections() if _is_of_groups(name)]
    return JSONResponse(
        {"groups": [{"id": name, "number": _number(name), "name": names.get(_number(name), "")} for name in found]}
    )


async def _documents(request: Request) -> Response:
    page = max(1, number_of(request, "page"))
    entries, total = await services().knowledge.documents(await _collection(request), page, _PAGE)
    return JSONResponse(
        {"documents": [document_json(entry, str) for entry in entries], "total": total, "page_size": _PAGE}
    )


async def _statistics(request: Request) -> Response:
    collection = await _collection(request)
    if collection == GLOBAL_COLLECTION:
        # Figures belong to a group, and this collection to none.
        raise Rejected("shared_statistics", "")
    days = min(max(1, number_of(request, "days")), MOST_DAYS)
    # The knowledge base of a group has the name of its chat.
    return JSONResponse(statistics_json(await services().statistics.report(collection, collection, days)))


async def _collection(request: Request) -> str:
    name = request.query_params.get("group", "")
    if not _is_of_groups(name) or name not in await services().knowledge.collections():
        raise Rejected("unknown_group", "")
    return name


def _is_of_groups(collection: str) -> bool:
    return collection == GLOBAL_COLLECTION or collection.startswith(_GROUP)


def _number(collection: str) -> str:
    return collection.removeprefix(_GROUP) if collection.startswith(_GROUP) else ""


async def _names() -> dict[str, str]:
    """Return the names of the groups that the connected accounts are in, as far as their clients say."""
    names: dict[str, str] = {}
    for bot in get_bots().values():
        if not isinstance(bot, Bot):
            continue
        try:
            groups = await bot.call_api("get_group_list", _timeout=_NAMES_TIMEOUT_S)
        except (ActionFailed, NetworkError, ApiNotAvailable) as error:
            logger.warning(f"account {bot.self_id} does not list its groups: {error!r}")
            continue
        for group in groups if isinstance(groups, list) else []:
            if isinstance(group, dict):
                names[str(group.get("group_id"))] = str(group.get("group_name") or "")
    return names
