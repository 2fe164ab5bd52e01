"""The category of a question by rules, without a model."""

import re
from collections.abc import Mapping, Sequence

from services.index.tokens import normalise
from services.retrieval.models import Question
from services.retrieval.wording import content_runs
from services.text.categories import WORDS
from services.workflows.qa.models import MainCategory, QuestionCategory, TechnicalSubCategory

_MOST_KEYWORDS = 8
# The share of a rule's own questions among all that it matched on the development groups is not known for a group of
# another kind, so a single match counts as likely and several as almost sure.
_LIKELY, _SURE, _UNKNOWN = 0.7, 0.9, 0.5

# Latin words only as whole words, or `api` would be found in `rapid`.
_SUB_CATEGORIES: Mapping[TechnicalSubCategory, re.Pattern[str]] = {
    TechnicalSubCategory.DEBUGGING: re.compile(
        r"报错|出错|错误(?:码|信息|提示)?|异常|崩溃|闪退|卡死|没反应|失败|打不开|连不上|登不[上了]|装不[上了]|用不了|跑不[起动]来?|启动不了"
        r"|不生效|bug"
        r"|\w{0,60}(?:error|exception)\b|\b(?:traceback|failed|failure|crash|debug|denied|timeout|not found)\b"
    ),
    TechnicalSubCategory.ENVIRONMENT: re.compile(
        r"安装|环境|依赖|装(?:包|驱动|一下)|升级|卸载|兼容|配置(?:环境|文件)?"
        r"|\b(?:pip|conda|npm|install|cuda|python|java|node|venv|sdk|driver|requirements?)\b"
    ),
    TechnicalSubCategory.DEPLOYMENT: re.compile(
        r"部署|上线|发布|服务器|容器|镜像|反向代理|端口|域名|\b(?:deploy(?:ment)?|docker|compose|nginx|kubernetes|k8s|server|port)\b"
    ),
    TechnicalSubCategory.OPTIMIZATION: re.compile(
        r"性能|优化|太慢|很慢|变慢|加速|显存|内存(?:不足|占用|溢出|泄漏)|提速|并发|\b(?:oom|slow|latency|throughput|performance|optimi[sz]e)\b"
    ),
}
# What says that something is wrong or wanted, but not what it is about.
_VAGUE = re.compile(
    r"报错|出错|错误|失败|异常|问题|打不开|连不上|登不[上了]|装不[上了]|用不[了上]|不行|没反应|没用|不会|不懂|不对|解决|处理|求助|帮忙?|救命"
    r"|东西|这个|那个|这样|那样|这些|那些|这里|那里|这|那|它|你们?|我们?|他们?|咋弄|弄|搞|办|整|出|看看?|说说?|讲讲?|具体|详细|方法|步骤|情况|东东"
    r"|还|又|就|都|也|要|想|应该|需要|可以|能|会|不|没|在|有|给|请|求|大佬们?|老师们?|谢谢|急|呜+|哦|嗯|额"
)


def is_vague(question: Question) -> bool:
    """Return whether a message asks for help but does not say with what.

    >>> is_vague(Question("报错了怎么办")), is_vague(Question("这个咋弄")), is_vague(Question("宿舍几点熄灯"))
    (True, True, False)
    """
    if question.material:
        return False
    runs = content_runs(normalise(question.text))
    return not any(_VAGUE.sub("", run) for run in runs)


def names_trouble(text: str) -> bool:
    """Return whether a message says that something does not work.

    >>> names_trouble("报错了怎么办"), names_trouble("这个怎么弄")
    (True, False)
    """
    return _SUB_CATEGORIES[TechnicalSubCategory.DEBUGGING].search(text.lower()) is not None


def classify_by_rules(question: Question) -> QuestionCategory | None:
    """Return the category of a question by its words, or None if it says too little to be searched for.

    >>> category = classify_by_rules(Question("docker 部署报 ERR-4032 错误怎么办"))
    >>> category.main_category.value, category.sub_category
    ('technical', 'debugging')
    >>> classify_by_rules(Question("宿舍几点熄灯")).main_category.value
    'other'
    """
    if is_vague(question):
        return None
    text = question.shown.lower()
    keywords = _keywords(question)
    found = {name: len(pattern.findall(text)) for name, pattern in _SUB_CATEGORIES.items()}
    # Who names an error wants it gone, whatever else they name.
    is_broken = found[TechnicalSubCategory.DEBUGGING] > 0
    sub_category = TechnicalSubCategory.DEBUGGING if is_broken else max(found, key=lambda name: found[name])
    counts = {MainCategory(name): len(pattern.findall(text)) for name, pattern in WORDS.items()}
    counts[MainCategory.TECHNICAL] += sum(found.values())
    best = max(counts, key=lambda name: counts[name])
    if not counts[best]:
        return QuestionCategory(main_category=MainCategory.OTHER, confidence=_UNKNOWN, keywords=keywords)
    return QuestionCategory(
        main_category=best,
        sub_category=sub_category if best is MainCategory.TECHNICAL and found[sub_category] else None,
        confidence=_SURE if counts[best] > 1 else _LIKELY,
        keywords=keywords,
    )


def _keywords(question: Question) -> list[str]:
    runs: Sequence[str] = content_runs(normalise(question.text))
    return [run[:20] for run in dict.fromkeys(runs) if len(run) > 1][:_MOST_KEYWORDS]
