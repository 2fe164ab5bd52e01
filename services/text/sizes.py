"""Sizes as people read them."""


def size_text(size: int) -> str:
    """Format a size in bytes for people.

    >>> size_text(40), size_text(1536), size_text(3 << 20)
    ('40 字节', '1.5 KB', '3.0 MB')
    """
    if size < 1 << 10:
        return f"{size} 字节"
    return f"{size / 1024:.1f} KB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"
