"""The QQ numbers of the bot itself, so that it never answers itself."""


class OwnAccounts:
    """Every account that has been connected since the start, also one that is away at the moment.

    An account that was cut off may still be heard through another one, which hears its last messages.
    """

    def __init__(self) -> None:
        self._numbers: set[str] = set()

    def add(self, self_id: str) -> None:
        """Remember an account."""
        self._numbers.add(self_id)

    def __contains__(self, number: object) -> bool:
        return str(number) in self._numbers


own_accounts = OwnAccounts()
