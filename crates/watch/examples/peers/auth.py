# What one would write by hand instead of `referee watch --protocol auth.scr`: a loop over the lines.
import json
import re
import sys

NAME = re.compile("[a-z]+")
START, ASKED, IN, GOT, OVER = range(5)
sessions = {}
violations = 0

for line in open(sys.argv[1]):
    event = json.loads(line)
    key, label, payload = event["session"], event["label"], event["payload"]
    state, token = sessions.get(key, (START, None))
    client = event["from"] == "client"
    if state == START and client and label == "Auth":
        fine = isinstance(payload["pwd"], str) and NAME.search(payload["uname"])
        after = ASKED
    elif state == ASKED and not client and label == "Succ":
        fine = isinstance(payload["tok"], str)
        token = payload["tok"]
        after = IN
    elif state == ASKED and not client and label == "Fail":
        fine = isinstance(payload["code"], int)
        after = START
    elif state == IN and client and label == "Get":
        fine = isinstance(payload["resource"], str) and payload["reqTok"] == token
        after = GOT
    elif state == IN and client and label == "Rvk":
        fine = payload["rvkTok"] == token
        after = OVER
    elif state == GOT and not client and label == "Res":
        fine = isinstance(payload["content"], str)
        after = IN
    elif state == GOT and not client and label == "Timeout":
        fine = True
        after = START
    else:
        fine = False
    if fine:
        sessions[key] = (after, token)
    else:
        violations += 1
        print(key, event["from"], label)

print(violations, "violations", file=sys.stderr)
