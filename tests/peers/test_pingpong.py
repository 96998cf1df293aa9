"""Sessions that span connections, and WebSockets: curl, wrk and a browser before servers in Python."""

import base64
import contextlib
import hashlib
import http.client
import http.server
import json
import re
import socketserver
import threading
import unittest

from harness import FULL, Case, Guard, browse, browsing, folder, free_port, need, run, wait_until

try:
    import websockets
except ImportError:
    websockets = None


PING_PONG = '''protocol = """
protocol PingPong(role client, role server) {
  rec LOOP {
    choice at client {
      Ping(n: int) from client to server where n >= 0;
      Pong(n: int) from server to client;
      continue LOOP;
    } or {
      Quit() from client to server;
      Bye() from server to client;
    }
  }
}
"""
close-message = { client = "HTTP/1.1 400 Bad Request\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n" }
[listener.codec]
kind = "http"
session = "path:session"
[listener.codec.messages]
Ping = { pattern = "GET /{session}/ping/{n}" }
Pong = { pattern = "200", fields = { n = "header:X-Pong" } }
Quit = { pattern = "GET /{session}/quit" }
Bye = { pattern = "204" }
'''


class PongServer(http.server.BaseHTTPRequestHandler):
    """Answers `/SESSION/ping/N` with N, and `/SESSION/quit` with nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        *_, what, number = f"{self.path}/-".split("/")[:4]
        if what == "ping":
            self.send_response(200)
            self.send_header("X-Pong", number)
            self.send_header("Content-Length", "0")
        else:
            self.send_response(204)
        self.end_headers()


@contextlib.contextmanager
def pong_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), PongServer) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


class PingPong(Case):
    """The ping-pong of ECOOP'21 over HTTP: one session spans connections."""

    def guard(self, port):
        return Guard("pingpong", port, protocol=PING_PONG)

    @need("curl")
    def test_curl_plays_over_a_connection_for_each_ball(self):
        with pong_server() as port, self.guard(port) as guard:
            for session in ["a", "b"]:
                for number in range(20):
                    head = run("curl", "-s", "-S", "-i", f"http://127.0.0.1:{guard.port}/{session}/ping/{number}")
                    self.assertIn(b"X-Pong: %d\r\n" % number, head)
            self.assertIn(b"204", run("curl", "-s", "-S", "-i", f"http://127.0.0.1:{guard.port}/a/quit"))
            # That session is over, whatever connection comes with it; the other is not.
            self.assertIn(b"400 Bad", run("curl", "-s", "-S", "-i", f"http://127.0.0.1:{guard.port}/a/ping/1"))
            self.assertIn(b"X-Pong", run("curl", "-s", "-S", "-i", f"http://127.0.0.1:{guard.port}/b/ping/1"))
        self.assert_blamed(guard, "client")

    @need("wrk")
    def test_wrk_plays_many_games_at_once(self):
        with folder() as place, pong_server() as port, self.guard(port) as guard:
            (place / "play.lua").write_text(
                "local games = 0\nfunction setup(thread) thread:set('me', games) games = games + 1 end\n"
                "local ball = 0\nfunction request() ball = ball + 1\n"
                "return wrk.format('GET', '/game' .. me .. '-' .. (ball % 64) .. '/ping/' .. ball) end\n")
            told = run("wrk", "-t", 2, "-c", 16, "-d", "30s" if FULL else "3s", "--timeout", "20s", "-s", place / "play.lua",
                       f"http://127.0.0.1:{guard.port}/").decode()
            self.assertNotIn("Non-2xx", told)
            self.assertNotIn("Socket errors", told)
            self.assertGreater(int(re.search(r"(\d+) requests in", told).group(1)), 100, told)
        self.assert_innocent(guard, 16)

    @need("chromium")
    def test_a_browser_plays(self):
        page = (b"<!doctype html><body><script>for (let n = 0; n < 20; n++) { const r = new XMLHttpRequest();"
                b"r.open('GET', '/game/ping/' + n, false); r.send(); document.body.append(' ' + r.getResponseHeader('X-Pong')) }"
                b"</script>")

        class WithPage(PongServer):
            def do_GET(self):
                if "/page/" not in self.path:
                    return super().do_GET()
                self.send_response(200)
                self.send_header("X-Pong", self.path.rsplit("/", 1)[1])
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

        with folder() as place, http.server.ThreadingHTTPServer(("127.0.0.1", 0), WithPage) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            protocol = PING_PONG.replace('"GET /{session}/quit" }', '"GET /{session}/quit" }\nIcon = { pattern = "GET /favicon.ico", aside = true, from = "client" }')
            with Guard("pingpong", server.server_address[1], protocol=protocol.replace("/ping/{n}", "/{_}/{n}")) as guard:
                shown = browse(place, f"http://127.0.0.1:{guard.port}/first/page/0")
            server.shutdown()
        self.assertIn(b" 0 1 2 3 ", shown)
        self.assertIn(b" 18 19", shown)
        self.assert_innocent(guard)


def read_line(stream):
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


def read_exactly(stream, count):
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


