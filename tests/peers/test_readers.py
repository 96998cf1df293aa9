"""What a guard reads is what the server behind it reads: Postfix, Exim, nginx, Node, Redis and PostgreSQL."""

import contextlib
import os
import re
import shutil
import smtplib
import socket
import subprocess
import time
import unittest

from harness import Case, Guard, folder, free_port, need, process, run, wait_until
from readers import compare, send
from test_postgres import BINARIES, postgres, psql
from test_redis import redis_server
from test_smtp import greeted, postfix

HELLO = b"EHLO client.test\r\n"
MAIL = b"MAIL FROM:<a@client.test>\r\nRCPT TO:<someone@peers.test>\r\n"
EVIL = b"MAIL FROM:<evil@client.test>\r\nRCPT TO:<someone@peers.test>\r\nDATA\r\nSubject: evil\r\n\r\nevil\r\n.\r\nQUIT\r\n"

# What ends a mail for some server, or once did.
SMUGGLING = [b"\r\r\n.\r\r\n", b"\r.\r", b"\r\n.\r", b"\n.\r", b"\r.\r\n", b"\r\n\0.\r\n", b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\n",
             b"\r\n.\r\r\n", b"\r\r\n.\r\n", b"\r\n.\0\r\n", b"\r\n.\r\0\n", b"\n\n.\r\n", b"\r\n\r.\r\n", b"\r\n\n.\r\n", b"\0\r\n.\r\n\0",
             b"\r\n.\x0b\r\n", b"\r\n.\x85\r\n", b"\r\n. \r\n", b"\xc2\x85.\xc2\x85", b"\xe2\x80\xa8.\xe2\x80\xa8"]
MAILS = [
    HELLO + MAIL + b"DATA\r\nSubject: x\r\n\r\none\r\n..\r\n..two\r\n.\r\nQUIT\r\n",
    HELLO + MAIL + b"DATA\r\n.\r\n" + MAIL + b"DATA\r\nSubject: y\r\n\r\n\r\n.\r\nQUIT\r\n",
    HELLO + MAIL + b"BDAT 17\r\nSubject: z\r\n\r\nab\nBDAT 6 LAST\r\n.\r\nx\r\nQUIT\r\n",
    HELLO + b"NOOP\r\nVRFY someone\r\n" + MAIL + b"RSET\r\n" + MAIL + b"DATA\r\nSubject: w\r\n\r\n" + b"l" * 998 + b"\r\n.\r\nQUIT\r\n",
    b"HELO client.test\r\nMAIL FROM:<>\r\nRCPT TO:<someone@peers.test>\r\nDATA\r\n\r\n.\r\nRSET\r\nQUIT\r\n",
]
MAIL_LABELS = ["Content", "BdatLast"]
MAIL_TOKENS = [*SMUGGLING, b"\r\n.\r\n", b".", b"DATA\r\n", b"RSET\r\n", b"BDAT 5 LAST\r\n", b"BDAT 0\r\n", MAIL, b"QUIT\r\n", EVIL]


def queue_of(folder_of_mails, suffix=""):
    """Tells how many mails have come into a queue, and empties it."""
    def acted():
        count = 0
        for place, _, names in os.walk(folder_of_mails):
            for name in names:
                count += name.endswith(suffix)
                # The server may be faster.
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(place, name))
        return count

    return acted


@contextlib.contextmanager
def held_by_postfix(place):
    """Postfix that keeps every mail in its queue `hold`, where it is before it is acknowledged."""
    settings = {"smtpd_client_restrictions": "check_client_access static:HOLD", "smtpd_error_sleep_time": "0", "smtpd_hard_error_limit": "1000",
                "anvil_status_update_time": "1h"}
    with postfix(place, **settings) as port:
        yield port, queue_of(place / "queue" / "hold")


EXIM = os.path.abspath("../../target/peers/exim")


