"""The categories of questions of the specification, by the words that a text of each has."""

import re
from collections.abc import Mapping

# Latin words count only as whole words, or `api` would be found in `rapid`.
WORDS: Mapping[str, re.Pattern[str]] = {
    "model_usage": re.compile(
        r"模型|微调|推理|权重|提示词|分词器|量化|数据集"
        r"|\b(?:llm|models?|fine-?tun(?:e|ed|ing)|inference|prompts?|tokenizers?|lora|embeddings?|datasets?)\b",
        re.ASCII,
    ),
    "technical": re.compile(
        r"代码|命令|接口|函数|脚本|编译|数据库|日志|变量|报错|异常|崩溃|安装|依赖|环境变量|部署|容器|镜像|端口|显存|驱动"
        r"|\b(?:api|code|cmd|shell|ssh|git|linux|windows|script|sql|json|ya?ml|http|pip|conda|npm|cuda|docker|error"
        r"|exception|traceback|debug|install|deploy)\b",
        re.ASCII,
    ),
    "platform": re.compile(
        r"登[录陆]|注册|账[号户]|帐[号户]|密码|上传|下载|平台|网站|小程序|公众号|客户端|网页|权限|积分|会员|充值|缴费|验证码"
        r"|\b(?:app|login|accounts?|upload|download|website|platform)\b",
        re.ASCII,
    ),
    "project": re.compile(
        r"作业|实验报告|课题|课程设计|毕业设计|毕设|项目|论文|答辩|选题|开题|竞赛|比赛|\b(?:projects?|homework|assignments?|thesis)\b",
        re.ASCII,
    ),
}
# One such word may stand anywhere; two in one passage are about it.
_LEAST = 2


def categories_of(text: str) -> tuple[str, ...]:
    """Return the categories of questions that a passage is likely to answer, none for most subjects.

    >>> categories_of("模型下载后显存不足，可以把权重量化，见 docker 部署说明")
    ('model_usage', 'technical')
    """
    lower = text.lower()
    return tuple(name for name, pattern in WORDS.items() if _matches_often(pattern, lower))


def _matches_often(pattern: re.Pattern[str], text: str) -> bool:
    return sum(1 for _, _ in zip(range(_LEAST), pattern.finditer(text), strict=False)) == _LEAST
