"""The documents of a knowledge base for the page: what was read of them, piece by piece, and their deletion."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qq.depends import services
from services.knowledge.models import Chunk, DocumentEntry
from services.knowledge.outlines import Place
from simulator.stage import Rejected

# Passages in one response, and places of one outline.
PASSAGES, PLACES = 50, 1000
_MOST_DIGITS = 9
_STATUS = {"file_too_large": 413, "not_connected": 503, "unknown_document": 404}

# Return the knowledge base that a request is about, or raise `Rejected`.
CollectionOf = Callable[[Request], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Library:
    """The addresses under `prefix`. `collection_of` finds the knowledge base, `uploader` names who sent a file."""

    prefix: str
    collection_of: CollectionOf
    uploader: Callable[[int], str]

    @property
    def routes(self) -> list[Route]:
        """The routes of an open document."""
        return [
            Route(f"{self.prefix}/document", self._document),
            Route(f"{self.prefix}/passages", self._passages),
            Route(f"{self.prefix}/deletion", self._delete, methods=["POST"]),
        ]

    async def _document(self, request: Request) -> Response:
        view = await services().catalogue.view(await self.collection_of(request), number_of(request, "number"))
        if view is None:
            raise Rejected("unknown_document", "")
        places = view.outline.places
        return JSONResponse(
            {
                "document": document_json(view.entry, self.uploader),
                "outline": [_place_json(place) for place in places[:PLACES]],
                "cut": view.is_cut or len(places) > PLACES,
                "page_size": PASSAGES,
            }
        )

    async def _passages(self, request: Request) -> Response:
        collection, number = await self.collection_of(request), number_of(request, "number")
        chunks = await services().knowledge.passages(collection, number, number_of(request, "from"), PASSAGES)
        return JSONResponse({"passages": [{**_place_json(chunk), "text": chunk.text} for chunk in chunks]})

    async def _delete(self, request: Request) -> Response:
        collection, number = await self.collection_of(request), number_of(request, "number")
        entry = await services().knowledge.document(collection, number)
        # Somebody may have sent a new version since the person at the page looked at it.
        is_same = entry is not None and entry.version == number_of(request, "version")
        if is_same:
            await services().knowledge.delete(collection, number)
        return JSONResponse({"deleted": is_same})


def document_json(entry: DocumentEntry, uploader: Callable[[int], str]) -> dict[str, Any]:
    """Return a document as the page shows it."""
    return {
        "number": entry.number,
        "name": entry.name,
        "version": entry.version,
        "chunks": entry.chunks,
        "size": entry.size,
        "uploader": uploader(entry.uploader_id),
        "time": int(entry.uploaded_at.timestamp()),
        "state": "ready" if entry.ready else "building",
    }


def number_of(request: Request, name: str) -> int:
    """Return a number of the query. Raise `Rejected` for anything else."""
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
        raise Rejected("bad_request", f"{name}: {text[:40]}")
    return int(text)


def rejected(_request: Request, error: Exception) -> Response:
    """Return the response to a request that was refused."""
    if not isinstance(error, Rejected):
        raise error
    return JSONResponse({"code": error.code, "detail": error.detail}, _STATUS.get(error.code, 400))


def _place_json(place: Place | Chunk) -> dict[str, Any]:
    return {"ordinal": place.ordinal, "page": place.page, "heading": list(place.heading)}
