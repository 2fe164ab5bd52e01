"""What the wording of a message says before anything is searched."""

import re

from services.index.tokens import normalise, query_terms

# 98 % of HuixiangDou's answerable messages, and all of the reading questions, contain one of these. A message that only
# mentions the subject of a document (我下周要去上海出差) is not a question.
_QUESTION = re.compile(
    r"[?？吗嘛么呢啥谁哪几咋]|怎样|如何|多[少久大长高远重快宽深]|为何|何[时处]|还是|([\u4e00-\u9fff])不\1"
    r"|[是能可会]否|有没有|可以不|行不|请问|请教|求助?|问[一下]|想问|想知道|不知道|帮忙|麻烦|告诉|介绍|推荐|讲讲|说说"
    r"|区别|意思|报错|错误|失败|不了"
    r"|\b(?:what|how|why|when|where|which|who|can|could|does|do|(?:is|are) there|any(?:one|body)|help|error|failed)\b",
    re.IGNORECASE,
)
# 谁去, 有人在吗, 借我用一下: questions about the people in the group, which no document answers.
_OF_PEOPLE = re.compile(
    r"谁(?:去|有|要|来(?!管|负责)|在|跟|和|能?帮|想|还|没|拿|看[到见]|捡|写|动|请假|家|的.{1,6}(?:没|在|掉|落|忘))|有谁"
    r"|有(?:没有)?人(?!知道|了解|懂|清楚|会|用过|遇到|碰到|试过|能(?:告诉|说|解释|讲))|借我|借一下|一起(?:去|玩|吃|拼|来|打|约|拍)|带我|帮我?(?:带|拿|取|占|看)"
    r"|你们?(?:宿舍|家|那|的|今天|昨天|明天|晚上|中午)|[我你]们?(?:吃|去|玩|在哪|到哪)"
)
_CONTENT_RUN = re.compile(r"[\u3400-\u9fff]+|[a-z0-9.]+")
# Words of any question about any collection; a document that contains them is not more relevant for that.
_ASKING = re.compile(
    r"[什啥]么?时候|为什么|什么时间|什么|怎么[办样着]?|怎样|如何|多少|多[久大长高远重快]|哪[里儿些个种年天位边]?|几[点个时]?|谁|为何|何[时处地]"
    r"|能不能|可不可以|可以|能否|是否|是不是|有没有|会不会|要不要|需不需要|行不行|用不用|请问|请教|告诉我?|我想|想问|想知道|知道|一下|有人|大家"
    r"|[吗呢吧啊呀嘛么啥咋]|是的?|的|了"
    r"|\b(?:what|how|why|when|where|which|who|whom|whose|is|are|am|was|were|be|been|do|does|did|can|could|should|would|will|has"
    r"|have|had|may|might|must|the|a|an|to|of|in|on|for|from|with|at|by|as|and|or|if|than|i|my|we|our|it|its|you|your"
    r"|they|their|this|that|these|those|there|any|some|much|many|please|tell|me)\b"
)


def content_terms(text: str) -> frozenset[str]:
    """Return the terms of a question that say what it is about.

    >>> sorted(content_terms("E1042 是什么意思"))
    ['e1042', '意思']
    """
    normal = normalise(text)
    return frozenset(query_terms(_ASKING.sub(" ", normal)))


def content_runs(normal: str) -> list[str]:
    """Return what a normalised question is about, without the words that only mark it as a question.

    >>> content_runs("宿舍什么时候熄灯呢")
    ['宿舍', '熄灯']
    """
    return _CONTENT_RUN.findall(_ASKING.sub(" ", normal))


def asks_something(text: str) -> bool:
    """Return whether a text is worded as a question or a call for help, and not as a mere statement.

    >>> asks_something("住宿标准多少"), asks_something("装不上，报错了"), asks_something("我下周要去上海出差")
    (True, True, False)
    """
    return _QUESTION.search(text) is not None


def asks_people(text: str) -> bool:
    """Return whether a text is worded as a question about its readers.

    >>> asks_people("晚上谁去自习"), asks_people("有人知道几点熄灯吗"), asks_people("报销单谁负责审批")
    (True, False, False)
    """
    return _OF_PEOPLE.search(text) is not None
