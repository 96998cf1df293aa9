"""Serves one of the mail servers for a benchmark, until standard input ends: `serve.py aiosmtpd|postfix`.

Prints the port. Mails for `someone@peers.test` are taken."""

import os
import sys

os.environ.setdefault("REFEREE", "")

from harness import folder
from test_smtp import aiosmtpd, postfix


class Forgetful(list):
    """What arrives is not kept: a benchmark sends a lot of it."""

    def append(self, _):
        pass


def serve(port):
    print(port, flush=True)
    sys.stdin.read()


if sys.argv[1:] == ["aiosmtpd"]:
    with aiosmtpd() as (handler, port):
        handler.mails = Forgetful()
        serve(port)
elif sys.argv[1:] == ["postfix"]:
    with folder() as place, postfix(place) as port:
        serve(port)
else:
    sys.exit(__doc__)
