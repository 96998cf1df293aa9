"""The property of `repeats.hml` for Reelay, which looks back instead of ahead: `repeats_reelay.py FILE EVENTS`."""

import itertools
import json
import sys

import reelay

AGAIN = "exists[k, n]. ({id: *k, n: *n} and pre((not {id: *k}) since {id: *k, n: *n}))"

monitor = reelay.discrete_timed_monitor(pattern=AGAIN, condense=False)
for number, line in enumerate(itertools.islice(open(sys.argv[1]), int(sys.argv[2])), 1):
    event = json.loads(line)
    payload = event["payload"]
    if event["label"] == "Request":
        if monitor.update({"id": str(payload["id"]), "n": str(payload["n"])})["value"]:
            print(f"line {number}: key {payload['id']} sends {payload['n']} again")
