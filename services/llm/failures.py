"""The sentence for every failure of a call of a model."""

from typing import NoReturn

from services.errors import ModelError, ModelTimeout, ModelUnavailable

MAX_DETAIL_CHARS = 500
_PAYMENT_REQUIRED = 402
# The service received the request and does not like it: sending it again would not help.
_REFUSED = frozenset({400, 413, 422})
_WRONG_FORM = "模型的回答格式不对，请稍后再问。"


def model_error(error: Exception) -> ModelError:
    """Return the error with the sentence for `error`, whatever the client of the service raised.

    Nothing is logged here. The caller logs the error when it answers without the model.
    """
    import openai  # noqa: PLC0415 - takes a second, which only a bot with a key needs to spend

    from services.net.bounded import ResponseTooLong  # noqa: PLC0415

    detail = f"{type(error).__name__}: {error}"[:MAX_DETAIL_CHARS]
    if isinstance(error, ModelError):
        return error
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return ModelTimeout("模型回答超时了，请稍后再问。", detail)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return ModelUnavailable("模型的密钥无效，请管理员检查 LLM__API_KEY。", detail)
    if isinstance(error, openai.NotFoundError):
        return ModelUnavailable("模型名或接口地址不对，请管理员检查 LLM__MODEL 和 LLM__BASE_URL。", detail)
    if isinstance(error, openai.RateLimitError):
        return ModelUnavailable("模型服务现在太忙或额度用完了，请稍后再问。", detail)
    if isinstance(error, openai.BadRequestError) and "max_tokens" in str(error):
        return ModelUnavailable("模型服务不接受现在的回答长度，请管理员把 LLM__MAX_TOKENS 改小一些。", detail)
    if isinstance(error, openai.APIStatusError) and 300 <= error.status_code < 400:
        return ModelUnavailable("模型服务要转到别的地址，没有照做，请管理员检查 LLM__BASE_URL。", detail)
    if isinstance(error, openai.APIStatusError) and error.status_code == _PAYMENT_REQUIRED:
        return ModelUnavailable("模型服务的余额用完了，请管理员检查服务商的账户。", detail)
    if isinstance(error, openai.APIStatusError) and error.status_code in _REFUSED:
        return ModelUnavailable("模型服务拒绝了这次请求，请管理员查看日志里的原因。", detail)
    if isinstance(error, ResponseTooLong):
        return ModelError("模型服务返回的内容太大，没有读完，请稍后再问。", detail)
    if isinstance(error, openai.APIConnectionError | openai.APIStatusError):
        return ModelUnavailable("模型服务暂时连不上，请稍后再问。", detail)
    return ModelError("模型的回答读不懂，请稍后再问。", detail)


def refuses_max_tokens(error: Exception) -> bool:
    """Return whether a service refuses `max_tokens` and asks for the newer `max_completion_tokens`."""
    import openai  # noqa: PLC0415 - as above

    return isinstance(error, openai.BadRequestError) and "max_completion_tokens" in str(error)


def require_finish(reason: object) -> None:
    """Raise `ModelError` unless an answer with this finish_reason is complete, or cut at its limit of tokens."""
    if not reason:
        raise ModelError("模型的回答中途断了，请再问一次。", "no finish_reason")
    if reason == "content_filter":
        raise ModelError("模型服务拦下了这个回答，请换个问法再试。", "content_filter")


def wrong_form(detail: str) -> ModelError:
    """Return the error for an answer that is not what was asked for."""
    return ModelError(_WRONG_FORM, detail[:MAX_DETAIL_CHARS])


def raise_empty(detail: object) -> NoReturn:
    """Raise `ModelError` for an answer without content."""
    raise ModelError("模型没有给出内容，请稍后再试。", str(detail)[:MAX_DETAIL_CHARS])
