"""Failures that are reported to a user, each with the sentence for them.

    ServiceError
    ├── SettingsError          a setting is unknown, missing or out of range; the process must not start
    ├── DataDirectoryError     DATA_DIR is in use by another process or is unusable
    ├── ModelError             the language model returned no usable answer
    │   ├── ModelTimeout       it did not answer within LLM__TIMEOUT_S
    │   ├── ModelUnavailable   it is unreachable or returns errors
    │   └── ModelBudgetSpent   the chat has used up its calls or tokens of the day
    ├── EmbeddingError         the embedding model returned no vectors
    ├── RerankError            the rerank service returned no usable scores
    ├── SearchIndexError       the search index failed
    ├── RecordsError           the database of the records failed
    ├── StorageError           a file could not be kept on disk
    ├── HistoryError           the conversation could not be stored
    ├── DocumentRejected       a file is not accepted, and why (also an expected outcome of parsing)
    └── DownloadFailed         a file could not be downloaded

Expected outcomes (a duplicate file, nothing found) are return values, not exceptions.
"""


class ServiceError(Exception):
    """A failure that carries a sentence for the user.

    `user_message` is one complete Chinese sentence in the user's terms: what happened and what to do. `detail` is only
    logged. `retryable` tells whether the same call may succeed later.
    """

    retryable = False

    def __init__(self, user_message: str, detail: str = "") -> None:
        super().__init__(f"{user_message} ({detail})" if detail else user_message)
        self.user_message = user_message
        self.detail = detail


class SettingsError(ServiceError):
    """A setting is unknown, missing or out of range."""


class DataDirectoryError(ServiceError):
    """The data directory is in use by another process or is unusable."""


class ModelError(ServiceError):
    """The language model returned no usable answer."""

    retryable = True


class ModelTimeout(ModelError):
    """The language model did not answer in time."""


class ModelUnavailable(ModelError):
    """The language model is unreachable, rejects the call or returns errors."""


class ModelBudgetSpent(ModelError):
    """The group or private chat has used up its calls or tokens of the day; the model was not called."""


class EmbeddingError(ServiceError):
    """The embedding model returned no vectors."""

    retryable = True


class RerankError(ServiceError):
    """The rerank service returned no usable scores."""

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
    """A file is not accepted: unknown type, empty, encrypted, scanned, too large or hostile."""


class DownloadFailed(ServiceError):
    """An uploaded file could not be downloaded."""

    retryable = True
