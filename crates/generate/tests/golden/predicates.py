"""What the assertions of `shop.scr` call."""


def known_customer(name: str, account: str) -> bool:
    """Whether the account is that of the customer; nobody knows while the database is down."""
    if account == "broken":
        raise RuntimeError("the database is down")
    return account == f"account of {name}"
