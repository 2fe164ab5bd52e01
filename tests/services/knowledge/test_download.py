"""Downloads over real sockets: limited in size and time, and never redirected into a private network."""

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from services.errors import DocumentRejected, DownloadFailed, ServiceError
from services.knowledge.download import download, is_public_address
from tests.e2e.file_server import FileServer

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
async def server() -> AsyncIterator[FileServer]:
    async with FileServer() as running:
        yield running


@pytest.fixture
async def elsewhere() -> AsyncIterator[FileServer]:
    """Yield another server; by the name `localhost` it is a different host than `server`, which is 127.0.0.1."""
    async with FileServer() as running:
        yield running


def by_name(url: str) -> str:
    """Return the same address by name instead of by number."""
    return url.replace("127.0.0.1", "localhost")


async def failure(url: str, directory: Path, max_bytes: int = 1 << 20, timeout_s: float = 5) -> ServiceError:
    """Return the error of a failing download, and check that it leaves no file."""
    target = directory / "target"
    with pytest.raises((DownloadFailed, DocumentRejected)) as caught:
        await download(url, target, max_bytes=max_bytes, timeout_s=timeout_s)
    assert list(directory.iterdir()) == []
    assert caught.value.user_message.endswith("。")
    return caught.value


async def test_the_bytes_arrive(server: FileServer, tmp_path: Path) -> None:
    url = server.host("手册 1.pdf", CONTENT).url + "手册 1.pdf"
    await download(url, tmp_path / "target", max_bytes=len(CONTENT))
    assert (tmp_path / "target").read_bytes() == CONTENT


async def test_an_empty_file_arrives(server: FileServer, tmp_path: Path) -> None:
    await download(server.host("空.txt", b"").url, tmp_path / "target", max_bytes=10)
    assert (tmp_path / "target").read_bytes() == b""


async def test_a_length_over_the_limit_is_refused_before_the_body(server: FileServer, tmp_path: Path) -> None:
    url = server.host("大.pdf", b"x").url
    server.declare_length(3 << 20)
    error = await failure(url, tmp_path, max_bytes=2 << 20)
    assert isinstance(error, DocumentRejected)
    assert "超过 2 MB" in error.user_message


async def test_a_body_over_the_limit_is_stopped(server: FileServer, tmp_path: Path) -> None:
    url = server.host("无尽.pdf", b"").url
    server.endless()
    assert isinstance(await failure(url, tmp_path, max_bytes=1 << 20), DocumentRejected)


