"""The three components with generated endpoints: what they may say the endpoints know, so that nothing of it is here.

    for role in s c a; do referee generate python authorization.gt --role $role --output auth3_$role.py; done
    python3 endpoints.py c 127.0.0.1:9202

Each talks to the monitor of its role, over one connection for all its peers, in lines of JSON (`endpoints.toml`).
"""

import argparse
import importlib
import socket

LOGINS = 10


def server(s, start):
    for _ in range(LOGINS):
        match start.login().recv():
            case s.AfterLoginGotAuth(True, start):
                pass
            case s.AfterLoginGotAuth(False, _):
                raise SystemExit("the authorizer says that the password is wrong")
    start.quit()


def client(c, start):
    while True:
        match start.recv():
            case c.StartGotLogin(asked):
                start = asked.passwd("opensesame")
            case c.StartGotQuit(asked):
                asked.quit()
                return


def authorizer(a, start):
    while True:
        match start.recv():
            case a.StartGotPasswd(word, asked):
                start = asked.auth(word == "opensesame")
            case a.StartGotQuit():
                return


def link(endpoint, connection):
    """One connection for all peers: a monitor says in turn what each of them sent."""
    stream = connection.makefile("rwb")
    return endpoint.JsonLines({peer: (stream, stream) for peer in endpoint.PEERS})


def play(role, address):
    endpoint = importlib.import_module(f"auth3_{role}")
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 30) as connection:
        {"s": server, "c": client, "a": authorizer}[role](endpoint, endpoint.Start(link(endpoint, connection)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["s", "c", "a"])
    parser.add_argument("monitor", help="where the monitor of the role listens: HOST:PORT")
    options = parser.parse_args()
    play(options.role, options.monitor)
