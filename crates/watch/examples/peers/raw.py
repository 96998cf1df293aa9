# What `cargo xtask bench watch` does with Referee, by hand: the requests of an access log, read by a regular expression, one after
# the other for each address; how many answers are wrong.
import re
import sys

LINE = re.compile(
    r'^(?P<address>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] '
    r'"(?P<method>[^ "]+) (?P<path>[^ "]*)(?: (?P<version>HTTP/[0-9.]+))?" (?P<status>\d{3}) (?:(?P<size>\d+)|-)'
)
seen, wrong = {}, 0
with open(sys.argv[1], encoding="utf-8") as log:
    for line in log:
        found = LINE.match(line)
        if not found:
            continue
        address = found["address"]
        seen[address] = seen.get(address, 0) + 1
        event = (found["method"], found["path"], int(found["status"]), int(found["size"] or 0), found["time"])
        if not 100 <= event[2] < 600:
            wrong += 1
print(sum(seen.values()), len(seen), wrong)
