"""What `cargo xtask bench time` asks, counted by a loop: which keys are violated. python3 time.py EVENTS A|B"""

import json
import sys
from collections import deque

path, question = sys.argv[1:]
times, found, waiting = {}, set(), {}
for line in open(path):
    event = json.loads(line)
    key, time, what = event["key"], event["time"], event["event"]
    if key in found:
        continue
    if question == "A":
        if what == "fail":
            own = times.setdefault(key, deque())
            own.append(time)
            while own[0] <= time - 60000:
                own.popleft()
            if len(own) > 10:
                found.add(key)
    elif key in waiting and time > waiting[key] + 5000:
        found.add(key)
    elif what == "request":
        waiting.setdefault(key, time)
    elif what == "reply":
        waiting.pop(key, None)
print(len(found) + sum(key not in found and time > since + 5000 for key, since in waiting.items()))