async def test_one_byte_over_the_limit_is_too_much(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    assert isinstance(await failure(url, tmp_path, max_bytes=len(CONTENT) - 1), DocumentRejected)


@pytest.mark.parametrize("status", [400, 403, 404, 410])
async def test_an_expired_link(server: FileServer, tmp_path: Path, status: int) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.fail(status)
    assert "已失效" in (await failure(url, tmp_path)).user_message


@pytest.mark.parametrize("status", [204, 206, 304, 401, 500, 503])
async def test_any_other_status_is_no_file(server: FileServer, tmp_path: Path, status: int) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.fail(status)
    assert "出错了" in (await failure(url, tmp_path)).user_message


async def test_a_server_that_hangs(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.hang()
    assert "超时" in (await failure(url, tmp_path, timeout_s=0.2)).user_message


async def test_a_body_that_trickles(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.slow(10)
    assert "超时" in (await failure(url, tmp_path, timeout_s=1.3)).user_message


async def test_a_connection_that_breaks(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.drop(70_000)
    assert "网络中断" in (await failure(url, tmp_path)).user_message


async def test_a_server_that_is_not_there(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    await server.refuse()
    assert isinstance(await failure(url, tmp_path), DownloadFailed)


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://", "http://[::1", "x.pdf"])
async def test_what_is_no_link(url: str, tmp_path: Path) -> None:
    assert isinstance(await failure(url, tmp_path), DownloadFailed)


async def test_a_server_that_is_too_slow_is_given_up(server: FileServer, tmp_path: Path) -> None:
    """Send ten parts of 25 kB: one every 0.2 s makes 128 kB a second, and one every second 26 kB."""
    url = server.host("x.pdf", CONTENT).url
    server.slow(2)
    await download(url, tmp_path / "target", max_bytes=1 << 20, min_bytes_per_s=50_000, window_s=1)
    (tmp_path / "target").unlink()
    server.slow(10)
    began = time.monotonic()
    with pytest.raises(DownloadFailed, match="文件下载太慢，每秒不到 50 KB，已经停下"):
        await download(url, tmp_path / "target", max_bytes=1 << 20, min_bytes_per_s=50_000, window_s=1)
    assert time.monotonic() - began < 5
    server.hang()
    with pytest.raises(DownloadFailed, match="下载太慢"):
        await download(url, tmp_path / "target", max_bytes=1 << 20, min_bytes_per_s=50_000, window_s=1)
    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_download_leaves_nothing(server: FileServer, tmp_path: Path) -> None:
    url = server.host("x.pdf", CONTENT).url
    server.slow(30)
    task = asyncio.create_task(download(url, tmp_path / "target", max_bytes=1 << 20))
    async with asyncio.timeout(10):
        while not list(tmp_path.iterdir()):  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list(tmp_path.iterdir()) == []


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_on_the_same_host(self, server: FileServer, tmp_path: Path, status: int) -> None:
        source, goal = server.host("a", b""), server.host("b", CONTENT)
        server.redirect(goal.url, status=status, file=source.id)
        await download(source.url, tmp_path / "target", max_bytes=1 << 20)
        assert (tmp_path / "target").read_bytes() == CONTENT

    async def test_a_relative_one(self, server: FileServer, tmp_path: Path) -> None:
        source, goal = server.host("a", b""), server.host("b", CONTENT)
        server.redirect(f"/files/{goal.id}", file=source.id)
        await download(source.url, tmp_path / "target", max_bytes=1 << 20)
        assert (tmp_path / "target").read_bytes() == CONTENT

    async def test_five_are_followed_and_six_are_not(self, server: FileServer, tmp_path: Path) -> None:
        hosted = [server.host(f"{number}", CONTENT) for number in range(7)]
        for one, following in pairwise(hosted):
            server.redirect(following.url, file=one.id)
        await download(hosted[1].url, tmp_path / "target", max_bytes=1 << 20)
        assert (tmp_path / "target").read_bytes() == CONTENT
        (tmp_path / "target").unlink()
        assert "太多次" in (await failure(hosted[0].url, tmp_path)).user_message

    async def test_to_a_private_address(self, server: FileServer, elsewhere: FileServer, tmp_path: Path) -> None:
        source, goal = server.host("a", b""), elsewhere.host("b", CONTENT)
        server.redirect(goal.url, file=source.id)
        assert "内网地址" in (await failure(by_name(source.url), tmp_path)).user_message
        assert elsewhere.requests == []

    async def test_to_a_name_of_a_private_address(
        self, server: FileServer, elsewhere: FileServer, tmp_path: Path
    ) -> None:
        source, goal = server.host("a", b""), elsewhere.host("b", CONTENT)
        server.redirect(by_name(goal.url), file=source.id)
        assert "内网地址" in (await failure(source.url, tmp_path)).user_message
        assert elsewhere.requests == []

    @pytest.mark.parametrize(
        "url", ["http://[::1]:9/", "http://[::ffff:127.0.0.1]:9/", "http://0.0.0.0:9/", "http://169.254.169.254/"]
    )
    async def test_to_this_machine_under_another_address(self, server: FileServer, tmp_path: Path, url: str) -> None:
        source = server.host("a", b"")
        server.redirect(url, file=source.id)
        assert "内网地址" in (await failure(source.url, tmp_path)).user_message

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1:9/"])
    async def test_to_another_protocol(self, server: FileServer, tmp_path: Path, url: str) -> None:
        source = server.host("a", b"")
        server.redirect(url, file=source.id)
        assert "链接无效" in (await failure(source.url, tmp_path)).user_message

    async def test_to_a_public_host(self, server: FileServer, elsewhere: FileServer, tmp_path: Path) -> None:
        source, goal = server.host("a", b""), elsewhere.host("b", CONTENT)
        server.redirect(by_name(goal.url), file=source.id)
        target = tmp_path / "target"
        await download(source.url, target, max_bytes=1 << 20, is_public=lambda _: True)
        assert target.read_bytes() == CONTENT

    async def test_back_from_a_public_host(self, server: FileServer, elsewhere: FileServer, tmp_path: Path) -> None:
        """A public server must not exploit the trust in the first host to reach it again."""
        source, inner, middle = server.host("a", b""), server.host("inner", CONTENT), elsewhere.host("b", b"")
        server.redirect(by_name(middle.url), file=source.id)
        elsewhere.redirect(inner.url, file=middle.id)
        with pytest.raises(DownloadFailed, match="内网地址"):
            await download(
                source.url, tmp_path / "target", max_bytes=1 << 20, is_public=lambda _: not elsewhere.requests
            )
        assert server.downloads("inner") == []
        assert len(elsewhere.requests) == 1


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "114.114.114.114", "2400:3200::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:192.168.1.1",
        "2002:c0a8:0101::1",
        "64:ff9b::7f00:1",
        "localhost",
        "",
    ],
)
def test_private_addresses(address: str) -> None:
    assert not is_public_address(address)
