"""Postfix and aiosmtpd behind a guard; smtplib, swaks and Postfix before it."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import shutil
import smtplib
import socket
import socketserver
import ssl
import subprocess
import threading
import unittest

from harness import FULL, Case, Guard, folder, free_port, listens, need, run, wait_until

try:
    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import AuthResult
except ImportError:
    Controller = None

MAILS = 1000 if FULL else 100
# swaks sends one mail in each process.
SWAKS = 1000 if FULL else 10
MARK = b"X-Peers: begin"
# Postfix adds headers that are missing; these are there.
BEGIN = MARK + b"\r\nFrom: a@client.test\r\nDate: Sun, 15 Nov 2026 12:00:00 +0000\r\nMessage-Id: <1@client.test>\r\n"


def mails(count):
    """Bodies that a relay could get wrong: dots, empty lines, 8-bit bytes, long lines; the same in every run."""
    rng = random.Random(20)
    for number in range(count):
        lines = [b"Subject: mail %d" % number, b""]
        for _ in range(rng.choice([0, 1, 3, 20, 200])):
            word = rng.choice([b"", b".", b"..", b".QUIT", b"MAIL FROM:<x@y>", b"250 ok", bytes(range(128, 256)), b"a" * 900])
            lines.append(word + b" %d" % rng.randrange(1000) if rng.random() < 0.5 else word)
        yield BEGIN + b"\r\n".join(lines) + b"\r\n"


def send(port, count, recipient="someone@peers.test", per_session=50):
    """Sends `count` mails with smtplib, and asks for other things besides."""
    pending = list(mails(count))
    for start in range(0, count, per_session):
        with smtplib.SMTP("127.0.0.1", port, timeout=60) as client:
            client.ehlo("client.test")
            client.noop()
            client.vrfy("someone")
            for body in pending[start : start + per_session]:
                client.sendmail("sender@client.test", [recipient], body, mail_options=["BODY=8BITMIME"])
            client.mail("sender@client.test")
            client.rset()


def send_with_swaks(place, port, count, recipients="c@d.test,e@d.test"):
    """Sends `count` mails with swaks, several at a time."""

    def send_one(numbered):
        number, body = numbered
        mail = place / f"{port}-{number}.eml"
        # swaks doubles the dots itself, and wants the lines of Unix.
        mail.write_bytes(body.replace(b"\r\n", b"\n"))
        run("swaks", "--server", f"127.0.0.1:{port}", "--from", "a@b.test", "--to", recipients, "--helo", "client.test",
            "--data", f"@{mail}", "--silent", "2")
        mail.unlink()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in pool.map(send_one, enumerate(mails(count))):
            pass


@contextlib.contextmanager
def greeted(port):
    """A connection on which both have said hello, and the lines that come next."""
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        lines = client.makefile("rb")
        hello = lines.readline()
        assert hello.startswith(b"220"), hello
        client.sendall(b"EHLO c\r\n")
        while lines.readline()[3:4] == b"-":
            pass
        yield client, lines


class Stored:
    """A handler of aiosmtpd that keeps what arrives."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):
        if b"refuse this" in envelope.original_content:
            return "554 refused"
        self.mails.append((envelope.mail_from, tuple(envelope.rcpt_tos), envelope.original_content))
        return "250 stored"

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address.startswith("nobody"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 ok"


@contextlib.contextmanager
def aiosmtpd(**options):
    handler, port = Stored(), free_port()
    controller = Controller(handler, hostname="127.0.0.1", port=port, data_size_limit=1 << 26, **options)
    controller.start()
    try:
        yield handler, port
    finally:
        controller.stop()


@unittest.skipIf(Controller is None, "not installed: aiosmtpd (PyPI)")
class Aiosmtpd(Case):
    def test_smtplib_mails_arrive_as_without_a_guard(self):
        with aiosmtpd() as (direct, port):
            send(port, MAILS)
        with aiosmtpd() as (guarded, port), Guard("smtp", port) as guard:
            send(guard.port, MAILS)
        self.assert_innocent(guard)
        self.assertEqual(MAILS, len(direct.mails))
        self.assertEqual(direct.mails, guarded.mails)

    def test_a_large_mail(self):
        body = BEGIN + b"\r\n" + (b"x" * 70 + b"\r\n") * 50_000
        with aiosmtpd() as (guarded, port), Guard("smtp", port) as guard:
            with smtplib.SMTP("127.0.0.1", guard.port, timeout=60) as client:
                client.sendmail("a@b.test", ["c@d.test"], body)
        self.assert_innocent(guard)
        self.assertEqual([body], [content for _, _, content in guarded.mails])

    def test_refusals_are_nobodys_fault(self):
        with aiosmtpd() as (stored, port), Guard("smtp", port) as guard:
            with smtplib.SMTP("127.0.0.1", guard.port, timeout=60) as client:
                refused = client.sendmail("a@b.test", ["nobody@d.test", "some@d.test"], b"hello\r\n")
                self.assertEqual(["nobody@d.test"], list(refused))
                with self.assertRaises(smtplib.SMTPRecipientsRefused):
                    client.sendmail("a@b.test", ["nobody@d.test"], b"hello\r\n")
                with self.assertRaises(smtplib.SMTPDataError):
                    client.sendmail("a@b.test", ["some@d.test"], b"refuse this\r\n")
                client.sendmail("a@b.test", ["some@d.test"], b"again\r\n")
        self.assert_innocent(guard)
        self.assertEqual([b"hello\r\n", b"again\r\n"], [content for _, _, content in stored.mails])

    def test_authentication(self):
        def decide(server, session, envelope, mechanism, data):
            return AuthResult(success=getattr(data, "password", b"") == b"right", handled=False)

        options = {"authenticator": decide, "auth_require_tls": False}
        with aiosmtpd(**options) as (_, port), Guard("smtp", port) as guard:
            for mechanism in ["auth_plain", "auth_login"]:
                with smtplib.SMTP("127.0.0.1", guard.port, timeout=60) as client:
                    client.ehlo()
                    client.user, client.password = "someone", "right"
                    name = mechanism.removeprefix("auth_").upper()
                    for initial in [True, False]:
                        with contextlib.suppress(smtplib.SMTPResponseException):
                            client.auth(name, getattr(client, mechanism), initial_response_ok=initial)
            with smtplib.SMTP("127.0.0.1", guard.port, timeout=60) as client:
                with self.assertRaises(smtplib.SMTPAuthenticationError):
                    client.login("someone", "wrong")
        self.assert_innocent(guard, 3)

    def test_a_server_that_has_waited_for_long_says_so(self):
        class Server(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(b"220 hello\r\n")
                self.rfile.readline()
                self.wfile.write(b"250 hello\r\n421 4.4.2 timeout exceeded\r\n")

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with Guard("smtp", server.server_address[1]) as guard:
                with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                    client.sendall(b"EHLO c\r\n")
                    self.assertTrue(client.makefile("rb").read().endswith(b"421 4.4.2 timeout exceeded\r\n"))
            server.shutdown()
        self.assert_innocent(guard)

    @need("swaks")
    def test_swaks_mails_arrive_as_without_a_guard(self):
        with folder() as place, aiosmtpd() as (direct, port), aiosmtpd() as (guarded, behind):
            send_with_swaks(place, port, SWAKS)
            with Guard("smtp", behind) as guard:
                send_with_swaks(place, guard.port, SWAKS)
        self.assert_innocent(guard, SWAKS)
        self.assertEqual(SWAKS, len(direct.mails))
        self.assertEqual(sorted(direct.mails), sorted(guarded.mails))

    def test_wrong_clients_are_stopped_and_blamed(self):
        for wrong in [
            [b"EHLO c\r\n", b"RCPT TO:<c@d>\r\n"],
            [b"EHLO c\r\n", b"MAIL FROM:<a@b>\r\n", b"DATA\r\n"],
            [b"EHLO c\r\n", b"MAIL FROM:<a@b>\r\n", b"MAIL FROM:<c@d>\r\n"],
            [b"MAIL FROM:<a@b>\r\n"],
            [b"GET / HTTP/1.1\r\n"],
            [b"EHLO c\r\n", b"\x16\x03\x01\x02\x00\x01\r\n"],
        ]:
            with self.subTest(wrong=wrong), aiosmtpd() as (stored, port):
                farewell = 'close-message = { client = "451 4.3.0 protocol violation\\r\\n" }'
                with Guard("smtp", port, farewell) as guard:
                    with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                        lines = client.makefile("rb")
                        self.assertTrue(lines.readline().startswith(b"220"))
                        for line in wrong[:-1]:
                            client.sendall(line)
                            while lines.readline()[3:4] == b"-":
                                pass
                        client.sendall(wrong[-1])
                        self.assertEqual(b"451 4.3.0 protocol violation\r\n", lines.read())
                    # Others are served.
                    send(guard.port, 1)
                self.assert_blamed(guard, "client")
                self.assertEqual(1, len(stored.mails))

    def test_commands_smuggled_behind_starttls_never_arrive(self):
        # aiosmtpd without TLS refuses; what came ahead of the refusal is then a command like any other.
        with aiosmtpd() as (stored, port), Guard("smtp", port) as guard:
            with greeted(guard.port) as (client, lines):
                client.sendall(b"STARTTLS\r\nNOOP\r\nQUIT\r\n")
                self.assertEqual([b"454", b"250", b"221"], [line[:3] for line in lines])
        self.assert_innocent(guard)

    def test_a_wrong_server_is_stopped_and_blamed(self):
        # The first one closes instead of answering.
        for replies in [[b"220 hello\r\n", None], [b"HTTP/1.1 400 Bad Request\r\n"], [b"220 hello\r\n", b"354 go\r\n"], [b"220 hello\r\n", b"250-a\r\n999 b\r\n"]]:
            class Server(socketserver.StreamRequestHandler):
                def handle(self):
                    for reply in replies:
                        if reply is None:
                            return
                        self.wfile.write(reply)
                        self.rfile.readline()

            with self.subTest(replies=replies), socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
                threading.Thread(target=server.serve_forever, daemon=True).start()
                with Guard("smtp", server.server_address[1]) as guard:
                    with self.assertRaises((smtplib.SMTPException, OSError)):
                        with smtplib.SMTP("127.0.0.1", guard.port, timeout=20) as client:
                            client.ehlo_or_helo_if_needed()
                server.shutdown()
                self.assert_blamed(guard, "server")


@contextlib.contextmanager
def postfix(place, relay=None, **more):
    """Postfix that delivers to `someone@peers.test`, and passes on what is for `relay.test` by way of port `relay`."""
    port, home = free_port(), place / "etc"
    for name in ["etc", "queue", "data", "mail"]:
        (place / name).mkdir()
    shutil.chown(place / "data", "postfix")
    shutil.chown(place / "mail", "nobody")
    settings = {
        "compatibility_level": "3.6",
        "queue_directory": place / "queue",
        "data_directory": place / "data",
        "maillog_file": place / "log",
        "maillog_file_prefixes": place,
        "inet_interfaces": "127.0.0.1",
        "inet_protocols": "ipv4",
        "myhostname": "mx.peers.test",
        "mydestination": "",
        "virtual_mailbox_domains": "peers.test",
        "virtual_mailbox_maps": "static:all/",
        "virtual_mailbox_base": place / "mail",
        "virtual_uid_maps": "static:65534",
        "virtual_gid_maps": "static:65534",
        "virtual_mailbox_limit": "0",
        "smtpd_peername_lookup": "no",
        "smtpd_tls_security_level": "may",
        "smtpd_tls_cert_file": "/etc/ssl/certs/ssl-cert-snakeoil.pem",
        "smtpd_tls_key_file": "/etc/ssl/private/ssl-cert-snakeoil.key",
        "smtpd_client_connection_rate_limit": "0",
        "mynetworks": "127.0.0.0/8",
        "always_add_missing_headers": "no",
        "alias_maps": "",
        "alias_database": "",
        "disable_dns_lookups": "yes",
        # Pipelining is what the relay below is for; a cache of connections makes long sessions.
        "smtp_connection_cache_on_demand": "yes",
        **more,
    }
    if relay is not None:
        (home / "transport").write_text(f"/@relay\\.test$/ smtp:[127.0.0.1]:{relay}\n")
        (home / "generic").write_text("/^(.*)@relay\\.test$/ ${1}@peers.test\n")
        settings["transport_maps"] = f"regexp:{home}/transport"
        settings["smtp_generic_maps"] = f"regexp:{home}/generic"
        settings["relay_domains"] = "relay.test"
    (home / "main.cf").write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    # Debian's services, none in a jail, and SMTP on our port.
    services = pathlib.Path("/usr/share/postfix/master.cf.dist").read_text(encoding="utf-8")
    services = re.sub(r"(?m)^(\S+ +\S+ +\S+ +\S+ +)y", r"\1n", services)
    services = re.sub(r"(?m)^smtp( +inet)", rf"127.0.0.1:{port}\1", services)
    (home / "master.cf").write_text(services)
    # Its daemons inherit what they are given to write to: no pipe that a test would wait for.
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    subprocess.run(["postfix", "-c", home, "start"], **quiet)
    try:
        wait_until(lambda: listens(port), "postfix")
        yield port
    finally:
        subprocess.run(["postfix", "-c", home, "stop"], **quiet)


def delivered(place, count):
    """What Postfix has stored, without the headers that it adds."""
    inbox = place / "mail" / "all" / "new"
    wait_until(lambda: inbox.is_dir() and len(list(inbox.iterdir())) >= count, f"{count} mails", 90)
    stored = [mail.read_bytes() for mail in inbox.iterdir()]
    return sorted(mail[mail.index(MARK) :] for mail in stored)


@need("postfix")
@unittest.skipUnless(os.geteuid() == 0, "Postfix can be started by root only")
class Postfix(Case):
    def test_smtplib_mails_arrive_as_without_a_guard(self):
        with folder() as place, postfix(place) as port:
            send(port, MAILS)
            direct = delivered(place, MAILS)
            shutil.rmtree(place / "mail" / "all")
            with Guard("smtp", port) as guard:
                send(guard.port, MAILS)
            guarded = delivered(place, MAILS)
        self.assert_innocent(guard)
        self.assertEqual(MAILS, len(direct))
        self.assertEqual(direct, guarded)

    def test_postfix_itself_may_be_the_client(self):
        # It pipelines, and sends several mails in a session. To whom it sends is Postfix, too.
        with folder() as place:
            with folder() as first, postfix(place) as port, Guard("smtp", port) as guard:
                with postfix(first, guard.port) as relay:
                    send(relay, MAILS, "someone@relay.test")
                    relayed = delivered(place, MAILS)
        expected = sorted(body.replace(b"\r\n", b"\n") for body in mails(MAILS))
        self.assert_innocent(guard)
        self.assertEqual(expected, relayed)

    def test_inspection_ends_with_starttls(self):
        with folder() as place, postfix(place) as port, Guard("smtp", port) as guard:
            with smtplib.SMTP("127.0.0.1", guard.port, timeout=60) as client:
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                client.starttls(context=context)
                client.sendmail("a@client.test", ["someone@peers.test"], BEGIN + b"\r\nsecret\r\n")
            self.assertEqual([(BEGIN + b"\r\nsecret\r\n").replace(b"\r\n", b"\n")], delivered(place, 1))
        self.assert_innocent(guard)

    def test_commands_smuggled_behind_starttls_never_arrive(self):
        with folder() as place, postfix(place) as port, Guard("smtp", port) as guard:
            with greeted(guard.port) as (client, lines):
                client.sendall(b"STARTTLS\r\nMAIL FROM:<evil@client.test>\r\nRCPT TO:<someone@peers.test>\r\n")
                self.assertEqual([b"220"], [line[:3] for line in lines])
        self.assert_blamed(guard, "client")

    @need("swaks")
    def test_swaks_mails_arrive_as_without_a_guard(self):
        with folder() as place, postfix(place) as port:
            send_with_swaks(place, port, SWAKS, "someone@peers.test")
            direct = delivered(place, SWAKS)
            shutil.rmtree(place / "mail" / "all")
            with Guard("smtp", port) as guard:
                send_with_swaks(place, guard.port, SWAKS, "someone@peers.test")
            guarded = delivered(place, SWAKS)
        self.assert_innocent(guard, SWAKS)
        self.assertEqual(SWAKS, len(direct))
        self.assertEqual(direct, guarded)

    @need("swaks")
    def test_swaks_pipelines(self):
        with folder() as place, postfix(place) as port, Guard("smtp", port) as guard:
            run("swaks", "--server", f"127.0.0.1:{guard.port}", "--from", "a@b.test", "--to", "someone@peers.test",
                "--helo", "client.test", "--pipeline", "--header", "X-Peers: begin", "--body", "one\n.\n..two", "--silent", "2")
            (mail,) = delivered(place, 1)
        self.assert_innocent(guard)
        self.assertIn(b"\none\n.\n..two\n", mail)
