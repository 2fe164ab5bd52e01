"""Client of a rerank service: one question, several passages, one score each."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import aiohttp

from services.errors import RerankError, SettingsError
from services.reranking.formats import FORMATS, format_of, read_scores, request_body
from services.settings import RerankSettings

# A service that returns fifty passages of 2,000 characters unasked sends 300 kB.
_MAX_BYTES = 1 << 20
_DETAIL_CHARS = 500

_UNREACHABLE = "重排服务连不上，请管理员检查 RERANK__BASE_URL 和服务器的网络。"
_TIMEOUT = "重排服务没有在规定时间内回应，请稍后再试；一直如此请管理员调大 RERANK__TIMEOUT_S 或换一个服务。"
_BROKEN_OFF = "和重排服务的连接中断了，请稍后再试；一直如此请管理员检查服务器的网络。"
_UNUSABLE = "重排服务返回的内容不能用，请管理员检查 RERANK__PROVIDER、RERANK__BASE_URL 和 RERANK__MODEL 是否配套。"
_NOT_SENT = "重排服务的密钥里有不该有的字符，请管理员检查 RERANK__API_KEY。"
_CLOSED = "机器人正在停止，请稍后再试。"


class RerankService:
    """A client that opens no connection before its first call, which may come from any running event loop.

    `settings.provider` must not be `local`. `name` is the service and its model, for the status and the logs. Raise
    `SettingsError` if the address is invalid.
    """

    def __init__(self, settings: RerankSettings) -> None:
        self._url = settings.base_url or FORMATS[settings.provider].url
        self._place = _loggable(self._url)
        self._format = format_of(settings.provider, self._url)
        self._key = settings.api_key.get_secret_value().strip()
        self._model = settings.model
        self._timeout_s = settings.timeout_s
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self.name = f"{self._format.title} {settings.model}"

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers the question, 0 to 1, in the order of the passages.

        The whole call takes at most `timeout_s`. Raise `RerankError` unless every passage has a usable score.
        """
        if not passages:
            return []
        request = request_body(self._format, self._model, question, passages)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._ask(request)
        except TimeoutError as error:
            raise self._error(_TIMEOUT, f"no answer in {self._timeout_s:g} s") from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise self._error(_UNREACHABLE, repr(error)) from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._error(_BROKEN_OFF, repr(error)) from error
        except ValueError as error:
            # The key contains characters that a header cannot carry.
            raise self._error(_NOT_SENT, repr(error)) from error
        try:
            return read_scores(self._format, self._model, answer, len(passages))
        except ValueError as error:
            raise self._error(_UNUSABLE, f"{error}: {self._excerpt(answer)}") from error

    async def aclose(self) -> None:
        """Close the connections. Further calls raise `RerankError`."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def _ask(self, request: bytes) -> bytes:
        async with await self._post(request) as response:
            body = bytearray()
            async for block in response.content.iter_any():
                body += block
                if len(body) > _MAX_BYTES:
                    raise self._error(_UNUSABLE, f"HTTP {response.status}, more than {_MAX_BYTES} bytes")
            if response.status != 200:
                raise self._error(_refusal(response.status), f"HTTP {response.status}: {self._excerpt(body)}")
            return bytes(body)

    async def _post(self, request: bytes) -> aiohttp.ClientResponse:
        try:
            return await self._post_once(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # Usually a connection kept open since the last call that the service has closed in the meantime.
            return await self._post_once(request)

    async def _post_once(self, request: bytes) -> aiohttp.ClientResponse:
        if self._closed:
            raise self._error(_CLOSED, "closed")
        if self._session is None:
            # The time limit applies to the whole call. A compressed body could decompress to any size.
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False)
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        # A redirect would send question, passages and key to an address that was not configured.
        return await self._session.post(self._url, data=request, headers=headers, allow_redirects=False)

    def _error(self, sentence: str, detail: str) -> RerankError:
        return RerankError(sentence, self._without_key(f"{self.name} at {self._place}: {detail}"))

    def _excerpt(self, body: bytes | bytearray) -> str:
        # Remove the key first: if the cut went through it, it would no longer be found.
        return repr(self._without_key(body.decode("utf-8", "replace"))[:_DETAIL_CHARS])

    def _without_key(self, text: str) -> str:
        """Remove the key, which a service may repeat when it rejects it, so that it never reaches a log."""
        return text.replace(self._key, "***") if self._key else text


def _loggable(url: str) -> str:
    """Return the address without its query, which may contain a secret."""
    try:
        parts = urlsplit(url)
        host = parts.hostname and (parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}")
    except ValueError as error:
        raise _no_address() from error
    if not host:
        raise _no_address()
    if parts.username is not None:
        raise SettingsError("设置不对：RERANK__BASE_URL 里不能写账号密码，密钥填在 RERANK__API_KEY。请改正后再启动。")
    return f"{parts.scheme}://{host}{parts.path}"


def _no_address() -> SettingsError:
    return SettingsError("设置不对：RERANK__BASE_URL 不是有效的地址。请改正后再启动。")


def _refusal(status: int) -> str:
    match status:
        case 401 | 403:
            return "重排服务不接受密钥，请管理员检查 RERANK__API_KEY。"
        case 402 | 429:
            return "重排服务的额度或频率用完了，请稍后再试；一直如此请管理员检查重排服务的账户。"
        case 404 | 405:
            return "重排服务没有这个接口或模型，请管理员检查 RERANK__BASE_URL 和 RERANK__MODEL。"
        case _ if 300 <= status < 400:
            return "重排服务的地址已经变了，请管理员把 RERANK__BASE_URL 改成新的完整地址。"
        case _ if 400 <= status < 500:
            return "重排服务不接受这个请求，请管理员检查 RERANK__MODEL 和 RERANK__PROVIDER。"
        case _:
            return "重排服务出错了，请稍后再试；一直如此请管理员联系服务商或换一个服务。"
