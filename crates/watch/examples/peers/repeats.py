"""The property of `repeats.hml` as a loop, as one would write it without a tool."""

import json
import sys

last = {}
for number, line in enumerate(open(sys.argv[1]), 1):
    event = json.loads(line)
    payload = event["payload"]
    if event["label"] == "Request":
        if last.get(payload["id"]) == payload["n"]:
            print(f"line {number}: key {payload['id']} sends {payload['n']} again")
        last[payload["id"]] = payload["n"]
