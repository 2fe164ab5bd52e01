"""Chinese numerals: signs, values and spelling (三百五十, 三千五, 二〇二四); units that follow numbers."""

DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
SIGNS = "".join((*DIGITS, *SCALES))
# The signs of a numeral that begins and ends with something other than nought.
COUNTING_SIGNS = SIGNS.replace("零", "").replace("〇", "")
# The signs of the items of a list, 一 to 九十九, and of chapters and articles, which go on to thousands.
ITEM_SIGNS = "一二三四五六七八九十"
ARTICLE_SIGNS = f"〇零{ITEM_SIGNS}百千"
# As alternatives of a pattern. 分 and 角 are missing, because 十分 and 三角 are words.
UNITS = "[年月日号天周点时秒元块人名位次页章条项版期届级班楼倍折岁米个份台本]|星期|小时|分钟|公里"


def numeral_value(numeral: str) -> int:
    """Return the value of a numeral that consists of `DIGITS` and `SCALES` only.

    A sequence of digits is read digit by digit. Raise `KeyError` for any other character. Callers limit the length.

    >>> [numeral_value(numeral) for numeral in ("一百二十", "一百二", "三千零五", "十五", "二〇二四")]
    [120, 120, 3005, 15, 2024]
    """
    if not any(sign in SCALES for sign in numeral):
        return int("".join(str(DIGITS[sign]) for sign in numeral))
    if len(numeral) > 1 and numeral[-1] in DIGITS and SCALES.get(numeral[-2], 0) > SCALES["十"]:
        # 三千五 is 3500; 3005 is 三千零五.
        return numeral_value(numeral[:-1]) + DIGITS[numeral[-1]] * SCALES[numeral[-2]] // 10
    total = section = digit = 0
    for sign in numeral:
        if sign in DIGITS:
            digit = DIGITS[sign]
        elif SCALES[sign] < SCALES["万"]:
            section += (digit or 1) * SCALES[sign]
            digit = 0
        elif sign == "万":
            total += (section + digit or 1) * SCALES[sign]
            section = digit = 0
        else:
            total = (total + section + digit or 1) * SCALES[sign]
            section = digit = 0
    return total + section + digit


def number_value(written: str) -> int:
    """Return the value of a whole number in digits or as a numeral; see `numeral_value`."""
    return int(written) if written.isdecimal() else numeral_value(written)


def numeral(number: int) -> str:
    """Return the numeral of a number from 1 to 9,999 as chapters and lists are counted.

    >>> [numeral(number) for number in (10, 15, 105, 110, 3005)]
    ['十', '十五', '一百零五', '一百一十', '三千零五']
    """
    text, pending_zero = "", False
    for power, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // power % 10
        if digit:
            text += ("零" if pending_zero else "") + ITEM_SIGNS[digit - 1] + unit
        pending_zero = bool(text) and not digit
    return text.removeprefix("一") if 10 <= number < 20 else text
