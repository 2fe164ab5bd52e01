"""A simulated QQ: an OneBot v11 implementation with the groups, people and files behind it.

It connects to the bot as a client over a real reverse WebSocket. The local page, the replay of saved conversations and
the end-to-end tests use it. It imports neither NoneBot nor the rest of the bot.
"""
