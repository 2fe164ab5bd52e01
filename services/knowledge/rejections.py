"""The reasons why a file cannot be read, and a sentence for each."""

from enum import StrEnum

from services.errors import DocumentRejected, ParsingFailed


class Rejection(StrEnum):
    """A reason to reject a file."""

    EMPTY = "empty"
    UNSUPPORTED = "unsupported"
    OLD_OFFICE = "old_office"
    MISMATCH = "mismatch"
    ENCRYPTED = "encrypted"
    SCANNED = "scanned"
    ILLEGIBLE_SCAN = "illegible_scan"
    PICTURE = "picture"
    ILLEGIBLE_PICTURE = "illegible_picture"
    NO_TEXT = "no_text"
    NOT_TEXT = "not_text"
    CORRUPT = "corrupt"
    CORRUPT_PAGE = "corrupt_page"
    ARCHIVE_BOMB = "archive_bomb"
    XML_ENTITIES = "xml_entities"
    TOO_MUCH_TEXT = "too_much_text"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"


MESSAGES: dict[Rejection, str] = {
    Rejection.EMPTY: "这个文件是空的，请检查后重新发送。",
    Rejection.UNSUPPORTED: "不支持这种文件，请换成 {supported} 格式再发。",
    Rejection.OLD_OFFICE: "不支持旧版 Office 文件，请用 Word 或 WPS 打开，另存为 {modern} 后再发。",
    Rejection.MISMATCH: "文件内容不是 {file_type} 格式，请改对扩展名，或重新导出后再发。",
    Rejection.ENCRYPTED: "这个文件加了密，读不了，请去掉密码和权限限制后再发。",
    Rejection.SCANNED: "这是扫描件 PDF，里面只有图片没有文字，请先做文字识别（OCR）再发。",
    Rejection.ILLEGIBLE_SCAN: "这是扫描件 PDF，但没能从图片里认出文字，请换一份清楚些的扫描件再发。",
    Rejection.PICTURE: "这是图片，里面的文字我还读不了，请打成文字再发，或者请管理员装上文字识别（make ocr）后重发。",
    Rejection.ILLEGIBLE_PICTURE: "这张图片里没有读到文字，请确认图片清楚、里面有文字后再发。",
    Rejection.NO_TEXT: "这个文件里没有读到文字，请确认内容不是空白或图片后再发。",
    Rejection.NOT_TEXT: "这个文件不是文本，或者编码认不出来，请另存为 UTF-8 编码后再发。",
    Rejection.CORRUPT: "文件损坏或不完整，打不开，请重新导出或重新上传。",
    Rejection.CORRUPT_PAGE: "PDF 的第 {page} 页损坏，读不出来，请用「打印」另存为新的 PDF 后再发。",
    Rejection.ARCHIVE_BOMB: "文件解压后大得不正常，已停止读取，请重新另存或拆分后再发。",
    Rejection.XML_ENTITIES: "文件里有不安全的 XML 内容，已停止读取，请用 Office 或 WPS 另存一份后再发。",
    Rejection.TOO_MUCH_TEXT: "文件里的文字超过 {limit} 字，请拆分后再发。",
    Rejection.TIMEOUT: "读这个文件超过了 {limit} 秒，已停止，请拆成小一些的文件再发。",
    Rejection.OUT_OF_MEMORY: "读这个文件占用的内存过多，已停止，请拆成小一些的文件再发。",
    Rejection.CRASHED: "读这个文件时程序中断了，请重新导出一份，或换成其他格式再发。",
}

# The file may be in order: the log tells why reading it did not end.
_FAILURES = (Rejection.TIMEOUT, Rejection.OUT_OF_MEMORY, Rejection.CRASHED)


def rejected(reason: Rejection, detail: str = "", **values: object) -> DocumentRejected:
    """Return the exception for a reason; `values` fill the placeholders of its sentence, `detail` is for the log."""
    kind = ParsingFailed if reason in _FAILURES else DocumentRejected
    return kind(MESSAGES[reason].format(**values), f"{reason}: {detail}" if detail else reason)
