"""The lines of a picture that tell what is wrong, which is what the search looks for."""

import re

_ERROR = re.compile(
    r"[A-Za-z0-9_.]*(?:Error|Exception|Fault|Failure|Warning)\b|\b(?:error|fatal|failed|failure|panic|denied|refused"
    r"|cannot|could not|unable|not found|no such|missing|invalid|unknown|timed? ?out|exit code|errno|ERR!?)\b"
    r"|错误|报错|异常|失败|无法|不能|找不到|未找到|超时|拒绝|冲突|损坏|缺少|缺失|没有权限",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?:[A-Z]{1,8}[-_]?\d{2,}|0x[0-9A-Fa-f]{4,}|[A-Z]{2,}(?:_[A-Z0-9]+)+)\b")
# The frames of a stack trace, which are the same for every error.
_FRAME = re.compile(r"\s*(?:at |File \"|Traceback |\$ |>>> |\^)")


def telling_lines(text: str, limit: int) -> str:
    r"""Return the lines of a picture's text that tell an error, then the others, as far as they fit.

    The chosen lines keep their order. `limit` is in characters; the first line is cut if it is longer.

    >>> telling_lines("$ pip install x\nCollecting x\nERROR: No matching distribution found for x", 45)
    'ERROR: No matching distribution found for x'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen: list[int] = []
    left = limit
    for place in sorted(range(len(lines)), key=lambda each: (-_weight(lines[each]), each)):
        if len(lines[place]) < left or not chosen:
            chosen.append(place)
            left -= len(lines[place]) + 1
    return "\n".join(lines[place] for place in sorted(chosen))[:limit]


def _weight(line: str) -> int:
    if _FRAME.match(line):
        return -1
    return 2 * bool(_ERROR.search(line)) + bool(_CODE.search(line))
