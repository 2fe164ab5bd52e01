"""The HTTP server: uvicorn with the limits of QQ clients, stopped by a signal at any moment."""

import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from plugins._shutdown import shutdown

# A file in base64 may be one large frame.
_FRAME_BYTES = 64 << 20
# A frozen client frees its slot after about ten seconds.
_PING_S = 5
# What a client has not taken by then stays unsent.
_GRACEFUL_S = 2
_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"default": {"class": "nonebot.log.LoguruHandler"}},
    "loggers": {"uvicorn.error": {"handlers": ["default"], "level": "INFO"}},
}


class Server(uvicorn.Server):
    """Uvicorn's server, which a signal also ends while it starts, and with exit code 0."""

    def __init__(self, application: FastAPI, host: str, port: int) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                host=host,
                port=port,
                ws_max_size=_FRAME_BYTES,
                ws_ping_interval=_PING_S,
                ws_ping_timeout=_PING_S,
                timeout_graceful_shutdown=_GRACEFUL_S,
                access_log=False,
                log_config=_LOGGING,
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes. Raises `SystemExit` where the start fails."""
        shutdown.watch()
        super().run(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown. Unlike uvicorn's, it does not raise the signal again at the end."""
        shutdown.request()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and listen."""
        try:
            await super().startup(sockets)
        except SystemExit:
            # The application gave up its start because it was asked to.
            if not shutdown.requested:
                raise
