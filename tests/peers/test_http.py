"""nginx and Python's server behind a guard; wrk, curl, a browser and a Python client before it."""

import contextlib
import hashlib
import http.client
import http.server
import random
import re
import socket
import socketserver
import threading

from harness import FULL, Case, Guard, browse, folder, free_port, need, process, run

SIZES = [0, 1, 1000, 65_536, 3_000_000]


@contextlib.contextmanager
def nginx(place):
    port = free_port()
    site = place / "site"
    site.mkdir()
    for size in SIZES:
        (site / f"{size}.bin").write_bytes(random.Random(size).randbytes(size))
    (site / "text.txt").write_text("a line that compresses well\n" * 10_000)
    (site / "page.html").write_text(
        "<!doctype html><title>t</title><body><img src=/1000.bin><script>"
        "for (const path of ['/hello', '/text.txt', '/missing', '/moved', '/nothing']) { const r = new XMLHttpRequest();"
        "r.open('GET', path, false); r.send(); document.body.append(` ${path}=${r.status},${r.responseText.length}`) }</script>"
    )
    (place / "nginx.conf").write_text(f"""
worker_processes 1; daemon off; pid {place}/pid; error_log {place}/log crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi; client_max_body_size 64m; keepalive_requests 100000000;
  absolute_redirect off;
  types {{ text/html html; text/plain txt; application/octet-stream bin; }}
  gzip on; gzip_types text/plain;
  server {{
    listen 127.0.0.1:{port}; root {site};
    location /hello {{ return 200 "hello, world\\n"; }}
    location /moved {{ return 302 /1000.bin; }}
    location /nothing {{ return 204; }}
  }}
}}
""")
    site.chmod(0o755)
    with process("nginx", "-c", place / "nginx.conf", port=port):
        yield port


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was sent: with a length, in chunks, or until it closes."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def answer(self):
        body = self.body() or self.path.encode() * 100
        self.send_response(200)
        if self.path.startswith("/chunked"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 1000):
                part = body[start : start + 1000]
                self.wfile.write(b"%x;note=1\r\n%b\r\n" % (len(part), part))
            self.wfile.write(b"0\r\nTrailer: yes\r\n\r\n")
        elif self.path.startswith("/close"):
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer


@contextlib.contextmanager
def python_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def strip(head_and_body):
    """Without what differs from one moment, or from one port, to the next."""
    return re.sub(rb"(?mi)^(Date:|Location: http://127).*\r\n", b"", head_and_body)


