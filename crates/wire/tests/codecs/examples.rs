//! The codecs of `examples/`, which were written from `docs/codecs.md` alone, and the MQTT preset.

use referee_wire::Sender::{Client, Server};

use crate::support::{Proxy, preset};

const DNS: &str = include_str!("../../../../examples/dns/dns.scr");
const DNS_TABLE: &str = include_str!("../../../../examples/dns/dns.toml");
const MEMCACHED: &str = include_str!("../../../../examples/memcached/memcached.scr");
const MEMCACHED_TABLE: &str = include_str!("../../../../examples/memcached/memcached.toml");

#[test]
fn dns_over_tcp() {
    let proxy = Proxy::new(DNS, DNS_TABLE);
    let query =
        b"\x00\x1d\xab\xcd\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01";
    let mut answer = query.to_vec();
    answer[4] = 0x81;
    answer[5] = 0x83;
    let said = proxy.converse(&[(Client, query), (Server, &answer), (Client, query)]);
    assert_eq!(
        said,
        ["Client: Query(43981, 0, 1)", "Server: Answer(43981, 0, 3)", "Client: Query(43981, 0, 1)"]
    );
    answer[2] = 0;
    let said = proxy.converse(&[(Client, query), (Server, &answer)]);
    assert_eq!(said[1], "Server: Answer(205, 0, 3): Assertion");
    let said = proxy.converse(&[(Client, &answer)]);
    assert!(said[0].ends_with("Label"), "an answer from a client: {said:?}");
    let said = proxy.converse(&[(Client, b"\x00\x0bshort")]);
    assert_eq!(said, ["Client: malformed: a length that no frame may have here"]);
}

#[test]
fn memcached() {
    let proxy = Proxy::new(MEMCACHED, MEMCACHED_TABLE);
    let said = proxy.converse(&[
        (Client, b"set k 0 0 7\r\nget k\r\n\r\n"),
        (Server, b"STORED\r\n"),
        (Client, b"add l 1 -1 0 noreply\r\n\r\n"),
        (Client, b"get k l\r\n"),
        (Server, b"VALUE k 0 7\r\nget k\r\n\r\nVALUE l 1 0\r\n\r\nEND\r\n"),
        (Client, b"incr n 5\r\ndelete k\r\n"),
        (Server, b"NOT_FOUND\r\nDELETED\r\n"),
        (Client, b"version\r\n"),
        (Server, b"VERSION 1.6.18\r\n"),
        (Client, b"quit\r\n"),
    ]);
    assert_eq!(said.last().unwrap(), "Client: Quit", "{said:#?}");
    assert!(said.contains(&"Server: Value(\"l\", 1, 0)".to_owned()), "{said:#?}");
    // What a server would take for the next command is not taken for data.
    let said = proxy.converse(&[(Client, b"set k 0 0 3\r\nabcd\r\nget k\r\n")]);
    assert_eq!(said.last().unwrap(), "Client: malformed: a string that is longer than its length");
}

#[test]
fn mqtt() {
    let proxy = preset("mqtt");
    let said = proxy.converse(&[
        (Client, b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04peer"),
        (Server, b"\x20\x02\x00\x00"),
        (Client, b"\x82\x0b\x00\x01\x00\x03a/#\x02\x00\x00\x00"),
        (Server, b"\x30\x06\x00\x03a/bx"),
        (Server, b"\x90\x03\x00\x01\x02"),
        (Client, b"\x3d\x08\x00\x03a/b\x00\x07y\x62\x02\x00\x07\xc0\x00"),
        (Server, b"\xd0\x00\x50\x02\x00\x07\x34\x07\x00\x03a/b\x00\x01"),
        (Client, b"\x50\x02\x00\x01"),
        (Client, b"\xe0\x00"),
    ]);
    assert_eq!(
        said,
        [
            "Client: Connect(1, 0, 60, \"peer\")",
            "Server: Connack(0)",
            "Client: Subscribe(1, [[\"a/#\", 2], [\"\", 0]])",
            "Server: Publish(0, 0, 0, \"a/b\", 0)",
            "Server: Suback(1)",
            "Client: Publish(1, 2, 1, \"a/b\", 7)",
            "Client: Pubrel(7)",
            "Client: Pingreq",
            "Server: Pingresp",
            "Server: Pubrec(7)",
            "Server: Publish(0, 2, 0, \"a/b\", 1)",
            "Client: Pubrec(1)",
            "Client: Disconnect",
        ]
    );
    let five = b"\x10\x11\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x04peer";
    let said = proxy.converse(&[
        (Client, five),
        (Server, b"\xf0\x00"),
        (Client, b"\xf0\x00"),
        (Server, b"\x20\x03\x00\x00\x00"),
        (Client, b"\x82\x09\x00\x01\x00\x00\x03a/b\x01"),
        (Server, b"\xe0\x01\x82"),
    ]);
    assert_eq!(said[4..], ["Client: Subscribe5(1, [[\"a/b\", 1]])", "Server: Disconnect"]);
    // Reserved flags, a second CONNECT, a quality of service that is none, an overlong length, `Listen` itself.
    for wrong in [
        &b"\x80\x05\x00\x01\x00\x00\x00"[..],
        b"\x10\x00",
        b"\x36\x05\x00\x01a\x00\x01",
        b"\x30\x83\x00\x00\x01a",
        b"\x00\x00",
    ] {
        let said = proxy.converse(&[
            (Client, b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c\x00\x04peer"),
            (Server, b"\x20\x02\x00\x00"),
            (Client, wrong),
        ]);
        let last = said.last().unwrap();
        assert!(
            last.contains("malformed") || last.ends_with("Label") || last.ends_with("Order"),
            "{wrong:?}: {said:?}"
        );
    }
}
