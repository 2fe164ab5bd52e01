"""A bare NoneBot that echoes messages: the lower bound of every latency of the product.

HOST, PORT and ONEBOT_ACCESS_TOKEN come from the environment, as NoneBot reads them.
"""

import nonebot
from nonebot.adapters.onebot.v11 import Adapter, Bot, Message, MessageEvent, MessageSegment
from nonebot.rule import to_me


async def echo(bot: Bot, event: MessageEvent) -> None:
    """Reply to the message and repeat its text."""
    await bot.send(event, Message(MessageSegment.text(event.get_plaintext())), reply_message=True)


def main() -> None:
    """Run until a signal stops the process."""
    nonebot.init(_env_file=(), log_level="WARNING")
    nonebot.get_driver().register_adapter(Adapter)
    nonebot.on_message(rule=to_me(), handlers=[echo])
    nonebot.run()


if __name__ == "__main__":
    main()
