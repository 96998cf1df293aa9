"""Servers that nobody here wrote, probed: they are not blamed, known deviations are found, and wrong messages are refused."""

import importlib.util
import json
import pathlib
import subprocess
import threading
import unittest

from harness import REFEREE, Guard, folder, free_port, need, process, run
from test_mcp import npm, python
from test_mqtt import mosquitto
from test_postgres import BINARIES, postgres
from test_smtp import Controller, aiosmtpd, postfix

# aiosmtpd takes the chunk after a BDAT that it does not know for commands, as may any server that does not offer it.
WITHOUT_CHUNKING = ["--skip", "Bdat", "--skip", "BdatLast"]
EXAMPLES = pathlib.Path(__file__).parent / "../../examples"
ADDER = """protocol Adder(role client, role server) { rec MORE { choice at client {
  Add(left: int, right: int) from client to server;
  Sum(total: int) from server to client where total == left + right;
  continue MORE; } or { Bye() from client to server; } } }
"""


def probe(subject, port, *options, seconds=120):
    """The exit status, and what a probe of the server on `port` says."""
    command = [REFEREE, "probe", str(subject), "--connect", f"127.0.0.1:{port}", "--format", "json", "--quiet", "20ms",
               "--timeout", "2s", "--time", "10s", "--rate", "0"]
    done = subprocess.run([*command, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    if not done.stdout:
        raise AssertionError(f"{done.returncode}: {done.stderr.decode()}")
    return done.returncode, json.loads(done.stdout)


class Probed(unittest.TestCase):
    def assert_innocent(self, status, report, transitions):
        """Nothing was found, and `transitions` were taken: a probe that does nothing finds nothing, either."""
        self.assertIsNone(report["finding"], report)
        self.assertIn(status, [0, 3], report)
        self.assertGreaterEqual(report["transitions"]["covered"], transitions, report["uncovered"])
        for missing in report["uncovered"]:
            self.assertTrue(missing["reason"])


@need("redis-server")
class Redis(Probed):
    def test_redis_plays_its_role(self):
        port = free_port()
        with process("redis-server", "--port", port, "--save", "", port=port):
            self.assert_innocent(*probe("preset:redis", port, "--walks", "2"), 25)

    def test_redis_refuses_what_is_wrong(self):
        port = free_port()
        with process("redis-server", "--port", port, "--save", "", port=port):
            _, report = probe("preset:redis", port, "--mutate", "20", "--walks", "0")
        self.assertIsNone(report["finding"], report)


@need("memcached")
class Memcached(Probed):
    def test_memcached_plays_its_role(self):
        place, port = EXAMPLES / "memcached", free_port()
        with process("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, port=port):
            codec = ["--codec", place / "memcached.toml", "--data", place / "examples.toml"]
            self.assert_innocent(*probe(place / "memcached.scr", port, *codec), 14)


@need("mosquitto")
class Mosquitto(Probed):
    def test_mosquitto_plays_its_role(self):
        with folder() as place, mosquitto(place) as port:
            self.assert_innocent(*probe("preset:mqtt", port, "--attempts", "1", "--walks", "2"), 30)

    def test_the_second_duplicate_is_found(self):
        version = subprocess.run(["mosquitto", "-h"], stdout=subprocess.PIPE).stdout.decode()
        if "version 2.0.11" not in version:
            self.skipTest("mosquitto 2.0.11 is not installed")
        with folder() as place, mosquitto(place) as port:
            example = EXAMPLES / "mqtt-qos2"
            status, report = probe(example / "guard.toml", port, "--data", example / "examples.toml")
        self.assertEqual(1, status, report)
        finding = report["finding"]
        self.assertEqual(("server", True), (finding["verdict"]["blame"], finding["reproduced"]), finding)
        said = [line.split(": ")[1].split("(")[0] for line in finding["trace"]]
        self.assertEqual(
            ["Connect", "Connack", "Publish", "Pubrec", "Duplicate", "Pubrec", "Duplicate"], said, "nothing can be left out")


@unittest.skipIf(Controller is None, "not installed: aiosmtpd (PyPI)")
class Aiosmtpd(Probed):
    def test_aiosmtpd_plays_its_role_and_refuses_what_is_wrong(self):
        with aiosmtpd() as (_, port):
            status, report = probe("preset:smtp", port, "--mutate", "20", "--walks", "2", *WITHOUT_CHUNKING)
        self.assert_innocent(status, report, 35)
        reactions = {outcome["reaction"]["reaction"] for outcome in report["mutations"]}
        self.assertLessEqual(reactions, {"refused", "closed"}, report["mutations"])
        self.assertTrue(report["mutations"])


@need("postfix")
class Postfix(Probed):
    def test_postfix_plays_its_role(self):
        with folder() as place, postfix(place) as port:
            self.assert_innocent(*probe("preset:smtp", port, "--walks", "2"), 35)


@unittest.skipIf(not BINARIES, "not installed: postgresql")
class Postgres(Probed):
    def test_postgres_plays_its_role(self):
        with folder() as place, postgres(place) as (port, _):
            self.assert_innocent(*probe("preset:postgres", port, "--walks", "2"), 30)


class Mcp(Probed):
    """Servers of the Model Context Protocol, on their standard streams."""

    def probe(self, command, *options, seconds=200):
        arguments = [REFEREE, "probe", "preset:mcp-2025-11-25", "--format", "json", "--quiet", "300ms", "--timeout", "20s",
                     "--time", "60s", "--rate", "0", *map(str, options), "--", *command]
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
        if not done.stdout:
            raise AssertionError(f"{done.returncode}: {done.stderr.decode()}")
        return done.returncode, json.loads(done.stdout)

    def test_everything(self):
        command = npm("@modelcontextprotocol/server-everything")
        self.assert_innocent(*self.probe([*command, "stdio"], "--walks", "2"), 8)

    def test_files(self):
        with folder() as place:
            (place / "a").write_text("hello")
            call = {"jsonrpc": "2.0", "id": "{id}", "method": "tools/call",
                    "params": {"name": "read_text_file", "arguments": {"path": str(place / "a")}}}
            line = json.dumps(call).replace('"{id}"', "{id}") + "\n"
            (place / "tools.toml").write_text(f"[messages]\nCall = [{json.dumps(line)}]\n")
            command = npm("@modelcontextprotocol/server-filesystem")
            status, report = self.probe([*command, place], "--walks", "2", "--data", place / "tools.toml")
        self.assert_innocent(status, report, 7)

    def test_a_clock(self):
        status, report = self.probe([python("mcp-server-time")], "--walks", "2", "--mutate", "4")
        self.assert_innocent(status, report, 6)


@unittest.skipIf(importlib.util.find_spec("websockets") is None, "not installed: websockets, from PyPI")
class WebSockets(Probed):
    def test_a_server_of_the_library_websockets(self):
        from websockets.sync.server import serve

        def answer(socket):
            for text in socket:
                message = json.loads(text)
                if message["type"] == "Bye":
                    return
                socket.send(json.dumps({"type": "Sum", "total": message["left"] + message["right"] + self.off}))

        with folder() as place, serve(answer, "127.0.0.1", 0) as server:
            (place / "adder.scr").write_text(ADDER)
            (place / "codec.toml").write_text('kind = "websocket"\n')
            threading.Thread(target=server.serve_forever, daemon=True).start()
            port = server.socket.getsockname()[1]
            self.off = 0
            self.assert_innocent(*probe(place / "adder.scr", port, "--codec", place / "codec.toml", "--walks", "2"), 3)
            self.off = 1
            status, report = probe(place / "adder.scr", port, "--codec", place / "codec.toml", "--walks", "2")
            self.assertEqual((1, "assertion"), (status, report["finding"]["verdict"]["kind"]), report)
            server.shutdown()


@need("openssl")
class Tls(Probed):
    def test_a_server_behind_tls(self):
        with folder() as place:
            run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", place / "key.pem", "-out", place / "certificate.pem")
            (place / "adder.scr").write_text(ADDER)
            mock = subprocess.Popen([REFEREE, "mock", place / "adder.scr"], stdout=subprocess.PIPE)
            upstream = int(mock.stdout.readline().decode().rsplit(":", 1)[1])
            tls = f'tls = {{ certificate = "{place}/certificate.pem", key = "{place}/key.pem" }}'
            protocol = f'protocol = "{place}/adder.scr"\ncodec = {{ kind = "json", framing = "lines" }}'
            try:
                with Guard("adder", upstream, tls, protocol) as between:
                    trusting = ["--tls", "--tls-ca", place / "certificate.pem", "--tls-name", "localhost"]
                    self.assert_innocent(*probe(place / "adder.scr", between.port, "--walks", "2", *trusting), 3)
                    with self.assertRaisesRegex(AssertionError, "invalid peer certificate"):
                        probe(place / "adder.scr", between.port, *trusting[:3], "--tls-name", "other.test")
                    (place / "guard.toml").write_text(
                        f'[[listener]]\nlisten = "127.0.0.1:0"\nupstream = "127.0.0.1:{between.port}"\n{protocol}\n'
                        f'upstream-tls = {{ ca = "{place}/certificate.pem", server-name = "localhost" }}\n')
                    self.assert_innocent(*probe(place / "guard.toml", between.port, "--walks", "2"), 3)
            finally:
                mock.kill()
                mock.wait()
                mock.stdout.close()
