"""Failures that a user hears about, each with the sentence he gets.

    ServiceError
    ├── SettingsError          a setting is unknown, missing or out of range; the process must not start
    ├── DataDirectoryError     DATA_DIR is held by another process or cannot be used
    ├── ModelError             the language model gave no usable answer
    │   ├── ModelTimeout       it did not answer in LLM__TIMEOUT_S
    │   └── ModelUnavailable   it cannot be reached or answers with errors
    ├── EmbeddingError         the embedding model gave no vectors
    ├── RerankError            the rerank service gave no usable scores
    ├── SearchIndexError       the search index failed
    ├── RecordsError           the database of the records failed
    ├── StorageError           a file could not be kept on disk
    ├── HistoryError           the conversation could not be stored
    ├── DocumentRejected       a file cannot be taken in, and why (also an expected outcome of a parse)
    └── DownloadFailed         the bytes of a file could not be had

Expected outcomes (a duplicate file, nothing found) are return values, not exceptions.
"""


class ServiceError(Exception):
    """A failure with a sentence for the user.

    `user_message` is one complete Chinese sentence in the user's terms: what happened and what to do.
    `detail` goes to the log only. `retryable` tells whether the same call may succeed later.
    """

    retryable = False

    def __init__(self, user_message: str, detail: str = "") -> None:
        super().__init__(f"{user_message} ({detail})" if detail else user_message)
        self.user_message = user_message
        self.detail = detail


class SettingsError(ServiceError):
    """A setting is unknown, missing or out of range."""


class DataDirectoryError(ServiceError):
    """The data directory is held by another process or cannot be used."""


class ModelError(ServiceError):
    """The language model gave no usable answer."""

    retryable = True


class ModelTimeout(ModelError):
    """The language model did not answer in time."""


class ModelUnavailable(ModelError):
    """The language model cannot be reached, refuses the call or answers with errors."""


class EmbeddingError(ServiceError):
    """The embedding model gave no vectors."""

    retryable = True


class RerankError(ServiceError):
    """The rerank service gave no usable scores."""

    retryable = True


class SearchIndexError(ServiceError):
    """The search index failed."""

    retryable = True


class RecordsError(ServiceError):
    """The database of the records could not be read or written."""

    retryable = True


class StorageError(ServiceError):
    """A file could not be kept on disk, most often because the disk is full."""

    retryable = True


class HistoryError(ServiceError):
    """The conversation could not be stored."""

    retryable = True


class DocumentRejected(ServiceError):
    """A file that cannot be taken in: unknown type, empty, encrypted, scanned, too large, hostile."""


class DownloadFailed(ServiceError):
    """The bytes of an uploaded file could not be had."""

    retryable = True
