"""Links that were not written before are removed; those of the passages and the conversation stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.text.links import REMARK, known_addresses, without_unknown_links

SOURCE = "文档在 https://Docs.Example.org/a/b?x=1 查看，官网 www.foo.com，内网 http://10.0.0.8:8080/wiki/首页。"


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.com/x?a=1",
        "http://evil.zone",
        "HTTP://EVIL.COM",
        "hxxps://evil[.]com/x",
        "ｈｔｔｐ：／／ｅｖｉｌ．ｃｏｍ",
        "https：//evil.zone/x",
        "http:\\\\evil.com\\x",
        "ev\u200bil.co\u200cm",
        "ev\u034fil\u2060.com",
        "www.evil.zone",
        "evil.top",
        "login.evil.com.cn/x",
        "evil。com",
        "evil (dot) com",
        "evil[.]com",
        "t.me/joinme",
        "bit.ly/abc",
        "192.168.1.1:8080/x",
        "8.8.8.8",
        "tg://join?invite=x",
        "https://中国银行.com/登录",
        "http://localhost:8000/docs",
        "https://docs.example.org/evil",
        "https://docs.example.org@evil.com",
        "https://docs.example.org.evil.com",
        "https://docs.example.org中国.evil.com",
        "https://foo.com/login",
        "evil.dev/x",
        "evil.page.link/x",
        "evil.cloud",
        "evil.app/login",
        "evil.zip/x",
        "evil․com/login",
        "magnet:?xt=urn:btih:0123",
        "javascript:alert",
    ],
)
@pytest.mark.parametrize(
    ("before", "behind"), [("", ""), ("见 ", "。然后"), ("见", "，好"), ("（", "）"), ("「", "」〔1〕")]
)
def test_a_link_without_a_source_goes(link: str, before: str, behind: str) -> None:
    known = known_addresses([SOURCE])
    assert without_unknown_links(f"{before}{link}{behind}", known) == f"{before}{REMARK}{behind}"


@pytest.mark.parametrize(
    "link",
    [
        "https://Docs.Example.org/a/b?x=1",
        "http://docs.example.org/a/b?x=1。",
        "https://docs.example.org/a/b?x=1查看",
        "ｄｏｃｓ．example.org/a/b?x=1",
        "docs.example.org",
        "https://docs.example.org/a/",
        "foo.com",
        "https://www.foo.com/",
        "http://10.0.0.8:8080/wiki/首页",
        "http://10.0.0.8:8080/wiki",
    ],
)
def test_a_link_of_a_source_stays_as_it_is_written(link: str) -> None:
    text = f"见 {link} ，好"
    assert without_unknown_links(text, known_addresses([SOURCE])) == text


@pytest.mark.parametrize(
    "text",
    [
        "用 main.py 和 README.md、报销.docx，运行 a.b(c)，见 np.array/np.int",
        "版本 v1.2.3 和 3.1.2 节，圆周率 3.14，e.g. 3.5 元，12:30",
        "发到 li@example.org 或 wang.wu@mail.example.com",
        "ASP.NET 与 socket.io，Node.js，共 2。Top 3",
        "import os.path; self.name; std::vector; a//b // 注释",
        "可以报销。com 口在后面",
        "LLM__API_KEY、C:\\Users\\x、/etc/hosts、./a.py:12",
    ],
)
def test_what_is_no_link_stays(text: str) -> None:
    assert without_unknown_links(text, frozenset()) == text


def test_several_in_a_row_are_remarked_once() -> None:
    assert without_unknown_links("见 a.com b.com\nc.com", frozenset()) == f"见 {REMARK}"


LINKS = st.from_regex(r"https?://[a-z]{1,8}\.(com|zone)(/[a-zA-Z0-9]{1,5}){0,2}", fullmatch=True)


@given(st.lists(LINKS, min_size=1, max_size=5), st.lists(LINKS, min_size=1, max_size=5))
def test_what_a_source_holds_stays_and_nothing_else(sources: list[str], written: list[str]) -> None:
    known = known_addresses(f"见 {source}。" for source in sources)
    held = {source.split("://")[1] for source in sources}
    for link in written:
        bare = link.split("://")[1]
        is_held = any(source == bare or source.startswith(f"{bare}/") for source in held)
        assert without_unknown_links(link, known) == (link if is_held else REMARK)


@given(st.text("abwc.:/。[]() \u200b\uff0ecomn0189中", max_size=60))
def test_nothing_is_left_to_find(text: str) -> None:
    kept = without_unknown_links(text, frozenset())
    assert without_unknown_links(kept, frozenset()) == kept


@pytest.mark.parametrize("link", ["例子.中国/login", "例子.公司", "evil.网址", "evil.рф"])
def test_a_national_name_without_a_source_goes(link: str) -> None:
    assert without_unknown_links(f"见 {link}。", known_addresses([SOURCE])) == f"见 {REMARK}。"


@pytest.mark.parametrize(
    "text", ["运行 run.sh 就行", "见 README.md", "把 a.zip 解压", "在 app.py 里", "v2.pro 版", "周一.周二"]
)
def test_names_of_files_are_no_links(text: str) -> None:
    assert without_unknown_links(text, frozenset()) == text
