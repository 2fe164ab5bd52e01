"""Chinese numerals: 三百五十, 三千五, 二〇二四."""

DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}


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
