"""The golden Python endpoints at work, against each other."""

import gc
import socket
import threading
from collections.abc import Callable

import auth_client
import auth_server
import rounds_host
import rounds_player
import shop_customer
import shop_shop


def logs_in_and_out() -> None:
    ours, theirs = socket.socketpair()

    def serve() -> None:
        state = auth_server.Start(auth_server.JsonLines.over("client", theirs))
        event = state.recv()
        refused = event.next.fail(401)
        granted = refused.recv().next.succ("token")
        match granted.recv():
            case auth_server.AfterSuccGotRvk(rvk_tok, _):
                assert rvk_tok == "token"
            case other:
                raise AssertionError(other)

    server = threading.Thread(target=serve)
    server.start()
    start = auth_client.Start(auth_client.JsonLines.over("server", ours))
    try:
        start.auth("123", "x")
        raise AssertionError("the name is wrong")
    except auth_client.Refused as error:
        assert error.blame is None
    failed = start.auth("bob", "x").recv()
    assert isinstance(failed, auth_client.AfterAuthGotFail) and failed.code == 401
    try:
        start.auth("bob", "x")
        raise AssertionError("that state was left")
    except auth_client.Used:
        pass
    granted = failed.next.auth("bob", "y").recv()
    assert isinstance(granted, auth_client.AfterAuthGotSucc)
    granted.next.rvk(granted.tok)
    server.join()


def blames_the_peer() -> None:
    for line, why in [
        (b'{"type":"Succ","tok":7}\n', "server sent `Succ` with a field of the wrong type"),
        (b'{"type":"Res","content":""}\n', "server sent `Res`; expected `Succ` from server, `Fail` from server"),
        (b"hello\n", "server sent what is no message"),
        (b'{"type":"Fail","code":1,"code":2}\n', "server sent what is no message: an object with a name twice"),
        (b"", "server ended the session before its end"),
    ]:
        ours, theirs = socket.socketpair()
        theirs.sendall(line)
        theirs.shutdown(socket.SHUT_WR)
        waiting = auth_client.Start(auth_client.JsonLines.over("server", ours)).auth("bob", "x")
        ours.close()
        try:
            waiting.recv()
            raise AssertionError(line)
        except auth_client.SessionError as error:
            assert str(error).startswith(why) and error.blame == "server", error


def dropping_is_an_abort() -> None:
    ours, theirs = socket.socketpair()
    session = auth_client.Start(auth_client.JsonLines.over("server", ours)).auth("bob", "x")
    ours.close()
    del session
    gc.collect()
    event = auth_server.Start(auth_server.JsonLines.over("client", theirs)).recv()
    try:
        event.next.succ("t").recv()
        raise AssertionError("the client has gone")
    except auth_server.Ended as error:
        assert error.blame == "client"


def counts_rounds() -> None:
    ours, theirs = socket.socketpair()

    def play() -> None:
        state = rounds_player.Start(rounds_player.JsonLines.over("host", theirs)).recv().next
        while True:
            match state.recv():
                case rounds_player.AfterBeginGotAsk(_, asked):
                    state = asked.answer("yes")
                case rounds_player.AfterBeginGotEnd():
                    return

    player = threading.Thread(target=play)
    player.start()
    state = rounds_host.Start(rounds_host.JsonLines.over("player", ours)).begin(2)
    for left in (2, 1):
        try:
            state.end()
            raise AssertionError("there are rounds left")
        except rounds_host.Refused:
            pass
        state = state.ask(left).recv().next
    state.end()
    player.join()


def every_type_travels() -> None:
    ours, theirs = socket.socketpair()

    def sell() -> None:
        hello = shop_shop.Start(shop_shop.JsonLines.over("customer", theirs)).recv()
        assert (hello.account, hello.key) == ("account of ann", b"\0key")
        order = hello.next.recv()
        assert isinstance(order, shop_shop.AfterHelloGotOrder)
        assert (order.article.tags, order.box) == (["tea"], (2, True))
        bye = order.next.confirm(3.0, "order 2").recv()
        assert isinstance(bye, shop_shop.AfterHelloGotBye) and bye.loop == 1

    shop = threading.Thread(target=sell)
    shop.start()
    start = shop_customer.Start(shop_customer.JsonLines.over("shop", ours))
    try:
        start.hello("ann", "broken", b"\0key", None)
        raise AssertionError("the database is down")
    except shop_customer.PredicateFailed:
        pass
    state = start.hello("ann", "account of ann", b"\0key", None)
    article = shop_customer.OrderArticle(1, ["tea"])
    answer = state.order(article, 2, 1.5, (2, True)).recv()
    assert isinstance(answer, shop_customer.AfterOrderGotConfirm)
    answer.next.bye(1)
    shop.join()


def what_has_no_form_is_not_sent() -> None:
    wrong: list[Callable[[auth_server.AfterAuth], object]] = [
        lambda state: state.fail(1 << 63),
        lambda state: state.fail(-(1 << 63) - 1),
        lambda state: state.succ("\ud800"),
    ]
    for send in wrong:
        ours, theirs = socket.socketpair()
        theirs.sendall(b'{"type":"Auth","uname":"bob","pwd":"x"}\n')
        state = auth_server.Start(auth_server.JsonLines.over("client", ours)).recv().next
        try:
            send(state)
            raise AssertionError("no such value")
        except auth_server.Refused as error:
            assert error.blame is None, error


for play in (logs_in_and_out, blames_the_peer, dropping_is_an_abort, counts_rounds, every_type_travels, what_has_no_form_is_not_sent):
    play()
    print(play.__name__)
