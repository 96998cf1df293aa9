"""Servers that nobody here wrote, probed: they are not blamed, known deviations are found, and wrong messages are refused."""

import json
import pathlib
import subprocess
import unittest

from harness import REFEREE, folder, free_port, need, process
from test_mqtt import mosquitto
from test_postgres import BINARIES, postgres
from test_smtp import Controller, aiosmtpd, postfix

# aiosmtpd takes the chunk after a BDAT that it does not know for commands, as may any server that does not offer it.
WITHOUT_CHUNKING = ["--skip", "Bdat", "--skip", "BdatLast"]
EXAMPLES = pathlib.Path(__file__).parent / "../../examples"


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
