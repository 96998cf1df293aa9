"""The authorizer `a`: is told by the server's monitor what the server chose, then hears from the client."""

from peer import Peer


def loops(peer):
    loop = 0
    while peer.receive("s") == "login":
        if peer.receive("c") != "passwd":
            raise SystemExit("the client did not send its password")
        peer.misbehave(loop, "s")
        peer.send("s", "auth", peer.receive("c") == "opensesame")
        loop += 1
    if peer.receive("c") != "quit":
        raise SystemExit("the client did not quit")


Peer("a").play(loops)