@contextlib.contextmanager
def exim(place, acl="", more=""):
    """Exim that queues every mail."""
    port = free_port()
    (place / "spool").mkdir()
    for name in ["", "spool"]:
        shutil.chown(place / name, "Debian-exim")
    (place / "exim.conf").write_text(f"""
primary_hostname = mx.peers.test
spool_directory = {place}/spool
log_file_path = {place}/log-%s
queue_only
keep_environment =
chunking_advertise_hosts = *
pipelining_advertise_hosts = *
tls_advertise_hosts =
host_lookup =
rfc1413_hosts =
smtp_enforce_sync = false
smtp_accept_max_per_connection = 0
smtp_max_unknown_commands = 1000
smtp_max_synprot_errors = 1000
acl_smtp_mail = acl_mail
acl_smtp_rcpt = acl_any
acl_smtp_auth = acl_any
begin acl
acl_mail:
  {acl}
  accept
acl_any:
  accept
begin authenticators
{more}
""")
    environment = os.environ | {"LD_LIBRARY_PATH": f"{EXIM}/usr/lib/x86_64-linux-gnu"}
    with process(f"{EXIM}/usr/sbin/exim4", "-C", place / "exim.conf", "-bdf", "-oX", f"127.0.0.1.{port}", "-oP", place / "pid",
                 port=port, env=environment, stderr=subprocess.DEVNULL):
        yield port, queue_of(place / "spool" / "input", "-H")


has_exim = unittest.skipUnless(os.path.exists(f"{EXIM}/usr/sbin/exim4") and os.geteuid() == 0, "not installed: exim4")


class Mail:
    def test_no_mail_is_smuggled(self):
        for end in SMUGGLING:
            data = HELLO + MAIL + b"DATA\r\nSubject: x\r\n\r\nbody" + end + EVIL
            with self.subTest(end=end), folder() as place, self.server(place) as (port, acted), Guard("smtp", port) as guard:
                send(guard.port, data)
                wait_until(lambda: guard_is_done(guard), "the session")
                # One mail, in which all of it is text, or none.
                self.assertLessEqual(acted(), 1)
            self.assertEqual([], [v for v in guard.verdicts if v.get("blame") == "server"])

    def test_both_read_the_same(self):
        published = [HELLO + MAIL + b"DATA\r\nSubject: x\r\n\r\nbody" + end + EVIL for end in SMUGGLING]
        with folder() as place, self.server(place) as server:
            compare(self, "smtp", server, MAIL_LABELS, MAILS, published, MAIL_TOKENS)

    def test_a_long_line_is_the_clients_fault(self):
        for data in [HELLO + MAIL + b"DATA\r\n" + b"x" * 200_000 + b"\r\n.\r\nQUIT\r\n", HELLO + b"NOOP " + b"x" * 600 + b"\r\nQUIT\r\n"]:
            with folder() as place, self.server(place) as (port, acted), Guard("smtp", port) as guard:
                send(guard.port, data)
                self.assertEqual(0, acted())
            self.assert_blamed(guard, "client")


def guard_is_done(guard):
    guard.log.flush()
    with open(guard.log.name, encoding="utf-8") as log:
        return '"why"' in log.read()


@need("postfix")
@unittest.skipUnless(os.geteuid() == 0, "Postfix can be started by root only")
class Postfix(Mail, Case):
    server = staticmethod(held_by_postfix)


@has_exim
class Exim(Mail, Case):
    server = staticmethod(exim)

    def test_a_mail_that_is_refused_opens_no_transaction(self):
        authenticator = 'plain:\n  driver = plaintext\n  public_name = PLAIN\n  server_condition = ${if eq{$auth3}{right}}\n  server_set_id = $auth2\n'
        acl = "deny message = 530 5.7.0 authentication required\n       !authenticated = *"
        with folder() as place, exim(place, acl, authenticator) as (port, acted), Guard("smtp", port) as guard:
            with smtplib.SMTP("127.0.0.1", guard.port, timeout=20) as client:
                client.ehlo()
                self.assertEqual(530, client.mail("a@client.test")[0])
                self.assertEqual(235, client.login("me", "right")[0])
                client.sendmail("a@client.test", ["someone@peers.test"], b"Subject: x\r\n\r\ny\r\n")
            self.assertEqual(1, acted())
        self.assert_innocent(guard)


REQUESTS = [
    b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\nGET /hello?b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"POST /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nDigest: z\r\n\r\nGET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"HEAD /hello HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nCookie: a=b\r\n\r\nPUT /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"GET /hello HTTP/1.0\r\n\r\n",
]
SMUGGLED = b"GET /hello?evil HTTP/1.1\r\nHost: h\r\n\r\n"


def request(headers, body):
    return b"POST /hello HTTP/1.1\r\nHost: h\r\n" + headers + b"\r\n\r\n" + body


