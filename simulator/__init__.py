"""QQ in miniature: an OneBot v11 implementation of our own, with the groups, people and files behind it.

It plays the client towards the bot over a real reverse WebSocket: for the local page, for replaying a conversation, and
for the end-to-end tests. It knows neither NoneBot nor the services.
"""
