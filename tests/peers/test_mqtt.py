"""mosquitto behind a guard; paho-mqtt, mosquitto's own clients and raw packets before it."""

import contextlib
import pathlib
import re
import socket
import struct
import subprocess
import threading
import time
import unittest

from harness import FULL, Case, Guard, folder, free_port, need, process, run
from readers import compare

try:
    import paho.mqtt.client as paho
except ImportError:
    paho = None

EXAMPLE = pathlib.Path(__file__).parent / "../../examples/mqtt-qos2"


@contextlib.contextmanager
def mosquitto(place, log=subprocess.DEVNULL):
    port = free_port()
    (place / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type all\nlog_dest stderr\nmax_inflight_messages 100\n")
    with process("mosquitto", "-c", place / "mosquitto.conf", port=port, stderr=log):
        yield port


def text(words):
    return struct.pack(">H", len(words)) + words


def packet(first, content=b""):
    length, left = b"", len(content)
    while True:
        left, byte = left >> 7, left & 127
        length += bytes([byte | (128 if left else 0)])
        if not left:
            return bytes([first]) + length + content


def connect(version=4, name=b"peer"):
    return packet(0x10, text(b"MQTT") + bytes([version, 2]) + struct.pack(">H", 60) + (b"\0" if version == 5 else b"") + text(name))


def publish(topic, content, qos=0, number=1, again=False):
    return packet(0x30 | qos << 1 | again << 3, text(topic) + (struct.pack(">H", number) if qos else b"") + content)


def receive(client):
    """The next packet: its first byte and its content."""
    def exactly(count):
        data = b""
        while len(data) < count:
            part = client.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    first, length, shift = exactly(1)[0], 0, 0
    while True:
        byte = exactly(1)[0]
        length, shift = length | (byte & 127) << shift, shift + 7
        if byte < 128:
            return first, exactly(length)


SESSIONS = [
    connect() + publish(b"a/b", b"x") + packet(0xC0) + packet(0xE0),
    connect() + packet(0x82, b"\0\1" + text(b"a/#") + b"\2") + publish(b"a/b", b"y" * 200, 1) + packet(0xE0),
    connect() + publish(b"c", b"z", 2, 7) + packet(0x62, b"\0\7") + packet(0xE0),
    connect(5) + packet(0x82, b"\0\1\0" + text(b"a/b") + b"\0") + packet(0xA2, b"\0\2\0" + text(b"a/b")) + packet(0x30, text(b"a/b") + b"\0x") + packet(0xE0),
]
HOSTILE = [
    connect() + connect() + publish(b"a", b"x"), publish(b"a", b"x"), connect() + b"\x30\x80\x80\x80\x80\x01" + publish(b"a", b"x"), connect() + b"\x30\xff\xff\xff\x7f",
    connect() + b"\x30\x85\x00" + text(b"a") + b"x" + publish(b"a", b"y"), connect() + packet(0x36, text(b"a") + b"\0\1x") + publish(b"a", b"y"),
    connect() + packet(0x80, b"\0\1" + text(b"a") + b"\0"), connect() + packet(0x30, b"\0\xffab") + publish(b"a", b"y"), connect() + packet(0, b""), connect() + publish(b"\xff", b"x"),
]


@need("mosquitto")
class Mosquitto(Case):
    def test_both_read_the_same(self):
        with folder() as place:
            log = place / "log"
            seen = 0

            def acted():
                nonlocal seen
                time.sleep(0.01)
                lines = log.read_text(errors="replace").splitlines() if log.exists() else []
                before, seen = seen, sum("Received PUBLISH from" in line for line in lines)
                if len(lines) > 5000:
                    log.write_text("")
                    seen = 0
                return max(0, (seen or before) - before)

            with open(log, "a", encoding="utf-8") as stderr, mosquitto(place, stderr) as port:
                compare(self, "mqtt", (port, acted), ["Publish"], SESSIONS, HOSTILE, [publish(b"a", b"x"), publish(b"b", b"", 1), packet(0xC0), packet(0xE0), b"\0", b"\x80", connect()])

    @unittest.skipIf(paho is None, "not installed: paho-mqtt (PyPI)")
    def test_paho_publishes_and_subscribes_with_every_quality_of_service(self):
        count = 500 if FULL else 50
        for version in [paho.MQTTv311, paho.MQTTv5]:
            with folder() as place, mosquitto(place) as port, Guard("mqtt", port) as guard:
                heard, subscribed, done = [], threading.Event(), threading.Event()

                def on_message(client, _, message):
                    heard.append((message.topic, message.payload))
                    if len(heard) == 3 * count:
                        done.set()

                client = paho.Client(paho.CallbackAPIVersion.VERSION2, client_id="peer", protocol=version)
                client.will_set("will", b"gone", 1)
                client.on_message = on_message
                client.on_subscribe = lambda *_: subscribed.set()
                client.connect("127.0.0.1", guard.port)
                client.loop_start()
                client.subscribe([("test/#", 2), ("other/+/x", 1)])
                self.assertTrue(subscribed.wait(20))
                sent = [(f"test/{qos}/{number}", b"p" * number) for qos in range(3) for number in range(count)]
                for topic, content in sent:
                    client.publish(topic, content, int(topic.split("/")[1]))
                self.assertTrue(done.wait(30), len(heard))
                client.unsubscribe("test/#")
                client.disconnect()
                client.loop_stop()
                self.assertEqual(sorted(sent), sorted(heard))
            self.assert_innocent(guard)

    @need("mosquitto_pub", "mosquitto_sub")
    def test_mosquittos_own_clients(self):
        with folder() as place, mosquitto(place) as port, Guard("mqtt", port) as guard:
            for version in ["311", "5"]:
                where = ["-h", "127.0.0.1", "-p", guard.port, "-V", version]
                listener = subprocess.Popen([str(word) for word in ["mosquitto_sub", *where, "-t", "a/#", "-C", 3, "-q", 2]], stdout=subprocess.PIPE)
                time.sleep(0.5)
                for qos in range(3):
                    run("mosquitto_pub", *where, "-t", f"a/{qos}", "-m", f"message {qos}", "-q", qos)
                told, _ = listener.communicate(timeout=20)
                self.assertEqual([b"message 0", b"message 1", b"message 2"], sorted(told.splitlines()))
        self.assert_innocent(guard, 2)

    def test_wrong_clients_are_stopped_and_blamed(self):
        with folder() as place, mosquitto(place) as port:
            for wrong in [publish(b"a", b"x"), connect() + connect(), connect() + packet(0x36, text(b"a") + b"\0\1x"), connect() + packet(0x80, b"\0\1" + text(b"a") + b"\0"),
                          connect() + b"\x30\xff\xff\xff\xff\x01", connect() + packet(0x20, b"\0\0"), b"GET / HTTP/1.1\r\n\r\n"]:
                with self.subTest(wrong=wrong), Guard("mqtt", port) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        client.sendall(wrong)
                        with contextlib.suppress(OSError):
                            while client.recv(1000):
                                pass
                self.assert_blamed(guard, "client")

    def test_the_broker_is_blamed_that_disconnects_on_a_duplicate(self):
        # examples/mqtt-qos2: section 4.3.3 of the standard lets a sender repeat a PUBLISH until it has heard PUBREC.
        codec = (EXAMPLE / "guard.toml").read_text().split("[listener.codec]")[1]
        protocol = f'protocol = "{(EXAMPLE / "exactly-once.scr").resolve()}"\n[listener.codec]{codec}'
        with folder() as place, mosquitto(place) as port, Guard("qos2", port, protocol=protocol) as guard:
            with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                client.sendall(connect(5, b"exactly-once"))
                self.assertEqual(0x20, receive(client)[0])
                answers = []
                with contextlib.suppress(EOFError):
                    for again in [False, True, True]:
                        client.sendall(packet(0x34 | again << 3, text(b"topic") + b"\0\1\0once"))
                        answers.append(receive(client)[0])
        version = subprocess.run(["mosquitto", "-h"], stdout=subprocess.PIPE, check=False).stdout
        if not re.search(rb"version 2\.0\.(\d|1[01])\b", version):
            self.skipTest("this mosquitto keeps to the standard")
        self.assertEqual([0x50, 0x50], answers)
        self.assert_blamed(guard, "server")
