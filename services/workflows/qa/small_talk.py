"""Replies to messages that ask nothing: greetings, thanks, praise, and what people exclaim about their day."""

import re
import unicodedata

from services.retrieval.wording import asks_something
from services.text.cleaning import compatible

_NOT_LETTERS = re.compile(r"[^\w]|_")
_TITLE = (
    r"(?:你们?|您|各位|大家|群主|老师们?|同学们?|大佬们?|大神|老板|群知|bot|机器人|亲|哥|姐|兄弟们?|小伙伴们?"
    r"|邻居们?|朋友们?|家人们)"
)
# Not between Latin words: nice work.
_CLAUSE = re.compile(r"[^\w\s]+|(?<![a-z])\s+|\s+(?![a-z])", re.I)
_WORDS = re.compile(r"\w+")
_ENDING = r"[啊呀哦噢呢哈啦了吧嘛哇哒滴]*"
_VERY = r"(?:今天|最近|今晚|真的|真是|感觉|有点|我|真|好|太|超|快|要|又|都)*"
# Each is a complete remark. Several may follow each other without a mark: 好的收到.
_WHOLE = (
    (
        re.compile(
            r"你(?:是谁|叫(?:什么|啥)(?:名字)?|是(?:什么|啥)(?:机器人)?|是(?:个)?(?:机器人|真人|人|ai)吗|能做(?:什么|啥)|会(?:做)?(?:什么|啥)"
            r"|能干(?:什么|嘛|啥)|能帮(?:我|我们)(?:做|干)?(?:什么|嘛|啥)|会干(?:什么|嘛|啥)|有(?:什么|啥|哪些)(?:功能|用)|的功能(?:是什么)?"
            r"|怎么用)[啊呀呢]*|(?:自我)?介绍一?下(?:你)?自己|怎么用你?|whoareyou|whatcanyoudo|whatareyou",
            re.I,
        ),
        "我从发到这里的文件里找答案，并写明出处。把文件发出来就会入库，能做什么发 /help 看。",
    ),
    (
        re.compile(
            rf"{_TITLE}*(?:非常|太|多|十分)?(?:谢谢|感谢|多谢|谢了|谢啦|辛苦|麻烦你|麻烦您)(?:了|啦|啊)*(?:{_TITLE}|你|了|啦)*"
            r"(?:的(?:帮助|帮忙|回答|解答|支持))?"
            r"|th(?:ank(?:s|you)?|x)(?:alot|somuch|guys|all|bot)?",
            re.I,
        ),
        "不客气。",
    ),
    (
        re.compile(
            rf"(?:实在|真的|真是|非常)?(?:对不起|抱歉|不好意思|打扰|打扰一下|我错){_ENDING}(?:{_TITLE})?|sorry(?:all|guys)?"
            rf"|(?:发|说|搞|弄|艾特|打)错(?:群|人)?{_ENDING}|没事{_ENDING}",
            re.I,
        ),
        "没关系，有问题随时问我。",
    ),
    (
        re.compile(
            rf"{_TITLE}*(?:真|太|好|挺|还|很|你)*(?:牛[逼批b]?|厉害|不错|绝|优秀|漂亮|靠谱|聪明|可爱){_ENDING}{_TITLE}?",
            re.I,
        ),
        "哈哈，收下了！有问题随时问我。",
    ),
    (
        re.compile(
            rf"{_VERY}(?:累|困|无聊|烦|难受|郁闷|难过|饿|热|冷|丧|emo|头疼|头痛|想睡觉?|想下班|想放假|想回家){_ENDING}(?:死|坏|翻)?(?:我)?{_ENDING}"
        ),
        "辛苦了，有要查的随时问我。",
    ),
    (
        re.compile(
            rf"{_TITLE}*(?:晚安|再见|拜拜?|bye(?:bye)?|88|886|明天见|回头见|下次见|回见|周一见|(?:我)?先?(?:走|溜|撤|睡|下)了){_ENDING}{_TITLE}?",
            re.I,
        ),
        "再见，有问题随时来问。",
    ),
    (
        re.compile(
            rf"{_TITLE}*(?:好|早|早上好|上午好|中午好|下午好|晚上好|早安|午安)[啊呀哦]?{_TITLE}*|h(?:i|ello|ey)(?:all|guys"
            r"|there|everyone)?|good(?:morning|afternoon|evening)(?:all|guys|everyone)?|嗨+|哈[喽啰罗]|你?在[吗么嘛不]|你?在不在"
            r"|(?:还)?有(?:没有)?人(?:在)?[吗么嘛]?[啊呀]?",
            re.I,
        ),
        "你好，我在。把文件发到群里，有问题就问我；能做什么发 /help 看。",
    ),
    (
        re.compile(
            rf"(?:你)?(?:(?:吃|睡|忙)(?:饭|完)?了(?:吗|没)|吃饭(?:吗|没)|在?(?:干嘛|干啥|忙什么)[呢啊]*)|(?:下班|下课|放假|放学|收工|开饭)[了啦咯喽]{_ENDING}"
        ),
        "我一直在，有问题就问我。",
    ),
    (
        re.compile(
            r"(?:哈|呵|嘿|嘻){2,}|6{1,}|嗯+|哦+|噢+|额+|呃+|啊+|好(?:的|吧|嘞|勒|哒|滴|呀|呢)*|行(?:的|吧)*|o+k+(?:ay)?(?:的|了)?|收到|可以[的啊呀吧哦]*"
            r"|(?:我)?(?:都)?(?:知道|明白|懂|了解|清楚|记住)[了啦]*|没问题|原来如此|原来是这样|这样啊|是的|对的",
            re.I,
        ),
        "在的，有问题就问我。",
    ),
    (
        re.compile(
            r"(?:测试|试试|试一?下|test(?:ing)?|喂|ping|滴+|活着吗|还活着吗|在线吗|醒醒)+[呀啊吧]*",
            re.I,
        ),
        "我在，收得到。有问题就问我。",
    ),
    (
        re.compile(
            r"(?:请)?(?:给我们?|跟我们?|再)?(?:讲|说|来|唱|写|背|念|跳|画)(?:一?[个首段张支句]|点儿?)?(?:笑话|段子|故事|歌曲?|诗|古诗|舞|画|情话|鬼故事|绕口令|rap)"
            r"[吧呗呀啊听看]*(?:给我)?[听看]?[吧呗呀啊]*|(?:我们?)?(?:聊聊天?|聊会儿?天|陪我(?:聊聊天?|玩))[吧呗呀啊]*|tell(?:me|us)?ajoke",
            re.I,
        ),
        "这个我不会，我只从发来的文件里找答案。",
    ),
    (
        re.compile(
            r"(?:请问)?(?:现在|当前|此刻|今天|今日|明天|昨天)(?:是)?(?:几点钟?|几号|几月几[号日]|星期几|礼拜几|周几|什么日子|什么时间|啥时间|哪年|哪一年|哪天)"
            r"(?:了|啊|呀|呢)*|(?:今天|明天|后天|现在|外面)?(?:的)?(?:天气|气温|温度)(?:怎么样|如何|好吗|咋样|多少度?)[啊呀呢]*"
            r"|(?:今天|明天|现在|外面)(?:会)?(?:下雨|下雪|热|冷)[吗不没]|whattimeisit(?:now)?",
            re.I,
        ),
        "这个文件里查不到，看一下手机更快。我只从发来的文件里找答案。",
    ),
)
# Said about something that is quoted, these ask about the quoted message.
_CALLS = (
    (
        re.compile(
            r"(?:真|确)?(?:是|的)?(?:吗|么|嘛)+|真的?假的?|真的(?:是)?(?:这样)?吗?|是这样吗?|不会吧|不是吧|你?(?:能)?确定(?:吗|么|嘛)?|靠谱[吗么]|对[吗么]"
        ),
        "我按文件里的原文回答，出处写在后面，可以对着看。",
    ),
    (
        re.compile(
            r"(?:谁|有谁|有人|能不能|可以|能|快|来|请|求|求求)?(?:人)?(?:来)?(?:帮帮?(?:我|我们|忙|个忙|下忙|下|一下)?(?:忙)?)(?:吧|呗|啊|吗)*|求助|救命啊*|help(?:me)?"
            r"|(?:我)?(?:想|要)?(?:请问|问|请教)(?:一?下|个问题|一?个事)?|(?:我)?有(?:个|一个|些|几个)?(?:问题|事|疑问)(?:想问)?(?:一下)?",
            re.I,
        ),
        "说说看，要查什么？",
    ),
)
_SUM = re.compile(
    r"\s*(?:请问|算一?下|计算)?\s*[(（]?\s*[\d.]+(?:\s*(?:[-+*/×÷x^]|加上?|减去?|乘以?|除以)\s*[(（]?\s*[\d.]+\s*[)）]?)+\s*"
    r"(?:(?:=|等于)\s*(?:几|多少|啥|什么)?|是(?:几|多少))[\s?？。!！呀啊呢]*",
    re.I,
)
_REMARKS = re.compile("(?:" + "|".join(f"(?:{pattern.pattern})" for pattern, _ in _WHOLE) + "){1,3}", re.I)
# What is said with feeling ends a clause: 中秋快乐, but not 中秋快乐活动安排.
_TAIL = rf"(?:了|啦|啊|呀|哦|吧|呢|的|死|哈+|{_TITLE})*$"
_EXCLAIMED = (
    (re.compile(rf"(?:谢谢|感谢|多谢|辛苦[了啦]?|谢[了啦]){_TAIL}|^thank(?:s|you)|thx$", re.I), "不客气。"),
    (re.compile(rf"(?:快乐|恭喜|(?:周末|节日|假期|旅途)愉快)(?:恭喜)*{_TAIL}", re.I), "谢谢，也祝你一切顺利！"),
    (
        re.compile(
            r"(?:(?:太|真|好|超|这么|可真)(?:强|牛|厉害|棒|赞|香|好用?|带劲|贴心|顶|绝|帅)|牛[逼批]|yyds|膜拜|大气"
            r"|威武|给力|点赞|绝了)"
            rf"{_TAIL}|^(?:nice|great|good|awesome|amazing|brilliant|well|cool)(?:work|job|one|done|stuff)",
            re.I,
        ),
        "哈哈，收下了！有问题随时问我。",
    ),
    (
        re.compile(r"^(?:哈|嘿|嘻){2,}|(?:哈|嘿|嘻){2,}$|^笑死|笑死我?了?$|2333+$|^(?:lol|haha)", re.I),
        "哈哈，有问题随时问我。",
    ),
    (
        re.compile(
            r"(?:(?:^|[我人真快要都直接])(?:裂开|崩溃|崩)|呜呜+|^服|服了|无语|破防|[跌累困人]麻|累死|困死|饿死"
            r"|烦死|怀疑人生|心慌"
            rf"|不想(?:上班|上课|上学|动|干活)|[学卷肝熬顶扛]不(?:动|住|下去)){_TAIL}"
        ),
        "辛苦了，有要查的随时问我。",
    ),
)
_EXCLAMATION = re.compile(
    r"(?:终于|总算).{1,20}[了啦](?:[!~。\s]|$)|.[了啦]!{2,}|.啦[!~]+|救命.*[了啦]\W*$|[了啦][😭😢😤😫🥲]+$"
)
# A member who writes this wants it solved, however loud they are.
_TROUBLE = re.compile(
    r"(?:[打登连进装开传下点用收看找查跑启][得]?|访问|安装|启动|加载|显示)不(?:上|开|进|了|动|起来|出来?|到|通|来)"
    r"|报错|出错|失败|没反应|用不|坏了|掉线|卡[死住]|闪退|黑屏"
    r"|停[水电机]|断电|丢了|忘了|忘带|忘记|罢工|\berror\b|\bfail|\d{3,}"
)
_MOST_CHARS = 20
_MOST_EXCLAIMED_CHARS = 40


