"""Varied texts that are the same on every run."""

import random
from collections.abc import Callable, Iterator

_COMMON = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所"
    "民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社"
)
_SIMPLIFIED = (
    "群里的文件怎么查？",
    "报销流程：先填单，再找主管签字，最后交财务。",
    "服务器每周三凌晨两点重启，请提前保存工作。",
    "今天下午三点在A栋302开会，讨论第二季度的预算与招聘计划。",
    "实习生的工资每月15号发放，遇节假日顺延到下一个工作日。",
    "机器学习模型的训练需要大量标注数据，而标注质量直接影响最终效果。",
    "哈哈哈哈哈笑死我了",
    "收到",
    "？",
    "好的，谢谢啦～",
)
_TRADITIONAL = (
    "請問圖書館的開放時間是幾點到幾點？",
    "臺灣的便利商店密度居世界前列，提供繳費、取貨與列印服務。",
    "學生須於學期結束前兩週繳交報告，逾期者不予受理。",
    "這個問題我們之後再討論吧。",
)
_ENGLISH = (
    "How do I reset my password?",
    "The quick brown fox jumps over the lazy dog.",
    "Meeting moved to 3 pm, room B-204.",
    "Retrieval-augmented generation grounds an answer in the documents that support it.",
    "OK",
    "lol",
)
_CODE = (
    "def f(x: int) -> int:\n    return x ** 2  # 平方\n",
    "SELECT * FROM users WHERE id = 42;",
    "git commit -m 'fix: 修复'",
    '{"group_id": 777, "ok": true, "list": [1, 2, 3]}',
    "https://example.com/a/b?c=%E4%B8%AD&d=1#top",
    "C:\\Users\\a\\文档",
)
_SCRIPTS = (
    "Где находится библиотека?",
    "مرحبا كيف حالك اليوم",
    "안녕하세요 반갑습니다",
    "こんにちは、元気ですか？カタカナﾊﾝｶｸ",
    "สวัสดีครับ",
    "नमस्ते दुनिया",
    "Ελληνικά",
    "שלום עולם",
    "Übergrößenträger naïve café",
    "cafe\u0301 e\u0301 한 각",
    "ខ្មែរ",
    "🇨🇳🏳️‍🌈👨‍👩‍👧‍👦",
)
_EMOJI = "😀😂🤣👍🙏🎉❤️🔥🐶🦤🪿🫠✨☑️1️⃣㊗️"
_CONTROL = (
    "\x01\x07\x08\t\n\r\x0b\x0c\x1b\x7f\x85\xa0\xad\u200b\u200c\u200d\u200e\u2028\u2029\u202e\u3000\ufeff\ufffd\u2581"
)
_WIDE = "ＡＢＣａｂｃ１２３！＠＃￥％（）①②③ⅣⅤ㎏㏑㍿ﬁﬂ½²₃™…—～·「」『』【】《》"
_SPECIALS = (
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "<mask>",
    "<s",
    "▁",
    "  ",
    " ",
    "\u0300",
    "\U000e0041",
    "\U0010ffff",
    "𠮷𡃁𪚥",
    "𓀀𓀁",
)
_RARE_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0x20000, 0x2A6DF),
    (0xA0, 0x24F),
    (0x2000, 0x2BFF),
    (0x1F300, 0x1FAFF),
    (0xAC00, 0xD7A3),
    (0xFB00, 0xFDFF),
    (0xF900, 0xFAFF),
    (0xE000, 0xF8FF),
    (0x1, 0xD7FF),
    (0x10000, 0x10FFFF),
)


def varied_texts(count: int, seed: int = 20261101) -> list[str]:
    """Return texts of ten kinds in turn, mostly under 500 characters.

    The last of every hundred texts is one long repetition.
    """
    generator = random.Random(seed)
    return [text for text, _ in zip(_stream(generator), range(count), strict=False)]


def _stream(generator: random.Random) -> Iterator[str]:
    kinds: list[Callable[[random.Random], str]] = [
        lambda r: _joined(r, _SIMPLIFIED, ""),
        lambda r: _joined(r, _TRADITIONAL, ""),
        lambda r: _joined(r, _ENGLISH, " "),
        lambda r: _joined(r, _SIMPLIFIED + _ENGLISH + _CODE + tuple(_EMOJI), r.choice(["", " ", "\n"])),
        lambda r: "".join(r.choices(_COMMON + "，。", k=r.randint(1, 150))),
        lambda r: "".join(r.choices(_WIDE + _CONTROL + "0123456789.,-", k=r.randint(1, 60))),
        lambda r: _joined(r, _CODE, "\n"),
        lambda r: _joined(r, _SCRIPTS + _SPECIALS, r.choice(["", " "])),
        lambda r: "".join(chr(r.randint(*r.choice(_RARE_RANGES))) for _ in range(r.randint(1, 60))),
        lambda r: "".join(r.choices("abcdefghijklmnopqrstuvwxyzABCDEFG 0123456789_-.", k=r.randint(1, 200))),
    ]
    number = 0
    while True:
        number += 1
        if number % 100 == 0:
            run = generator.choice([*_SPECIALS, "a", "啊", "哈哈", "1", "=", "-", "ab", "好 ", *_EMOJI, *_SIMPLIFIED])
            yield run * generator.randint(50, 250)
        else:
            text = kinds[number % len(kinds)](generator)
            # The wheel accepts no lone surrogates. The ranges above contain none; this removes any other.
            yield text.encode("utf-8", "ignore").decode()


def _joined(generator: random.Random, parts: tuple[str, ...], separator: str) -> str:
    return separator.join(generator.choices(parts, k=generator.randint(1, 7)))
