"""The server `s`: lets the client log in as often as `--loops` says, then quits."""

from peer import Peer


def loops(peer):
    for loop in range(peer.options.loops):
        peer.misbehave(loop, "c")
        peer.send("c", "login")
        if (peer.fault, peer.fault_loop) == ("out-of-turn", loop):
            peer.say(event="fault", fault=peer.fault)
            peer.send("c", "login")
        if peer.receive("a") != "auth" or peer.receive("a") is not True:
            raise SystemExit("the authorizer did not say that all is well")
    peer.send("c", "quit")


Peer("s").play(loops)