# Pairs of lengths of which one reader takes the first, another the second.
REQUEST_SMUGGLING = [
    request(b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"0\r\n\r\n" + SMUGGLED),
    request(b"Transfer-Encoding: chunked\r\nContent-Length: %d" % (5 + len(SMUGGLED)), b"0\r\n\r\n" + SMUGGLED),
    *[request(b"Content-Length: %d\r\n%b" % (5 + len(SMUGGLED), coding), b"0\r\n\r\n" + SMUGGLED) for coding in [
        b"Transfer-Encoding : chunked", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding:\x0cchunked", b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: \"chunked\"", b"Transfer_Encoding: chunked",
        b"X: y\r\n Transfer-Encoding: chunked", b"X: y\nTransfer-Encoding: chunked", b"X: y\rTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        b"Transfer-Encoding:\r\n chunked", b"transfer-encoding: CHUNKED", b"Transfer-Encoding: chunk\xc3\xa9d", b"\0Transfer-Encoding: chunked"]],
    request(b"Content-Length: 5\r\nContent-Length: 0", b"hello" + SMUGGLED), request(b"Content-Length: 0, 5", b"hello" + SMUGGLED),
    request(b"Content-Length: +5", b"hello" + SMUGGLED), request(b"Content-Length: 0x5", b"hello" + SMUGGLED),
    request(b"Content-Length: 5 ", b"hello" + SMUGGLED), request(b"Content_Length: 5", b"hello" + SMUGGLED), request(b"Content-Length: 00", b"" + SMUGGLED),
    *[request(b"Transfer-Encoding: chunked", chunks + SMUGGLED) for chunks in [
        b"0x0\r\n\r\n", b"00\r\n\r\n", b"0;\n\r\n\r\n", b"0\n\r\n", b"0 \r\n\r\n", b"-0\r\n\r\n", b"5;a\nhello\r\n0\r\n\r\n", b"5\r\nhello0\r\n\r\n", b"5\r\nhello\n0\r\n\r\n",
        b"0\r\nContent-Length: 10\r\n\r\n", b"0\r\nHost: evil\r\n\r\n", b"fffffffffffffffff0\r\n\r\n", b"0\r\n\n", b"0\r\n\r", b"5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n"]],
    b"GET /hello HTTP/1.1\r\n\r\n" + SMUGGLED, b"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + SMUGGLED, b"GET http://a/hello HTTP/1.1\r\nHost: b\r\n\r\n" + SMUGGLED,
    b"GET /hello\r\n" + SMUGGLED, b"GET /hello HTTP/1.1 \r\nHost: h\r\n\r\n" + SMUGGLED, b"GET\t/hello HTTP/1.1\r\nHost: h\r\n\r\n" + SMUGGLED, b"GET /hello HTTP/1.10\r\nHost: h\r\n\r\n" + SMUGGLED,
]
REQUEST_TOKENS = [SMUGGLED, b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"Host: x\r\n", b"\r\n", b"\n", b" ", b"\t", b":", b";", b"5\r\n",
                  b"Expect: 100-continue\r\n", b"Upgrade: x\r\nConnection: upgrade\r\n", b"Connection: close\r\n", b"Trailer: x\r\n"]


@contextlib.contextmanager
def nginx(place):
    """nginx that logs each request that it answers with success."""
    port, log = free_port(), place / "requests"
    log.write_text("")
    (place / "nginx.conf").write_text(f"""
worker_processes 1; daemon off; pid {place}/pid; error_log {place}/log crit;
events {{ worker_connections 1024; }}
http {{
  log_format plain "$status"; access_log {log} plain; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi; lingering_close off; keepalive_requests 100000;
  server {{ listen 127.0.0.1:{port}; location /hello {{ return 200 "hello\\n"; }} }}
}}
""")
    with process("nginx", "-c", place / "nginx.conf", port=port, stderr=subprocess.DEVNULL):
        yield port, tail(log, lambda line: line.startswith("2"))


NODE = """
const http = require('http'), fs = require('fs');
const [port, log] = process.argv.slice(2);
http.createServer((request, response) => {
  let bytes = 0;
  request.on('data', (part) => { bytes += part.length; });
  request.on('end', () => { fs.appendFileSync(log, `${request.method} ${request.url} ${bytes}\\n`); response.end('hello'); });
  request.on('error', () => {});
}).on('clientError', (error, socket) => socket.destroy()).listen(Number(port), '127.0.0.1');
"""


@contextlib.contextmanager
def node(place):
    """Node's server, which logs each request that it has read to its end."""
    port, log = free_port(), place / "requests"
    log.write_text("")
    (place / "server.js").write_text(NODE)
    with process("node", place / "server.js", port, log, port=port):
        yield port, tail(log, lambda line: True)


def tail(path, counts):
    """Tells how many lines have come to a file that count."""
    seen = 0

    def acted():
        nonlocal seen
        with open(path, encoding="utf-8", errors="replace") as log:
            log.seek(seen)
            lines = log.readlines()
            seen = log.tell()
        return sum(map(counts, lines))

    return acted


class Web:
    def test_both_read_the_same(self):
        with folder() as place, self.server(place) as server:
            compare(self, "http", server, ["Request"], REQUESTS, REQUEST_SMUGGLING, REQUEST_TOKENS)

    def test_an_upload_that_is_broken_off_is_nobodys_fault(self):
        with folder() as place, self.server(place) as (port, _), Guard("http", port) as guard:
            for data in [b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc", b"POST /hello HTTP/1.1\r\nHo",
                         b"POST /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"]:
                with socket.create_connection(("127.0.0.1", guard.port), 20) as client:
                    client.sendall(data)
                    time.sleep(0.1)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                send(guard.port, data)
            self.assertIn(b"200 OK", send(guard.port, REQUESTS[0]))
        self.assert_innocent(guard)


@need("nginx")
class Nginx(Web, Case):
    server = staticmethod(nginx)


@need("node")
class Node(Web, Case):
    server = staticmethod(node)


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)


COMMANDS = [
    resp(b"SET", b"k", b"v") + resp(b"GET", b"k") + resp(b"QUIT"),
    b"PING\r\nSET k \"a b\"\r\nGET k\r\nQUIT\r\n",
    resp(b"MULTI") + resp(b"INCR", b"n") + resp(b"LPUSH", b"l", b"1\r\nMONITOR\r\n") + resp(b"EXEC") + resp(b"QUIT"),
    resp(b"HELLO", b"3") + resp(b"HSET", b"h", b"f", b"\0" * 30) + resp(b"HGETALL", b"h") + resp(b"EVAL", b"return {1,2}", b"0"),
    b"*0\r\n\r\n" + resp(b"ECHO", b"") + resp(b"MONITOR", b"x") + resp(b"PING"),
]
INLINE = [b"\"MONITOR\"\r\nPING\r\n", b"'PSYNC'\r\nPING\r\n", b"PING\0PING\r\n", b"\x0bPING\r\n", b"SET k \"\\x0d\\x0aPING\"\r\n", b"PING\rPING\r\n", b"*1\r\n$4\r\nPING\r\nPING\n",
          b"*+1\r\n$4\r\nPING\r\n", b"*01\r\n$4\r\nPING\r\n", b"*1\r\n$+4\r\nPING\r\n", b"*1\n$4\nPING\n", b"*1\r\n$4\rxPING\r\n", b"*-1\r\nPING\r\n", b"*2147483648\r\nPING\r\n",
          b"*1\r\n$4\r\nPING\n\nPING\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", b"* 1\r\n$4\r\nPING\r\n", b"*1\r\n$-1\r\nPING\r\n"]
COMMAND_LABELS = ["Command", "Multi", "Exec", "Discard", "Subscribe", "Stream", "QueuedStream", "Reset", "Quit"]
COMMAND_TOKENS = [*INLINE, resp(b"PING"), b"*1\r\n", b"$4\r\n", b"\r\n", b"\"", b"'", b"MULTI\r\n", b"EXEC\r\n", b"\0"]


@contextlib.contextmanager
def counted_redis(place):
    """Redis, and how many commands it has executed."""
    with redis_server(place) as port:
        seen = 0

        def total():
            with socket.create_connection(("127.0.0.1", port), 20) as client, client.makefile("rb") as replies:
                client.sendall(b"INFO commandstats\r\n")
                text = replies.read(int(replies.readline()[1:]))
            calls = re.findall(rb"cmdstat_([^:]+):calls=(\d+)", text)
            return sum(int(count) for name, count in calls if name != b"info")

        def acted():
            nonlocal seen
            before, seen = seen, total()
            return seen - before

        yield port, acted


@need("redis-server")
class Redis(Case):
    def test_both_read_the_same(self):
        with folder() as place, counted_redis(place) as server:
            compare(self, "redis", server, COMMAND_LABELS, COMMANDS, INLINE, COMMAND_TOKENS)

    def test_a_refused_stream_is_none(self):
        for refused in [b"MONITOR x\r\n", b"PSYNC\r\n", b"\"PSYNC\" x\r\n"]:
            with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
                with socket.create_connection(("127.0.0.1", guard.port), 20) as client, client.makefile("rb") as replies:
                    client.sendall(refused)
                    self.assertTrue(replies.readline().startswith(b"-ERR"))
                    # Still looked at: this is no command.
                    client.sendall(b"*1\r\n:1\r\n")
                    self.assertEqual(b"", replies.read())
            self.assert_blamed(guard, "client")

    def test_a_monitor_is_a_stream(self):
        with folder() as place, redis_server(place) as port, Guard("redis", port) as guard:
            with socket.create_connection(("127.0.0.1", guard.port), 20) as client, client.makefile("rb") as replies:
                client.sendall(b"MONITOR\r\n")
                self.assertEqual(b"+OK\r\n", replies.readline())
                run("redis-cli", "-p", port, "SET", "a", "b")
                self.assertIn(b'"SET" "a" "b"', replies.readline())
        self.assert_innocent(guard)


def message(tag, content=b""):
    return tag + (len(content) + 4).to_bytes(4, "big") + content


def startup(content=b"user\0postgres\0database\0postgres\0\0", version=0x30000):
    return (len(content) + 8).to_bytes(4, "big") + version.to_bytes(4, "big") + content


SESSIONS = [
    startup() + message(b"Q", b"SELECT 1\0") + message(b"X"),
    startup() + message(b"P", b"\0SELECT $1::int\0\0\0") + message(b"B", b"\0\0\0\0\0\1\0\0\0\x011\0\0") + message(b"E", b"\0\0\0\0\0") + message(b"S") + message(b"X"),
    b"\0\0\0\x08\x04\xd2\x16\x2f" + startup() + message(b"Q", b"SELECT 2; SELECT 3\0") + message(b"X"),
    startup() + message(b"Q", b"SELECT no_such\0") + message(b"Q", b"COPY (SELECT 1) TO STDOUT\0") + message(b"X"),
    startup() + message(b"P", b"\0SELECT 1/0\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"E", b"\0\0\0\0\0") + message(b"P", b"\0SELECT 4\0\0\0") + message(b"S") + message(b"X"),
]
MESSAGE_SMUGGLING = [
    startup() + message(b"Q", b"SELECT 1\0" + message(b"Q", b"SELECT 2\0")) + message(b"X"),
    startup() + b"Q" + (0x100000004 & 0xFFFFFFFF).to_bytes(4, "big") + message(b"Q", b"SELECT 2\0"),
    startup() + b"Q\0\0\0\x03" + message(b"Q", b"SELECT 2\0"), startup() + b"Q\xff\xff\xff\xff" + message(b"Q", b"SELECT 2\0"),
    startup(version=0x20000) + message(b"Q", b"SELECT 2\0"), startup() + startup() + message(b"Q", b"SELECT 2\0"),
    b"\0\0\0\x08\x04\xd2\x16\x2f" + message(b"Q", b"SELECT 2\0"), b"\0\0\0\x08\x04\xd2\x16\x30" * 3 + startup() + message(b"Q", b"SELECT 2\0"),
    startup() + message(b"d", b"x") + message(b"c") + message(b"Q", b"SELECT 2\0"), startup() + message(b"p", b"x\0") + message(b"Q", b"SELECT 2\0"),
]
MESSAGE_TOKENS = [message(b"Q", b"SELECT 9\0"), message(b"S"), message(b"H"), message(b"c"), message(b"f", b"\0"), message(b"E", b"\0\0\0\0\0"), b"\0", b"\0\0\0\x04", startup()]


@contextlib.contextmanager
def counted_postgres(place):
    """PostgreSQL, and how many statements it has logged before it executed them."""
    path = place / "statements"
    with open(path, "w", encoding="utf-8") as log:
        with postgres(place, settings="log_statement = all\nlog_min_messages = log\n", log=log) as (port, _):
            yield port, tail(path, lambda line: "LOG:  statement:" in line or "LOG:  execute " in line)


@unittest.skipUnless(BINARIES, "not installed: postgresql")
class Postgres(Case):
    def test_both_read_the_same(self):
        with folder() as place, counted_postgres(place) as server:
            compare(self, "postgres", server, ["Query", "Execute"], SESSIONS, MESSAGE_SMUGGLING, MESSAGE_TOKENS)

    def test_scans_of_ports_never_arrive(self):
        scans = [b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"*1\r\n$4\r\nPING\r\n", b"\x03\0\0\x13\x0e\xe0\0\0\0\0\0\1\0\x08\0\3\0\0\0",
                 b"\0\0\0\4", b"\0\0\xff\xff\0\3\0\0", startup(version=0x20000)]
        with folder() as place, postgres(place) as (port, environment):
            for scan in scans:
                with self.subTest(scan=scan), Guard("postgres", port) as guard:
                    self.assertEqual(b"", send(guard.port, scan))
                self.assert_blamed(guard, "client")
            # TLS without asking: PostgreSQL before 17 closes, which is right.
            hello = b"\x16\x03\x01\x00\x2f" + b"\1\0\0\x2b\3\3" + b"\0" * 41
            with Guard("postgres", port) as guard:
                send(guard.port, hello)
                self.assertIn(b" 1\n", psql(guard.port, environment, "SELECT 1"))
            self.assert_innocent(guard)

    def test_a_copy_that_fails_is_nobodys_fault(self):
        script = "CREATE TABLE t (a int);\n\\copy t FROM PROGRAM 'seq 200000; echo wrong; seq 200000'\nSELECT count(*) FROM t;\n\\copy t FROM PROGRAM 'seq 10'\nSELECT count(*) FROM t;\n"
        for policy in ["halt", "drop"]:
            with folder() as place, postgres(place) as (port, environment), Guard("postgres", port, f'policy = "{policy}"') as guard:
                told = psql(guard.port, environment, script)
                self.assertIn(b"invalid input syntax for type integer", told)
                self.assertIn(b" 10\n", told)
            self.assert_innocent(guard)

    def test_a_copy_that_fails_in_psycopg(self):
        try:
            import psycopg
        except ImportError:
            self.skipTest("not installed: psycopg (PyPI)")
        with folder() as place, postgres(place) as (port, _), Guard("postgres", port) as guard:
            where = f"host=127.0.0.1 port={guard.port} user=postgres dbname=postgres sslmode=disable"
            with psycopg.connect(where, autocommit=True) as connection:
                connection.execute("CREATE TABLE t (a int)")
                for query in ["COPY t FROM STDIN", "COPY t FROM STDIN WHERE a > %s"]:
                    arguments = (0,) if "%s" in query else ()
                    if arguments:
                        continue
                    with self.assertRaises(psycopg.errors.InvalidTextRepresentation):
                        with connection.cursor().copy(query, arguments or None) as copy:
                            for number in range(200_000):
                                copy.write_row(["wrong" if number == 100 else number])
                with self.assertRaises(ZeroDivisionError):
                    with connection.cursor().copy("COPY t FROM STDIN") as copy:
                        copy.write_row([1 // 0])
                with connection.cursor().copy("COPY t FROM STDIN") as copy:
                    copy.write_row([1])
                self.assertEqual(1, connection.execute("SELECT count(*) FROM t").fetchone()[0])
                with connection.pipeline():
                    for number in range(100):
                        connection.execute("INSERT INTO t VALUES (%s)", (number,))
                with contextlib.suppress(psycopg.Error), connection.pipeline():
                    connection.execute("SELECT 1 / %s", (0,))
                    connection.execute("SELECT 1")
                self.assertEqual(101, connection.execute("SELECT count(*) FROM t").fetchone()[0])
        self.assert_innocent(guard)

    def test_a_failed_login_and_a_farewell_in_another_language(self):
        with folder() as place, postgres(place, "scram-sha-256") as (port, environment), Guard("postgres", port) as guard:
            self.assertIn(b"failed", psql(guard.port, environment | {"PGPASSWORD": "wrong"}, "SELECT 1"))
        self.assert_innocent(guard)
        self.assertEqual([], [end for end in guard.ends if end.get("why") == "unanswered"])


