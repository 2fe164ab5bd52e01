"""What the models used, in one line."""

from services.budgets.model import ModelUsage


def usage_text(usage: ModelUsage) -> str:
    """Return the calls, tokens and money of today. Money is left out if no price is known.

    For example 「今天：调用 12 次，约 3.4 万 token，约 ¥0.13」.
    """
    tokens = f"{usage.tokens / 10_000:.1f} 万" if usage.tokens >= 10_000 else str(usage.tokens)
    text = f"今天：调用 {usage.calls} 次，约 {tokens} token"
    if usage.unpriced_calls and not usage.cost:
        return text
    money = usage.cost / 1_000_000
    text += f"，约 ¥{money:.2f}" if not 0 < money < 0.01 else "，不到 ¥0.01"
    return text + (f"（另有 {usage.unpriced_calls} 次价格未知）" if usage.unpriced_calls else "")
