"""Workers of `referee watch --nats` before nats-server: killed, added and stopped, they give each verdict once."""

import collections
import contextlib
import json
import random
import socket
import subprocess
import threading
import time

from harness import REFEREE, Case, folder, free_port, need, process

PROPERTIES = """
/// A request is answered once.
property once for each session {
  max X.([client -> worker : Request(id, ...)][worker -> client : Answer(id, ...)][worker -> client : Answer(id, ...)]ff and [_]X)
}
property small for each "/payload/id" { max X.([_ -> _ : Answer(size: size) when size > 990]ff and [_]X) }
property first { [client -> worker : Answer]ff }
property never { ff }
"""

PROTOCOL = """
protocol Work(role client, role worker) {
  rec LOOP {
    Request(id: int, size: int) from client to worker;
    Answer(id: int, size: int) from worker to client;
    continue LOOP;
  }
}
"""


DEADLINES = PROTOCOL.replace("from worker to client;", "from worker to client within 5s;")


class Nats:
    """As much of the protocol as is needed here."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.stream = self.socket.makefile("rb")
        self.stream.readline()
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB reply.> 1\r\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def ask(self, subject, value):
        body = json.dumps(value).encode()
        self.socket.sendall(b"PUB %s reply.1 %d\r\n%s\r\n" % (subject.encode(), len(body), body))
        while True:
            line = self.stream.readline().split()
            if line and line[0] in (b"MSG", b"HMSG"):
                body = self.stream.read(int(line[-1]) + 2)
                return json.loads(body[int(line[-2]) if line[0] == b"HMSG" else 0 :])
            if line and line[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")

    def api(self, call, **value):
        answer = self.ask(f"$JS.API.{call}", value)
        if "error" in answer:
            raise AssertionError(f"{call}: {answer['error']}")
        return answer

    def publish(self, events):
        """Without waiting for each: `last` tells when they are stored."""
        out = b"".join(b"PUB %s %d\r\n%s\r\n" % (subject, len(line), line) for subject, line in events)
        self.socket.sendall(out)

    def last(self, stream):
        return self.api(f"STREAM.INFO.{stream}")["state"]["last_seq"]

    def messages(self, stream):
        import base64

        for number in range(1, self.last(stream) + 1):
            yield base64.b64decode(self.api(f"STREAM.MSG.GET.{stream}", seq=number)["message"].get("data", ""))


def generate(seed, count, keys):
    """Requests and answers in sessions; now and then one answer too many."""
    chance = random.Random(seed)
    waiting = {}
    for number in range(count):
        key = chance.randrange(keys)
        size = chance.randrange(1000)
        if key in waiting and chance.random() < 0.97:
            label, id = "Answer", waiting.pop(key)
            if chance.random() < 0.05:
                waiting[key] = id
        else:
            label, id = "Request", number
            waiting[key] = id
        ends = ("client", "worker") if label == "Request" else ("worker", "client")
        event = {"session": f"s{key}", "from": ends[0], "to": ends[1], "label": label, "payload": {"id": id, "size": size}}
        yield f"events.{key % 4}".encode(), json.dumps(event).encode()


def timed(events, seed, late=0.0):
    """The same every ten milliseconds, up to `late` seconds out of order; the last an hour after all others, of a session of its own."""
    chance = random.Random(seed)
    start = 1_770_000_000.0
    placed = []
    for number, (subject, line) in enumerate(events):
        time = start + number / 100
        placed.append((time + chance.uniform(0, late), subject, dict(json.loads(line), time=round(time, 2))))
    placed.sort(key=lambda place: place[0])
    last = {"session": "last", "from": "client", "to": "worker", "label": "Request", "payload": {"id": 0, "size": 0}, "time": start + 1e5}
    return [(subject, json.dumps(event).encode()) for _, subject, event in [*placed, (0, b"events.0", last)]]


def verdict(line):
    value = json.loads(line)
    return (value.get("property"), value.get("session"), value.get("key"), value["event"], value["verdict"], value["got"])


@need("nats-server")
class Workers(Case):
    @contextlib.contextmanager
    def server(self):
        with folder() as place:
            port = free_port()
            # With one message more deadlines may pass than a message has room for.
            (place / "nats.conf").write_text("max_payload: 65536\n")
            arguments = ["-c", place / "nats.conf", "-a", "127.0.0.1", "-p", port, "-js", "-sd", place]
            with process("nats-server", *arguments, stderr=subprocess.DEVNULL, port=port):
                with Nats(port) as nats:
                    nats.api("STREAM.CREATE.EVENTS", name="EVENTS", subjects=["events.*"])
                    yield place, port, nats

    def worker(self, place, port, specification, *more, out):
        flag = "--protocol" if specification.suffix == ".scr" else "--property"
        command = [REFEREE, "watch", flag, specification, "--nats", f"nats://127.0.0.1:{port}", "--stream", "EVENTS"]
        command += ["--durable", "group", "--format", "json", "--lease", "1s", *more]
        with open(place / out, "ab") as told, open(place / "err", "ab") as said:
            child = subprocess.Popen([str(word) for word in command], stdout=told, stderr=said)
        # Whatever fails, no worker outlives its test.
        self.addCleanup(lambda: (child.kill(), child.wait()))
        return child

    def offline(self, place, specification, events, more=()):
        log = place / "events.jsonl"
        log.write_bytes(b"".join(line + b"\n" for _, line in events))
        flag = "--protocol" if specification.suffix == ".scr" else "--property"
        command = [REFEREE, "watch", flag, specification, "--format", "json", *more, log]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120)
        return [verdict(line) for line in done.stdout.splitlines()]

    def assert_once(self, place, nats, expected):
        """The stream of verdicts has every verdict once, those of a key in their order; the workers have printed them."""
        lines = [line for message in nats.messages("referee-group-verdicts") for line in message.splitlines()]
        got = [verdict(line) for line in lines]
        errors = (place / "err").read_text()
        self.assertGreater(len(expected), 20)
        wanted, found = collections.Counter(expected), collections.Counter(got)
        self.assertEqual(([], []), (list((wanted - found).items())[:5], list((found - wanted).items())[:5]), errors)
        for key in {found[1:3] for found in got}:
            self.assertEqual([f for f in expected if f[1:3] == key], [f for f in got if f[1:3] == key])
        printed = {verdict(line) for out in place.glob("out*") for line in out.read_bytes().splitlines()}
        self.assertEqual(set(expected), printed, errors)

    def turmoil(self, specification, name, seed, more=(), events=None, judging=()):
        with self.server() as (place, port, nats):
            (place / name).write_text(specification)
            specification = place / name
            events = events or list(generate(seed, 12_000, 300))
            expected, more = self.offline(place, specification, events, judging), [*more, *judging]
            chance = random.Random(seed)

            def publish():
                for start in range(0, len(events), 200):
                    nats.publish(events[start : start + 200])
                    time.sleep(0.1)

            publisher = threading.Thread(target=publish)
            publisher.start()
            workers = []
            for number in range(7):
                workers.append(self.worker(place, port, specification, *more, out=f"out{number}"))
                time.sleep(chance.uniform(0.1, 1.2))
                if len(workers) > 2 or chance.random() < 0.5:
                    victim = workers.pop(chance.randrange(len(workers)))
                    if chance.random() < 0.8:
                        victim.kill()
                    else:
                        victim.terminate()
                    victim.wait()
            publisher.join()
            while nats.last("EVENTS") < len(events):
                time.sleep(0.05)
            last = self.worker(place, port, specification, *more, "--until-end", out="out-last")
            self.assertIn(last.wait(60), (0, 1))
            for worker in workers:
                worker.terminate()
                self.assertIn(worker.wait(30), (0, 1))
            self.assert_once(place, nats, expected)

    def test_killed_and_added_workers_give_each_verdict_once(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                self.turmoil(PROPERTIES, "all.hml", seed)

    def test_sessions_of_a_protocol(self):
        self.turmoil(PROTOCOL, "work.scr", 7)

    def test_deadlines_pass_with_the_message_that_is_later(self):
        self.turmoil(DEADLINES, "work.scr", 13, events=timed(generate(13, 12_000, 300), 13))

    def test_messages_are_judged_in_the_order_of_their_times(self):
        events = timed(generate(17, 12_000, 300), 17, late=1.5)
        self.turmoil(PROPERTIES, "all.hml", 17, events=events, judging=["--reorder", "2s"])

    def test_messages_that_wait_are_judged_by_whoever_goes_on(self):
        with self.server() as (place, port, nats):
            specification = place / "p.hml"
            specification.write_text("property p { max Z.([_ -> _ : a]max X.([_ -> _ : b]ff and [_]X) and [_]Z) }")
            event = lambda label, time: (b"events.1", json.dumps({"from": "x", "label": label, "time": time}).encode())
            nats.publish([event("b", 1), event("a", 3), event("b", 2)])
            # Nothing is later than any of them by a second, and nothing was judged.
            self.assertEqual(3, self.worker(place, port, specification, "--until-end", "--reorder", "5s", out="out").wait(30))
            self.assertIn("3 events will be judged when later ones have come", (place / "err").read_text())
            nats.publish([event("c", 9)])
            self.assertEqual(3, self.worker(place, port, specification, "--until-end", "--reorder", "5s", out="out").wait(30))
            nats.publish([event("b", 10), event("c", 90)])
            self.assertEqual(1, self.worker(place, port, specification, "--until-end", "--reorder", "5s", out="out").wait(30))
            self.assertEqual([5], [json.loads(line)["line"] for line in (place / "out").read_bytes().splitlines()])

    def test_partitions_by_subject(self):
        # The subjects are by session, so only properties of sessions go with them.
        self.turmoil(PROPERTIES.replace('"/payload/id"', "session"), "by-session.hml", 11, ["--subjects", "events.{partition}", "--partitions", "4"])

    def test_a_group_has_one_specification(self):
        with self.server() as (place, port, nats):
            first, second = place / "first.hml", place / "second.hml"
            first.write_text("property p { [a -> b : c]ff }")
            second.write_text("property p { [a -> b : d]ff }")
            nats.publish([(b"events.1", b'{"from":"a","to":"b","label":"c"}\n')])
            self.assertEqual(1, self.worker(place, port, first, "--until-end", out="out1").wait(30))
            # What the group found, not only this worker.
            self.assertEqual(1, self.worker(place, port, first, "--until-end", out="out1").wait(30))
            self.assertEqual(2, self.worker(place, port, second, "--until-end", out="out2").wait(30))
            self.assertIn("another protocol or property", (place / "err").read_text())
            self.assertEqual(1, len((place / "out1").read_bytes().splitlines()))

    def test_what_was_discarded_is_not_guessed(self):
        with self.server() as (place, port, nats):
            specification = place / "p.hml"
            specification.write_text("property p { [a -> b : c]ff }")
            nats.publish([(b"events.1", b'{"from":"a","to":"b","label":"d"}')] * 10)
            self.assertEqual(0, self.worker(place, port, specification, "--until-end", out="out").wait(30))
            nats.api("STREAM.PURGE.EVENTS", keep=3)
            nats.publish([(b"events.1", b'{"from":"a","to":"b","label":"c"}')])
            self.assertEqual(2, self.worker(place, port, specification, "--until-end", out="out").wait(30))
            self.assertIn("begins with message 8", (place / "err").read_text())
