"""Download an uploaded file over HTTP, limited in size and time and kept out of private networks."""

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from services.errors import DocumentRejected, DownloadFailed, ServiceError, StorageError

_MAX_REDIRECTS = 5
_BLOCK = 1 << 16
_WINDOW_S = 15.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# RFC 6052: the last 32 bits are the IPv4 address that the network's NAT64 gateway connects to.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_EXPIRED = frozenset({400, 403, 404, 410})


class _PrivateAddress(OSError):
    """Raised when a public link leads to an address of this machine or network."""


class _PublicResolver(AbstractResolver):
    """Resolves names and refuses those that point to this machine or network.

    The connection goes to exactly the addresses that are checked here, so a name cannot resolve differently in between.
    """

    def __init__(self, is_public: Callable[[str], bool]) -> None:
        self._resolver = ThreadedResolver()
        self._is_public = is_public

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if not all(self._is_public(result["host"]) for result in found):
            raise _PrivateAddress(host)
        return found

    async def close(self) -> None:
        await self._resolver.close()


def is_public_address(address: str) -> bool:
    """Return whether an IP address, also one embedded in IPv6, is public: no private network and no local machine."""
    try:
        parsed = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        wrapped = parsed.ipv4_mapped or parsed.sixtofour
        parsed = wrapped or (ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF) if parsed in _NAT64 else parsed)
    # `is_global` is true for multicast addresses.
    return parsed.is_global and not parsed.is_multicast


async def download(
    url: str,
    target: Path,
    *,
    max_bytes: int,
    timeout_s: float = 120,
    min_bytes_per_s: int = 0,
    window_s: float = _WINDOW_S,
    is_public: Callable[[str], bool] = is_public_address,
) -> None:
    """Download `url` into the new file `target`; on any failure nothing is left at `target`.

    The first address comes from the connected QQ client and is trusted, even on a private network. Redirects are not
    trusted: once they leave the first host, they may only lead to public addresses.

    `is_public` judges IP addresses. The download is aborted when a server sends less than `min_bytes_per_s` over
    `window_s` seconds; 0 accepts any speed. Raise `DocumentRejected` when the content is larger than `max_bytes`,
    `StorageError` when the disk is full, and `DownloadFailed` for everything else.
    """
    pace = _Pace(min_bytes_per_s, window_s)
    try:
        async with asyncio.timeout(timeout_s), pace.limit:
            await _follow(url, target, max_bytes, is_public, pace)
    except TimeoutError as error:
        target.unlink(missing_ok=True)
        sentence = "文件下载超时了，请稍后重新发一次。"
        if pace.limit.expired():
            sentence = f"文件下载太慢，每秒不到 {min_bytes_per_s // 1000} KB，已经停下，请稍后重新发一次。"
        raise DownloadFailed(sentence, url) from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        target.unlink(missing_ok=True)
        raise _failure(url, error) from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise


class _Pace:
    """The minimum speed of a download: every window must bring as many bytes as that speed yields."""

    def __init__(self, min_bytes_per_s: int, window_s: float) -> None:
        self._window_s = window_s
        self._wanted = min_bytes_per_s * window_s
        self._received = 0
        self.limit = asyncio.timeout(window_s if min_bytes_per_s else None)

    def received(self, count: int) -> None:
        """Count received bytes and start the next window once there are enough of them."""
        self._received += count
        if self._wanted and self._received >= self._wanted:
            self._received = 0
            self.limit.reschedule(asyncio.get_running_loop().time() + self._window_s)


def _failure(url: str, error: Exception) -> ServiceError:
    if isinstance(error, _PrivateAddress) or isinstance(error.__cause__, _PrivateAddress):
        return DownloadFailed("文件链接跳转到了内网地址，为安全起见没有下载，请重新发一次文件。", url)
    if isinstance(error, aiohttp.InvalidURL):
        return DownloadFailed("文件链接无效，请重新发一次文件。", f"{url}: {error!r}")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return StorageError("机器人的磁盘满了，文件没有收下，请联系管理员清理后再发。", url)
    return DownloadFailed("文件下载失败，可能是网络中断，请稍后重新发一次。", f"{url}: {error!r}")


async def _follow(url: str, target: Path, max_bytes: int, is_public: Callable[[str], bool], pace: _Pace) -> None:
    trusted_host = urlsplit(url).hostname
    guarded = False
    for _ in range(_MAX_REDIRECTS + 1):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DownloadFailed("文件链接无效，请重新发一次文件。", url)
        guarded = guarded or parts.hostname != trusted_host
        if guarded and _is_address(parts.hostname) and not is_public(parts.hostname):
            raise _PrivateAddress(parts.hostname)
        resolver = _PublicResolver(is_public) if guarded else ThreadedResolver()
        connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False)
        try:
            async with (
                aiohttp.ClientSession(connector=connector) as session,
                session.get(url, allow_redirects=False) as response,
            ):
                if response.status in _REDIRECTS and "Location" in response.headers:
                    url = urljoin(url, response.headers["Location"])
                    continue
                _check_status(response.status, url)
                await _save(response, target, max_bytes, pace)
                return
        finally:
            await resolver.close()
    raise DownloadFailed("文件链接跳转太多次，请重新发一次文件。", url)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_status(status: int, url: str) -> None:
    if status in _EXPIRED:
        raise DownloadFailed("文件链接已失效，请重新发一次文件。", f"{url}: {status}")
    if status != 200:
        raise DownloadFailed("文件服务器出错了，请稍后重新发一次。", f"{url}: {status}")


async def _save(response: aiohttp.ClientResponse, target: Path, max_bytes: int, pace: _Pace) -> None:
    if (response.content_length or 0) > max_bytes:
        raise too_large(max_bytes)
    received = 0
    # Writing on the event loop's thread is fine: a write of 64 kB into the page cache takes microseconds.
    with target.open("xb") as file:
        async for block in response.content.iter_chunked(_BLOCK):
            received += len(block)
            pace.received(len(block))
            if received > max_bytes:
                raise too_large(max_bytes)
            file.write(block)


def too_large(max_bytes: int) -> DocumentRejected:
    """Return the rejection of a file that is over the size limit."""
    return DocumentRejected(f"文件超过 {max_bytes >> 20} MB，请拆分或压缩后再发。")
