"""Failures that are reported to a user, each with the sentence for them and a code that they can quote.

    ServiceError               QZ-X01  anything that was not foreseen
    ├── SettingsError          QZ-S01  a setting is unknown, missing or out of range; the process must not start
    ├── DataDirectoryError     QZ-S02  DATA_DIR is in use by another process or is unusable
    ├── ModelError             QZ-M01  the language model returned no usable answer
    │   ├── ModelTimeout       QZ-M02  it did not answer within LLM__TIMEOUT_S
    │   ├── ModelUnavailable   QZ-M03  it is unreachable or returns errors
    │   ├── ModelBudgetSpent   QZ-M04  the chat has used up its calls or tokens of the day
    │   └── AgentLimitReached  QZ-M05  the agent found no answer within the calls and the time of a turn
    ├── EmbeddingError         QZ-R01  the embedding model returned no vectors
    ├── RerankError            QZ-R02  the rerank service returned no usable scores
    ├── SearchIndexError       QZ-R03  the search index failed
    ├── ReadingError           QZ-R04  the reader found nothing in the passages because it failed
    ├── RecordsError           QZ-D01  the database of the records failed
    ├── StorageError           QZ-D02  a file could not be kept on disk
    ├── HistoryError           QZ-D03  the conversation could not be stored
    ├── DamagedRecord          QZ-D04  a stored value is damaged, or a newer release wrote it
    ├── DocumentRejected       QZ-F01  a file is not accepted, and why (also an expected outcome of parsing)
    │   └── ParsingFailed      QZ-F02  reading it crashed, or took too much time or memory
    └── DownloadFailed         QZ-F03  a file could not be downloaded

The letter of a code is the area: X unforeseen, S start, M model, R retrieval, D data, F files. A code is never changed
and never used again for something else: people quote codes from old messages. docs/operations.md explains every code.

Expected outcomes (a duplicate file, nothing found) are return values, not exceptions.
"""

from typing import ClassVar


class ServiceError(Exception):
    """A failure that carries a sentence for the user.

    `user_message` is one complete Chinese sentence in the user's terms: what happened and what to do. `detail` is only
    logged. `code` identifies the class of the failure. `expected` marks a refusal that needs no operator, so that its
    sentence is shown without the code. `retryable` tells whether the same call may succeed later.
    """

    code: ClassVar[str] = "QZ-X01"
    expected: ClassVar[bool] = False
    retryable = False

    def __init__(self, user_message: str, detail: str = "") -> None:
        # A process that unpickles the error calls this with the same arguments.
        super().__init__(user_message, detail)
        self.user_message = user_message
        self.detail = detail

    def __str__(self) -> str:
        """Return the line for the log: the code, the sentence and the detail."""
        line = f"{self.code} {self.user_message}"
        return f"{line} ({self.detail})" if self.detail else line

    def told(self, number: str = "") -> str:
        """Return the sentence as a user reads it, with the code behind it.

        `number` is what the failure was logged under, if anything. An expected refusal has neither.
        """
        return self.user_message if self.expected else self.user_message + code_suffix(self.code, number)


def code_suffix(code: str, number: str = "") -> str:
    """Return what a user can quote: the code of a failure and the number it was logged under, if anything."""
    return f"（{code}，编号 {number}）" if number else f"（{code}）"


class SettingsError(ServiceError):
    """A setting is unknown, missing or out of range."""

    code = "QZ-S01"


class DataDirectoryError(ServiceError):
    """The data directory is in use by another process or is unusable."""

    code = "QZ-S02"


class ModelError(ServiceError):
    """The language model returned no usable answer."""

    code = "QZ-M01"
    retryable = True


class ModelTimeout(ModelError):
    """The language model did not answer in time."""

    code = "QZ-M02"


class ModelUnavailable(ModelError):
    """The language model is unreachable, rejects the call or returns errors."""

    code = "QZ-M03"


class ModelBudgetSpent(ModelError):
    """The group or private chat has used up its calls or tokens of the day; the model was not called."""

    code = "QZ-M04"
    expected = True


class AgentLimitReached(ModelError):
    """The agent found no answer within the calls and the time that one turn has."""

    code = "QZ-M05"
    expected = True


class EmbeddingError(ServiceError):
    """The embedding model returned no vectors."""

    code = "QZ-R01"
    retryable = True


class RerankError(ServiceError):
    """The rerank service returned no usable scores."""

    code = "QZ-R02"
    retryable = True


class SearchIndexError(ServiceError):
    """The search index failed."""

    code = "QZ-R03"
    retryable = True


class ReadingError(ServiceError):
    """The reader could not read the passages."""

    code = "QZ-R04"
    retryable = True


class RecordsError(ServiceError):
    """The database of the records could not be read or written."""

    code = "QZ-D01"
    retryable = True


class StorageError(ServiceError):
    """A file could not be kept on disk, most often because the disk is full."""

    code = "QZ-D02"
    retryable = True


class HistoryError(ServiceError):
    """The conversation could not be stored."""

    code = "QZ-D03"
    retryable = True


class DamagedRecord(ServiceError):
    """A value in the database cannot be read: it is damaged, or of a version that this release does not know."""

    code = "QZ-D04"


class DocumentRejected(ServiceError):
    """A file is not accepted: unknown type, empty, encrypted, scanned, too large or hostile."""

    code = "QZ-F01"
    expected = True


class ParsingFailed(DocumentRejected):
    """Reading a file crashed, or took too much time or memory; the file itself may be in order."""

    code = "QZ-F02"
    expected = False


class DownloadFailed(ServiceError):
    """An uploaded file could not be downloaded."""

    code = "QZ-F03"
    retryable = True
