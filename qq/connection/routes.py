"""The routes of the bot's port. Everything that the port serves is in this table, together with its guard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match, WebSocketRoute
from starlette.types import Scope


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served. `reason` is sent as plain text, `status` is the HTTP status."""

    reason: str
    status: int = 403
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Guard(Protocol):
    """Decides who may use some routes, from the path and the headers of a request alone."""

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why this request or WebSocket handshake is refused, or None if it may pass."""
        ...


@dataclass(frozen=True, slots=True)
class GuardedApplication:
    """An application, and the guard in front of all of its routes."""

    guard: Guard
    application: Starlette

    def serves(self, scope: Scope) -> bool:
        """Return whether one of the routes has the path of a request, whatever its method."""
        return any(route.matches(scope)[0] is not Match.NONE for route in self.application.routes)


class RouteTable:
    """All routes, in groups that share a guard. A path that is not in the table does not exist.

    Plugins add to the table while they load or start. An application is used as it is, with its own middleware and
    error handlers (a FastAPI application also with its own OpenAPI document), but it gets no lifespan events.
    """

    def __init__(self) -> None:
        self._groups: list[GuardedApplication] = []

    def add(self, guard: Guard, application: Starlette) -> None:
        """Serve all routes of an application behind `guard`.

        Raise `ValueError` if a path is taken: the guard of another group would then decide about it.
        """
        taken = {_key(route) for group in self._groups for route in group.application.routes}
        if double := taken & {_key(route) for route in application.routes}:
            raise ValueError(f"already in the table of routes: {sorted(path for path, _ in double)}")
        self._groups.append(GuardedApplication(guard, application))

    def find(self, scope: Scope) -> GuardedApplication | None:
        """Return the group that serves a request, or None if the path does not exist."""
        return next((group for group in self._groups if group.serves(scope)), None)

    @property
    def groups(self) -> tuple[GuardedApplication, ...]:
        """The groups in the order in which they were added."""
        return tuple(self._groups)


def _key(route: BaseRoute) -> tuple[str, bool]:
    return str(getattr(route, "path", "")), isinstance(route, WebSocketRoute)


route_table = RouteTable()
