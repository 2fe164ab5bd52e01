"""The HTTP server: uvicorn with the limits of QQ clients, which a signal can stop at any moment."""

import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from qq.connection.shutdown import shutdown

# A file in base64 may arrive as one large frame.
_FRAME_BYTES = 64 << 20
# The slot of a frozen client becomes free after about ten seconds.
_PING_S = 5
# Anything that a client has not received by then stays unsent.
_GRACEFUL_S = 2
_LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"default": {"class": "nonebot.log.LoguruHandler"}},
    "loggers": {"uvicorn.error": {"handlers": ["default"], "level": "INFO"}},
}


class Server(uvicorn.Server):
    """Uvicorn's server, except that a signal also ends it while it starts, and that the exit code is then 0."""

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
        """Serve until a signal arrives. Raise `SystemExit` if the startup fails."""
        shutdown.watch()
        super().run(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the shutdown. Unlike uvicorn, do not raise the signal again at the end."""
        shutdown.request()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and listen."""
        try:
            await super().startup(sockets)
        except SystemExit:
            # The application gave up its startup because the shutdown was requested.
            if not shutdown.requested:
                raise
