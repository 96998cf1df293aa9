"""Steps out of order: `mypy --strict` finds an error in each line that says so."""

import auth_client
import game_player
import rounds_host


def wrong(start: auth_client.Start, session: auth_client.AfterSucc, asked: auth_client.AfterAuth) -> None:
    start.get("r", "t")  # error
    start.rvk("t")  # error
    start.recv()  # error
    start.auth("a", "b").auth("a", "b")  # error
    start.auth("a", "b").get("r", "t")  # error
    start.auth("a")  # error
    start.auth(7, "b")  # error
    session.auth("a", "b")  # error
    session.recv()  # error
    session.get("a", "t").get("b", "t")  # error
    session.rvk("t").get("b", "t")  # error
    asked.recv().next.get("r", "t")  # error
    asked.recv().tok  # error


def wrong_too(player: game_player.Start, host: rounds_host.Start) -> None:
    player.guess("5")  # error
    player.quit().guess(5)  # error
    host.ask(1)  # error
    host.begin(2).begin(2)  # error
