"""The QQ numbers of the bot itself, so that it never answers itself."""


class OwnAccounts:
    """All accounts that have been connected since the start, including those that are away at the moment.

    The last messages of an account that was disconnected may still arrive through another account.
    """

    def __init__(self) -> None:
        self._numbers: set[str] = set()

    def add(self, self_id: str) -> None:
        """Remember an account."""
        self._numbers.add(self_id)

    def __contains__(self, number: object) -> bool:
        return str(number) in self._numbers


own_accounts = OwnAccounts()