class Sockets(socketserver.StreamRequestHandler):
    """A WebSocket server: what it hears, it says. Whatever else is asked for is a report of the page."""

    def handle(self):
        with contextlib.suppress(EOFError, OSError):
            while True:
                path = read_line(self.rfile).split(b" ")[1]
                headers = http.client.parse_headers(self.rfile)
                if headers.get("Upgrade", "").lower() != "websocket":
                    self.server.reports.append(path)
                    self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                key = headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                accept = base64.b64encode(hashlib.sha1(key).digest())
                self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                 b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
                return self.talk(path)

    def talk(self, path):
        while True:
            first, second = read_exactly(self.rfile, 2)
            length = second & 127
            if length > 125:
                length = int.from_bytes(read_exactly(self.rfile, 2 if length == 126 else 8), "big")
            mask = read_exactly(self.rfile, 4)
            heard = bytes(byte ^ mask[at % 4] for at, byte in enumerate(read_exactly(self.rfile, length)))
            if first & 15 == 8:
                self.wfile.write(bytes([0x88, len(heard)]) + heard)
                return
            said = heard.replace(b'"Say"', b'"Wrong"' if path == b"/wrong" else b'"Heard"')
            header = bytes([0x81, len(said)]) if len(said) < 126 else bytes([0x81, 126]) + len(said).to_bytes(2, "big")
            self.wfile.write(header + said)


CHAT = '''protocol = """
protocol Chat(role client, role server) {
  rec LOOP {
    Say(text: string) from client to server where text.size() < 1000;
    Heard(text: string) from server to client;
    continue LOOP;
  }
}
"""
[listener.codec]
kind = "websocket"
'''


class WebSocket(Case):
    @need("chromium")
    def test_a_browser_chats(self):
        """The page is a file; its sockets go through guards. The second server says what no message is."""
        script = """<!doctype html><body><script>
const say = (path, texts) => new Promise(done => {
  const heard = [], socket = new WebSocket('ws://127.0.0.1:PORT' + path);
  socket.onopen = () => socket.send(JSON.stringify({type: 'Say', text: texts[0]}));
  socket.onmessage = event => { heard.push(JSON.parse(event.data).text.length);
    if (heard.length < texts.length) socket.send(JSON.stringify({type: 'Say', text: texts[heard.length]})); else socket.close(1000); };
  socket.onclose = () => done(path + '=' + heard.join()); });
(async () => { for (const [path, texts] of [['/a', ['x', 'y'.repeat(500), '\\u{1f600}']], ['/b', ['z'.repeat(2000)]], ['/wrong', ['x']]])
  await fetch('http://127.0.0.1:DIRECT/report' + await say(path, texts), {mode: 'no-cors'}); })();
</script>"""
        with folder() as place, socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sockets) as server:
            server.daemon_threads, server.reports = True, []
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with Guard("chat", server.server_address[1], protocol=CHAT) as guard:
                script = script.replace("PORT", str(guard.port)).replace("DIRECT", str(server.server_address[1]))
                (place / "page.html").write_text(script)
                with browsing(place, (place / "page.html").as_uri()):
                    wait_until(lambda: len(server.reports) >= 3, "the end of all chats", 60)
            server.shutdown()
        # Compression must be off on the way: the server agrees to none. What breaks the protocol is closed without an answer.
        self.assertEqual([b"/report/a=1,500,2", b"/report/b=", b"/report/wrong="], server.reports)
        self.assertEqual([("client", "assertion"), ("server", "label")],
                         sorted((verdict["blame"], verdict["kind"]) for verdict in guard.verdicts))


UNLIMITED_CHAT = '''protocol = """
protocol Chat(role client, role server) {
  rec LOOP {
    Say(text: string) from client to server;
    Heard(text: string) from server to client;
    continue LOOP;
  }
}
"""
[listener.codec]
kind = "websocket"
leave = { client = "anytime", server = "anytime" }
'''


@unittest.skipIf(websockets is None, "not installed: websockets (PyPI)")
class Compressed(Case):
    """The library `websockets` compresses its messages unless it is told not to."""

    def test_compressed_messages_are_read_and_go_on(self):
        from websockets.sync.client import connect
        from websockets.sync.server import serve

        def answer(socket):
            for said in socket:
                socket.send(json.dumps({"type": "Heard", "text": json.loads(said)["text"]}))

        port = free_port()
        with serve(answer, "127.0.0.1", port) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with Guard("chat", port, protocol=UNLIMITED_CHAT) as guard:
                with connect(f"ws://127.0.0.1:{guard.port}") as client:
                    self.assertEqual(["permessage-deflate"], [extension.name for extension in client.protocol.extensions])
                    for number in range(200):
                        text = f"message {number} " + "and so on " * (number % 50)
                        client.send(json.dumps({"type": "Say", "text": text}))
                        self.assertEqual(text, json.loads(client.recv())["text"])
            self.assert_innocent(guard)
            with Guard("chat", port, protocol=UNLIMITED_CHAT) as guard:
                with contextlib.suppress(websockets.ConnectionClosed), connect(f"ws://127.0.0.1:{guard.port}") as client:
                    client.send(json.dumps({"type": "Shout", "text": "x" * 100}))
                    client.recv()
            self.assert_blamed(guard, "client")
            server.shutdown()