def small_talk_reply(text: str, *, quotes: bool = False) -> str | None:
    """Return the reply to a message that is only a greeting, thanks, praise or an exclamation, or None for any other.

    A call without a question (帮帮我, ？) gets a reply too, unless it `quotes` the message that it is about.

    >>> small_talk_reply("谢谢啦！"), small_talk_reply("你好，宿舍几点熄灯") is None
    ('不客气。', True)
    >>> small_talk_reply("又下雨了 服了") is None, small_talk_reply("服了，系统又登不上") is None
    (False, True)
    """
    compatible_text = compatible(text)
    plain = _NOT_LETTERS.sub("", compatible_text)
    if not plain and any(unicodedata.category(character) == "So" for character in text):
        return "在的，有问题就问我。"
    if not plain and compatible_text.strip() and not quotes:
        return "怎么了？有问题直接问我。"
    if _SUM.fullmatch(compatible_text):
        return "算数我不行，用计算器吧。我只从发来的文件里找答案。"
    if len(plain) <= _MOST_CHARS:
        for pattern, reply in (*_WHOLE, *(() if quotes else _CALLS)):
            if pattern.fullmatch(plain):
                return reply
        if _REMARKS.fullmatch(plain):
            return next(reply for pattern, reply in _WHOLE if pattern.search(plain))
    if len(plain) > _MOST_EXCLAIMED_CHARS or asks_something(text) or _TROUBLE.search(compatible_text):
        return None
    clauses = ["".join(_WORDS.findall(clause)) for clause in _CLAUSE.split(compatible_text)]
    replies = (reply for pattern, reply in _EXCLAIMED if any(map(pattern.search, clauses)))
    return next(replies, "有问题随时问我。" if _EXCLAMATION.search(compatible_text) else None)
