"""Generated endpoints against each other, with a guard between them that has nothing to say; and one that is by-passed."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading

from harness import REFEREE, Case, Guard, folder, free_port, process

ROOT = pathlib.Path(__file__).resolve().parent / "../.."
sys.path.insert(0, str(ROOT / "crates/generate/tests/golden"))

import auth_client  # noqa: E402
import auth_server  # noqa: E402
import game_player  # noqa: E402
import game_server  # noqa: E402
import smtp_client  # noqa: E402


def guard(name, example, upstream):
    protocol = f'protocol = "{ROOT / "examples" / example}"\ncodec = {{ kind = "json", framing = "lines" }}'
    return Guard(name, upstream, protocol=protocol)


@contextlib.contextmanager
def serving(serve):
    """A server of one connection; what it raised is raised at the end."""
    errors = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def run():
            try:
                serve(listener.accept()[0])
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(20)
    if errors:
        raise errors[0]


def connect(module, peer, port):
    return module.Start(module.JsonLines.over(peer, socket.create_connection(("127.0.0.1", port), 20)))


class Endpoints(Case):
    def test_auth(self):
        def serve(connection):
            start = auth_server.Start(auth_server.JsonLines.over("client", connection))
            granted = start.recv().next.fail(401).recv().next.succ("token")
            asked = granted.recv()
            assert isinstance(asked, auth_server.AfterSuccGotGet) and asked.req_tok == "token"
            asked.next.res("content").recv()

        with serving(serve) as port, guard("auth", "auth/auth-plain.scr", port) as between:
            failed = connect(auth_client, "server", between.port).auth("bob", "x").recv()
            assert isinstance(failed, auth_client.AfterAuthGotFail)
            granted = failed.next.auth("bob", "y").recv()
            assert isinstance(granted, auth_client.AfterAuthGotSucc)
            answer = granted.next.get("page", granted.tok).recv()
            assert isinstance(answer, auth_client.AfterGetGotRes) and answer.content == "content"
            answer.next.rvk(granted.tok)
        self.assert_innocent(between)

    def test_game(self):
        def serve(connection):
            state = game_server.Start(game_server.JsonLines.over("player", connection))
            while True:
                match state.recv():
                    case game_server.StartGotGuess(42, asked):
                        asked.correct(42)
                        return
                    case game_server.StartGotGuess(_, asked):
                        state = asked.incorrect()
                    case other:
                        raise AssertionError(other)

        protocol = 'client-role = "player"'
        with serving(serve) as port, Guard("game", port, protocol, f'protocol = "{ROOT / "examples/game/game.scr"}"\n'
                                           'codec = { kind = "json", framing = "lines" }') as between:
            state = connect(game_player, "server", between.port)
            for number in (7, 41, 42):
                event = state.guess(number).recv()
                if isinstance(event, game_player.AfterGuessGotCorrect):
                    self.assertEqual(42, event.ans)
                    break
                state = event.next
        self.assert_innocent(between)

    def test_a_mail_client_against_a_mock(self):
        mock = subprocess.Popen([REFEREE, "mock", str(ROOT / "examples/smtp/smtp.scr"), "--role", "server", "--sessions", "1"],
                                stdout=subprocess.PIPE)
        port = int(mock.stdout.readline().decode().rsplit(":", 1)[1])
        with guard("smtp", "smtp/smtp.scr", port) as between:
            greeted = connect(smtp_client, "server", between.port).recv().next
            named = greeted.helo("client.test").recv().next.mail_from("a@client.test").recv().next
            mailed = named.rcpt_to("b@server.test").recv().next.data().recv().next.content("Hello").recv().next
            mailed.quit().recv()
        self.assertEqual(0, mock.wait(20))
        mock.stdout.close()
        self.assert_innocent(between)

    def test_three_roles_behind_their_monitors(self):
        example, place = ROOT / "examples/auth3", {**os.environ, "PYTHONPATH": str(ROOT / "crates/generate/tests/golden")}
        ports = {"9201": free_port(), "9202": free_port(), "9203": free_port()}
        text = (example / "endpoints.toml").read_text().replace("authorization.gt", str(example / "authorization.gt"))
        for written, port in ports.items():
            text = text.replace(written, str(port))
        with folder() as here:
            (here / "network.toml").write_text(text)
            with process(REFEREE, "guard", here / "network.toml", port=ports["9203"]):
                roles = zip(["a", "c", "s"], ["9203", "9202", "9201"])
                players = [
                    subprocess.Popen([sys.executable, "-B", example / "endpoints.py", role, f"127.0.0.1:{ports[port]}"], env=place)
                    for role, port in roles
                ]
                self.assertEqual([0, 0, 0], [player.wait(60) for player in players])

    def test_who_goes_round_the_endpoint_is_stopped(self):
        def serve(connection):
            start = auth_server.Start(auth_server.JsonLines.over("client", connection))
            with contextlib.suppress(auth_server.Ended):
                start.recv()

        with serving(serve) as port, guard("auth", "auth/auth-plain.scr", port) as between:
            with socket.create_connection(("127.0.0.1", between.port), 20) as client:
                client.sendall(b'{"type":"Get","resource":"page","reqTok":"guessed"}\n')
                client.recv(1)
        self.assert_blamed(between, "client")
