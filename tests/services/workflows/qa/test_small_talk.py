"""Small talk, and messages that only begin with it."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.workflows.qa import small_talk as module
from services.workflows.qa.small_talk import small_talk_reply


def test_the_examples() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "text",
    [
        "你好",
        "在吗？",
        "ｈｅｌｌｏ",
        "你是谁",
        "你能做什么呀",
        "谢谢大佬🙏",
        "哈哈哈哈",
        "666",
        "OK",
        "辛苦了！",
        "对不起",
        "不好意思，发错群了",
        "有人吗",
        "哈喽在吗",
        "今天好累啊",
        "好困",
        "无聊",
        "好的收到",
        "收到谢谢",
        "OK的",
        "牛啊",
        "厉害了",
        "早",
        "早啊大家",
        "晚安",
        "明天见",
        "吃了吗",
        "下班了下班了",
        "真不错",
        "没事了",
        "知道了明白了",
        "周末愉快",
        "谢谢你的帮助",
    ],
)
def test_small_talk(text: str) -> None:
    assert small_talk_reply(text)


@pytest.mark.parametrize("text", ["你是谁", "你能干嘛", "你会做什么", "你叫什么名字", "介绍一下你自己", "你是机器人吗"])
def test_who_asks_what_the_bot_is_gets_the_line_about_help(text: str) -> None:
    assert "/help" in (small_talk_reply(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "你好，宿舍几点熄灯",
        "在吗啡",
        "谢谢信怎么写",
        "你是谁的部下",
        "好的宿舍",
        "测试环境怎么登录",
        "签到",
        "几点",
        "哪天",
        "是吗啡吗",
        "帮我查一下年假",
        "讲个笑话比赛的规则",
        "现在几点关门",
        "图书馆现在几点开",
        "今天几号楼停水",
        "A+B=多少钱",
        "3+1学制是什么",
        "3+4分段是什么意思",
        "我想问一下食堂几点开",
        "请问年假几天",
        "好的那几点开始",
        "在吗，押金多少",
        "不好意思问一下怎么请假",
        "有人管停车吗",
        "早餐几点",
        "晚安排在哪个教室",
        "6月有几天假",
        "明天见习去哪里",
        "下班时间",
        "热水几点有",
        "优秀员工评选条件",
        "88号楼在哪",
        "收到录取通知后怎么办",
        "嗯，那周五呢",
        "好吃吗",
        "放假",
    ],
)
def test_others(text: str) -> None:
    assert small_talk_reply(text) is None


@pytest.mark.parametrize("text", ["是吗", "真的假的", "确定吗", "测试", "test", "？", "??", "。。。", "帮帮我", "help"])
def test_a_call_without_a_question_gets_a_line(text: str) -> None:
    assert small_talk_reply(text)


@pytest.mark.parametrize("text", ["？", "帮帮我", "真的吗", "有人帮忙吗"])
def test_a_call_that_quotes_a_message_is_about_that_message(text: str) -> None:
    assert small_talk_reply(text, quotes=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "讲个笑话",
        "给我唱首歌吧",
        "现在几点了",
        "今天星期几",
        "1+1等于几",
        "3 × 4 = ?",
        "今天天气怎么样",
        "12除以4等于多少",
    ],
)
def test_what_no_file_tells_is_not_searched_for(text: str) -> None:
    assert "文件" in (small_talk_reply(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "大家早呀",
        "早上好各位",
        "good morning everyone",
        "装好了！！！谢谢大佬",
        "谢谢bot 你最棒",
        "辛苦啦",
        "Thanks a lot!",
        "great job team",
        "太厉害了大佬 膜拜",
        "群主大气！",
        "这个机器人真好用👏",
        "中秋快乐各位",
        "恭喜恭喜",
        "笑死",
        "哈哈我也是这样",
        "又要加班 我裂开",
        "又出新框架 学不动了",
        "不想上班",
        "终于考完了",
        "成绩出来啦！！",
        "救命 我是真的要挂了😭",
    ],
)
def test_chatter_by_its_form(text: str) -> None:
    assert small_talk_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        # Key words are how people search, also with feeling in them or behind them.
        "报名截止时间！！！",
        "恭喜发财活动规则",
        "感谢信模板",
        "大气污染防治法",
        "中秋快乐活动安排",
        "好用的软件清单",
        "nice值范围",
        # People who complain about this want it solved.
        "服了，系统又登不上",
        "打不开网页了！！！",
        "密码忘了！！",
        "校园卡丢了😭",
        "数据库崩溃",
        "报错 1042 我裂开",
        # Questions stay questions.
        "哈哈哈这个怎么装",
        "谢谢，那周五呢",
        "太强了，怎么做到的",
        "救命 怎么退课",
    ],
)
def test_no_question_is_taken_for_chatter(text: str) -> None:
    assert small_talk_reply(text) is None


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    assert small_talk_reply(text) != ""
