"""Tests of Host, Origin and token as browsers, proxies and strangers send them."""

import pytest
from starlette.datastructures import Headers

from qq.connection.entrance import (
    bearer_token,
    is_for_this_machine,
    is_from_own_page,
    is_from_page_elsewhere,
    is_same_secret,
)


def headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.encode(), value.encode("latin-1")) for name, value in pairs])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8080",
        "127.5.0.1:8080",
        "localhost",
        "LocalHost:80",
        "localhost.:8080",
        "[::1]",
        "[::1]:8080",
        "[0:0:0:0:0:0:0:1]",
    ],
)
def test_this_machine(host: str) -> None:
    assert is_for_this_machine(headers(("host", host)))


@pytest.mark.parametrize(
    "host",
    [
        "",
        " ",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1,evil.example",
        "127.0.0.1 evil.example",
        "127.0.0.1:x",
        "127.0.0.1:123456",
        "localhost..",
        "127.1",
        "2130706433",
        "0.0.0.0",
        "192.168.1.5",
        "::1",
        "[::1",
        "[::]",
        "[fe80::1%lo]",
        "locälhost",
        "１２７.0.0.1".encode().decode("latin-1"),
    ],
)
def test_another_host(host: str) -> None:
    assert not is_for_this_machine(headers(("host", host)))


def test_a_host_that_is_missing_or_comes_twice() -> None:
    assert not is_for_this_machine(headers())
    assert not is_for_this_machine(headers(("host", "127.0.0.1"), ("host", "127.0.0.1")))


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("LOCALHOST:8080", "http://localhost:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("bot.example.com", "https://bot.example.com"),
        ("bot.example.com:443", "https://bot.example.com"),
        ("bot.example.com", "http://bot.example.com:80"),
    ],
)
def test_the_own_page(host: str, origin: str) -> None:
    given = headers(("host", host), ("origin", origin))
    assert is_from_own_page(given)
    assert not is_from_page_elsewhere(given)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "127.0.0.1:8080",
        "http://",
        "http://127.0.0.1",
        "http://127.0.0.1:8081",
        "http://localhost:8080",
        "http://evil.example",
        "http://127.0.0.1:8080.evil.example",
        "http://127.0.0.1:8080@evil.example",
        "http://evil.example@127.0.0.1:8080",
        "http://127.0.0.1:8080/",
        "file://127.0.0.1:8080",
        "chrome-extension://127.0.0.1:8080",
    ],
)
def test_a_page_elsewhere(origin: str) -> None:
    given = headers(("host", "127.0.0.1:8080"), ("origin", origin))
    assert not is_from_own_page(given)
    assert is_from_page_elsewhere(given)


def test_origins_that_cannot_be_judged() -> None:
    own = ("origin", "http://127.0.0.1:8080")
    assert is_from_page_elsewhere(headers(("host", "127.0.0.1:8080"), own, own))
    assert is_from_page_elsewhere(headers(own))
    assert is_from_page_elsewhere(headers(("host", "http://x"), ("origin", "http://http://x")))
    assert not is_from_page_elsewhere(headers(("host", "127.0.0.1:8080")))


@pytest.mark.parametrize(
    ("values", "token"),
    [
        (["Bearer T"], "T"),
        (["bearer T"], "T"),
        (["Token T"], "T"),
        (["Bearer a b"], "a b"),
        (["Basic T"], ""),
        (["T"], ""),
        (["BearerT"], ""),
        ([""], ""),
        ([], ""),
        (["Bearer T", "Bearer T"], ""),
    ],
)
def test_the_token_of_a_client(values: list[str], token: str) -> None:
    assert bearer_token(headers(*(("authorization", value) for value in values))) == token


def test_secrets_are_compared_whole() -> None:
    assert is_same_secret("long-enough", "long-enough")
    for wrong in ("", "long-enoug", "long-enough ", "LONG-ENOUGH", "long-enougħ", "\ud800"):
        assert not is_same_secret(wrong, "long-enough")
