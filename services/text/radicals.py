"""Characters that are drawn like others but have codes of their own, folded to the ones that people type.

Programs that write PDF files often map a glyph to a radical (⼈ U+2F08, ⻔ U+2ED4) or a vertical form (︖ U+FE16), and
texts copied from such files have them too. No search would find these words.
"""

import re
import unicodedata

# The supplementary radicals that are also characters, as in EquivalentUnifiedIdeograph.txt of Unicode; NFKC keeps most
# of them.
_SUPPLEMENT = dict(
    zip(
        "⺁⺅⺆⺈⺉⺊⺌⺎⺏⺐⺒⺓⺔⺖⺗⺘⺙⺛⺜⺝⺞⺟⺠⺡⺢⺣⺤⺥⺦⺧⺨⺩⺫⺬⺭⺮⺯⺰⺱⺲⺶⺸⺹⺺⺻⺼⺾⺿⻀⻁⻂⻃⻄⻅⻆⻈⻉⻋⻌⻍⻎⻏⻐⻑⻒⻓⻔⻖⻗⻘⻙⻚⻛⻜⻝⻟⻠⻢⻣⻤⻥⻦⻧⻨⻩⻪⻫⻬⻭⻮⻯⻰⻱⻲⻳",
        "厂亻冂刀刂卜小兀尣尢巳幺彑忄㣺扌攵旡日月歺母民氵氺灬爫爫丬牛犭王目示礻竹糹纟罓罒羊羋耂肀聿肉艹艹艹虎衤覀西见角讠贝车辶辶辶阝钅長镸长门阝雨青韦页风飞食飠饣马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟",
        strict=True,
    )
)
_KANGXI = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0x2F00, 0x2FD6)}
# NFKC has the form of Taiwan.
_KANGXI["⼾"] = "户"
_VERTICAL = dict(zip("︐︑︒︓︔︕︖︗︘︙", "，、。：；！？〖〗…", strict=True))
_ORDINARY = _SUPPLEMENT | _KANGXI | _VERTICAL
_FOLDED = re.compile(f"[{''.join(_ORDINARY)}]")


def with_ordinary_characters(text: str) -> str:
    """Return a text with ordinary characters for radicals and vertical forms, which keeps all places.

    >>> with_ordinary_characters("⼈⺠⻔︖")
    '人民门？'
    """
    return _FOLDED.sub(lambda found: _ORDINARY[found[0]], text)
