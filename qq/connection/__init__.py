"""The port of the bot: the server, its entrances, and the reverse WebSocket of the OneBot clients."""
