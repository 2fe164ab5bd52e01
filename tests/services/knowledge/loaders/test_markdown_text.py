"""The text of Markdown is what a viewer of the page shows."""

from pathlib import Path

import pytest

from services.knowledge.loaders import LOADERS
from services.knowledge.loaders.markdown_inline import plain
from services.knowledge.models import Omissions, Section


def load(path: Path, text: str) -> list[Section]:
    path.write_text(text, encoding="utf-8")
    return list(LOADERS[path.suffix[1:]].loader()(path, Omissions()))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("**限额**是*每天*三百，__含税__，~~旧版~~", "限额是每天三百，含税，（已划去：旧版）"),
        (
            "限 ~~30~~ 45 人，<del>周三</del>周四，约 3~~5 天",
            "限 （已划去：30） 45 人，（已划去：周三）周四，约 3~~5 天",
        ),
        ("见[住宿标准](fees.md#a)和[《办法》][1]", "见住宿标准和《办法》"),
        ("见[官网](https://a.example/x?b=1_c_d)", "见官网（https://a.example/x?b=1_c_d）"),
        ("见[水质监测中心的网站](https://a.example)", "见水质监测中心的网站"),
        ("网址 https://a.example/a_b_c 和 <https://b.example>", "网址 https://a.example/a_b_c 和 https://b.example"),
        ("![图](a.png)[![徽章](b.svg)](https://c.example)正文", "正文"),
        ('<img src="a.png" width="5">正文<br>第二行<sub>2</sub>', "正文 第二行2"),
        ('命令 `a_b_c **d**` 和 ``<img src="x">``', '命令 a_b_c **d** 和 <img src="x">'),
        (
            "填 <分区名> 或 <Token>，a < b，3*4*5，snake_case_name",
            "填 <分区名> 或 <Token>，a < b，3*4*5，snake_case_name",
        ),
        ('新功能 <Badge type="tip" text="新" /> 可用<ClientOnly></ClientOnly>', "新功能  可用<ClientOnly>"),
        ("开放时间 {#hours}", "开放时间"),
        ("第一句[^1]。5 &lt; 6 \\*不是强调\\*", "第一句。5 < 6 *不是强调*"),
    ],
)
def test_line_as_it_is_shown(line: str, shown: str) -> None:
    assert plain(line) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('!!! info "缴费时间"\n    每月五日前。\n\n正文', "缴费时间\n每月五日前。\n\n正文"),
        ("!!! warning\n    先断电。\n正文", "先断电。\n正文"),
        ("::: tip 提醒\n带身份证。\n:::\n正文", "提醒\n带身份证。\n正文"),
        ("> [!NOTE]\n> 周三不开。", "周三不开。"),
        ("- 甲\n- [ ] 乙\n* [x] 丙\n1. 丁[x]", "- 甲\n- ☐ 乙\n* ☑ 丙\n1. 丁[x]"),
        ("[[toc]]\n正文\n\n***\n[1]: https://a.example", "正文\n"),
        ("正文\n\n[^1]: 只在工作日", "正文\n\n只在工作日"),
        ("<script setup>\nimport A from 'a'\n</script>\n正文", "正文"),
        ("   ```sh\n   rm **x**\n     ls\n   ```", "```sh\nrm **x**\n  ls\n```"),
        ("---\nlayout: doc\n---\n正文", "正文"),
    ],
)
def test_blocks_as_they_are_shown(tmp_path: Path, text: str, shown: str) -> None:
    assert load(tmp_path / "a.md", text) == [Section(shown.rstrip("\n"))]


def test_title_of_the_front_matter_is_the_top_heading(tmp_path: Path) -> None:
    text = "---\ntitle: '使用手册'\nsidebar: false\n---\n## 安装 {#i}\n装好。"
    assert load(tmp_path / "a.md", text)[-1] == Section("装好。", None, ("使用手册", "安装"))


def test_cells_and_tables_written_in_html(tmp_path: Path) -> None:
    text = (
        "| **项目** | 值 |\n|--|--|\n| `a|b` | [五](x.md) |\n\n<table><tr><th>甲<th>乙</tr><tr><td>1<td>2</tr></table>"
    )
    found = [(section.header, section.text) for section in load(tmp_path / "a.md", text)]
    assert found[-1] == ("甲 | 乙", "1 | 2")
    assert found[0][0] == "项目 | 值"


def test_headings_in_plain_text_have_no_marks(tmp_path: Path) -> None:
    sections = load(tmp_path / "a.txt", "# 通知\n\n## 停水时间\n周三上午。\n#标签不是标题")
    assert sections == [Section("周三上午。\n#标签不是标题", None, ("通知", "停水时间"))]