@need("nginx")
class Nginx(Case):
    @need("curl")
    def test_curl_gets_what_it_gets_without_a_guard(self):
        requests = [
            ["/page.html"], ["-I", "/page.html"], ["/missing"], ["-L", "/moved"], ["/nothing"], ["--http1.0", "/page.html"],
            ["-r", "100-199", "/65536.bin"], ["-r", "0-9,20-29", "/65536.bin"], ["-H", "Connection: close", "/1.bin"],
            ["-H", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT", "/1000.bin"],
            ["-H", "Accept-Encoding: gzip", "/text.txt"], ["-X", "POST", "-d", "a=b", "/hello"],
            ["-X", "DELETE", "/1.bin"], ["-X", "OPTIONS", "/1.bin"], ["--http2", "/1.bin"], ["-H", "X-Long: " + "y" * 7000, "/1.bin"],
            ["-H", "Host: other.test", "/hello?a=b&c=%20#f"],
        ]
        with folder() as place, nginx(place) as port, Guard("http", port) as guard:
            for *options, path in requests + [[f"/{size}.bin"] for size in SIZES]:
                direct, guarded = (
                    strip(run("curl", "-s", "-i", "-S", *options, f"http://127.0.0.1:{to}{path}")) for to in (port, guard.port)
                )
                # The parts of a multipart answer are divided by a counter.
                direct, guarded = (re.sub(rb"\d{20}", b"N", text) for text in (direct, guarded))
                self.assertEqual(direct, guarded, (options, path))
            # Many in one connection, and many connections at a time.
            names = [f"http://127.0.0.1:{guard.port}/{size}.bin" for size in SIZES] * 4
            expected = hashlib.sha256(b"".join(random.Random(size).randbytes(size) for size in SIZES) * 4).digest()
            self.assertEqual(expected, hashlib.sha256(run("curl", "-s", "-S", *names)).digest())
            outputs = [word for number, name in enumerate(names) for word in ("-o", place / f"{number}.out", name)]
            run("curl", "-s", "-S", "-Z", *outputs)
            for number, size in enumerate(SIZES * 4):
                self.assertEqual(random.Random(size).randbytes(size), (place / f"{number}.out").read_bytes())
        self.assert_innocent(guard, len(requests))

    @need("wrk")
    def test_wrk_sees_no_error(self):
        with folder() as place, nginx(place) as port, Guard("http", port) as guard:
            for path, connections in [("/hello", 16), ("/65536.bin", 16), ("/hello", 128)]:
                told = run("wrk", "-t", 2, "-c", connections, "-d", "30s" if FULL else "3s", "--timeout", "20s",
                           f"http://127.0.0.1:{guard.port}{path}").decode()
                self.assertNotIn("Non-2xx", told)
                self.assertNotIn("Socket errors", told)
                self.assertGreater(int(re.search(r"(\d+) requests in", told).group(1)), 100, told)
        self.assert_innocent(guard, 16 + 16 + 128)

    @need("chromium")
    def test_a_browser_shows_the_page(self):
        with folder() as place, nginx(place) as port, Guard("http", port) as guard:
            page = browse(place, f"http://127.0.0.1:{guard.port}/page.html")
        for shown in [b" /hello=200,13 ", b" /text.txt=200,280000 ", b" /missing=404,", b" /moved=200,", b" /nothing=204,0"]:
            self.assertIn(shown, page)
        self.assert_innocent(guard)


class Python(Case):
    @need("curl")
    def test_curl_sends_bodies_of_every_kind(self):
        with folder() as place, python_server() as port, Guard("http", port) as guard:
            for size in SIZES:
                body = random.Random(size).randbytes(size)
                (place / "body").write_bytes(body)
                expected = body
                for path in ["/plain", "/chunked", "/close"]:
                    for options in [["--data-binary", f"@{place}/body"], ["-T", f"{place}/body"],
                                    ["-H", "Transfer-Encoding: chunked", "--data-binary", f"@{place}/body"],
                                    ["-H", "Expect: 100-continue", "--data-binary", f"@{place}/body"], ["-F", f"file=@{place}/body"]]:
                        got = run("curl", "-s", "-S", "--expect100-timeout", "20", *options, f"http://127.0.0.1:{guard.port}{path}")
                        if options[0] == "-F":
                            self.assertIn(body, got)
                        else:
                            self.assertEqual(expected or path.encode() * 100, got, (size, path, options))
        self.assert_innocent(guard, len(SIZES) * 15)

    def test_requests_sent_ahead_are_answered_in_order(self):
        with python_server() as port, Guard("http", port) as guard:
            with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                paths = [f"/{kind}/{number}" for number in range(100) for kind in ("plain", "chunked")]
                client.sendall(b"".join(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path.encode() for path in paths))
                client.shutdown(socket.SHUT_WR)
                stream = client.makefile("rb")
                for path in paths:
                    self.assertEqual(path.encode() * 100, response(stream))
        self.assert_innocent(guard)

    def test_a_wrong_client_is_stopped_and_blamed(self):
        for wrong in [
            b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            b"GET / HTTP/1.1\r\nHost : h\r\n\r\n",
            b"EHLO client.test\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ]:
            with self.subTest(wrong=wrong), python_server() as port:
                farewell = 'close-message = { client = "HTTP/1.1 400 Bad Request\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n" }'
                with Guard("http", port, farewell) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        client.sendall(wrong)
                        self.assertTrue(client.makefile("rb").read().startswith(b"HTTP/1.1 400 "))
                    again = http.client.HTTPConnection("127.0.0.1", guard.port, timeout=20)
                    again.request("GET", "/x")
                    self.assertEqual(b"/x" * 100, again.getresponse().read())
                    again.close()
                self.assert_blamed(guard, "client")

    def test_a_wrong_server_is_stopped_and_blamed(self):
        for reply in [
            b"220 mail ESMTP\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
        ]:
            class Server(socketserver.StreamRequestHandler):
                def handle(self):
                    while self.rfile.readline().strip():
                        pass
                    self.wfile.write(reply)
                    self.rfile.read()

            with self.subTest(reply=reply), socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                with Guard("http", server.server_address[1]) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                        self.assertNotIn(b"forged", client.makefile("rb").read())
                server.shutdown()
                self.assert_blamed(guard, "server")


def response(stream):
    """The body of the next response."""
    headers = http.client.parse_headers(stream) if stream.readline().startswith(b"HTTP/1.1 200") else {}
    if length := headers.get("Content-Length"):
        return stream.read(int(length))
    parts = []
    while size := int(stream.readline().split(b";")[0], 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass
    return b"".join(parts)
