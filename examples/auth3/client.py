"""The client `c`: sends its password whenever the server asks it to log in."""

from peer import Peer


def loops(peer):
    loop = 0
    while peer.receive("s") == "login":
        peer.misbehave(loop, "a")
        peer.send("a", "passwd", 17 if (peer.fault, peer.fault_loop) == ("wrong-type", loop) else "opensesame")
        loop += 1
    peer.send("a", "quit")


Peer("c").play(loops)
