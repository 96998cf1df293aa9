//! What is encoded is decoded as the same message, and encoded again it is the same bytes: `decode ∘ encode = id`, and
//! `encode ∘ decode = id` on what a codec has written. Over generated messages of every codec and preset.

use referee_monitor::FieldValue;
use referee_theory::Type;
use referee_wire::{Expected, Fields, Known, Label, Limits, MessageId, Parts, Scratch, Step};

use crate::support::Proxy;
use crate::talks::{Talk, all};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

const TEXTS: [&str; 15] = [
    "251 x\r\n",
    "",
    "a",
    "two words",
    "é",
    ".",
    "x\r\ny",
    "\"q\"",
    "<a@b>",
    "%41/..",
    "a=b&c;d",
    "0",
    "\0",
    "+OK",
    "name\ttab ",
];

/// A value of type `ty` that lives as long as the test.
fn value(ty: &Type, random: &mut Random) -> FieldValue<'static> {
    match ty {
        Type::Unit => FieldValue::Unit,
        Type::Bool => FieldValue::Bool(random.below(2) == 0),
        // Small ones often: flags have a bit or two.
        Type::Int if random.below(2) == 0 => FieldValue::Int(random.below(3) as i64),
        Type::Int => FieldValue::Int(random.of(&[
            0,
            1,
            2,
            3,
            7,
            60,
            127,
            128,
            200,
            404,
            65_535,
            65_536,
            -1,
            i64::MAX,
            i64::MIN,
        ])),
        Type::Float => FieldValue::Float(random.of(&[0.0, 1.5, -2.25, 1e300])),
        Type::String | Type::Opaque(_) => FieldValue::Str(random.of(&TEXTS)),
        Type::Bytes => FieldValue::Bytes(random.of(&TEXTS).as_bytes()),
        Type::List(inner) => {
            let elements: Vec<_> = (0..random.below(4)).map(|_| value(inner, random)).collect();
            FieldValue::List(elements.leak())
        }
        Type::Tuple(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| value(part, random)).collect();
            FieldValue::List(parts.leak())
        }
        Type::Record(_) => FieldValue::Unit,
    }
}

/// What `bytes` are where only `id` may come: its fields, if it is that message and all of `bytes`.
fn decoded(proxy: &Proxy, name: &str, id: MessageId, known: &Known, bytes: &[u8]) -> Option<Vec<String>> {
    let codec = &proxy.codec;
    let mut connection = codec.connection(Limits { message: 1 << 20 });
    let (scratch, mut fields) = (Scratch::new(), Fields::new());
    if name.contains("http") && known.sender == referee_wire::Sender::Server {
        // A response has a request.
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        let step = codec.decode(
            &mut connection,
            known.sender.other(),
            request,
            referee_wire::Reading::anything(),
            &scratch,
            &mut fields,
        );
        let Step::Message(message) = step else { panic!("{step:?}") };
        codec.take(&mut connection, known.sender.other(), message.after, true);
    }
    if name.contains("websocket") {
        connection = codec.upgraded(Limits { message: 1 << 20 });
    }
    let expected = Expected::new(codec, &[id]).unwrap();
    let step = codec.decode(&mut connection, known.sender, bytes, expected.reading(), &scratch, &mut fields);
    let Step::Message(message) = step else { return None };
    if message.label != Label::Known(id) {
        return None;
    }
    let shown = fields.iter().map(ToString::to_string).collect();
    let (mut at, mut more) = (message.bytes, message.has_body);
    codec.take(&mut connection, known.sender, message.after, true);
    let (scratch, mut fields) = (Scratch::new(), Fields::new());
    while more {
        match codec.decode(
            &mut connection,
            known.sender,
            &bytes[at..],
            expected.reading(),
            &scratch,
            &mut fields,
        ) {
            Step::Body { bytes, last } => (at, more) = (at + bytes as usize, !last),
            _ => return None,
        }
    }
    (at == bytes.len()).then_some(shown)
}

#[test]
fn what_is_encoded_is_decoded_as_the_same() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut written, mut refused, mut never) = (0, 0, Vec::new());
    for Talk { name, proxy, .. } in all() {
        for (index, known) in proxy.codec.messages().iter().enumerate().filter(|(_, known)| !known.aside) {
            let id = proxy.codec.find(known.sender, &known.name).unwrap();
            assert_eq!(id.index(), index);
            if proxy.encoder.obstacle(id).is_some() {
                continue;
            }
            let mut done = 0;
            for _ in 0..400 {
                let body = random.of(&[&b""[..], b"", b"abc", b"x\r\n"]);
                let mut fields: Vec<_> =
                    known.fields.iter().map(|field| value(&field.ty, &mut random)).collect();
                for (field, value) in known.fields.iter().zip(&mut fields) {
                    if field.name.as_deref() == Some("size") {
                        *value = FieldValue::Int(body.len() as i64);
                    }
                }
                let parts = Parts { fields: &fields, body, rpc_id: Some("7") };
                let mut bytes = b"before".to_vec();
                if proxy.encoder.encode(&proxy.codec, id, parts, &mut bytes).is_err() {
                    assert_eq!(bytes, b"before");
                    refused += 1;
                    continue;
                }
                let bytes = &bytes[6..];
                // An answer of JSON-RPC is read by its question, which nobody has asked here.
                if name != "json-rpc" || known.sender == referee_wire::Sender::Client {
                    let shown: Vec<String> = fields.iter().map(ToString::to_string).collect();
                    let read = decoded(&proxy, name, id, known, bytes);
                    assert_eq!(
                        read.as_ref(),
                        Some(&shown),
                        "{name}: {} {:?}",
                        known.name,
                        String::from_utf8_lossy(bytes)
                    );
                }
                let mut again = Vec::new();
                proxy.encoder.encode(&proxy.codec, id, parts, &mut again).unwrap();
                assert_eq!(again, bytes, "{name}: {}", known.name);
                done += 1;
            }
            if done == 0 {
                never.push(format!("{name}: {}", known.name));
            }
            written += done;
        }
    }
    assert_eq!(never, [] as [String; 0], "never written");
    println!("{written} messages written, {refused} refused");
    assert!(written > 20_000 && refused > 1_000, "{written} {refused}");
}

/// Bytes that others have written in the same way are written the same again.
#[test]
fn canonical_bytes_are_written_as_they_were() {
    let talks = all();
    let find = |name: &str| &talks.iter().find(|talk| talk.name == name).unwrap().proxy;
    let int = FieldValue::Int;
    for (name, sender, label, fields, body, expected) in [
        ("smtp", 0, "Mail", vec![FieldValue::Str("<a@b>")], &b""[..], &b"MAIL FROM:<a@b>\r\n"[..]),
        ("smtp", 0, "Content", vec![], b"x\r\n..\r\n", b"x\r\n..\r\n.\r\n"),
        ("smtp", 0, "BdatLast", vec![int(3)], b"abc", b"BDAT 3 LAST\r\nabc"),
        ("smtp", 1, "No", vec![], b"", b"554 5.7.0 rejected\r\n"),
        ("redis", 0, "Multi", vec![], b"", b"*1\r\n$5\r\nMULTI\r\n"),
        ("resp", 0, "Get", vec![FieldValue::Str("k")], b"", b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"),
        ("resp", 1, "Value", vec![FieldValue::Str("x")], b"", b"$1\r\nx\r\n"),
        ("postgres", 1, "Ready", vec![], b"I", b"Z\0\0\0\x05I"),
        ("postgres", 0, "SslRequest", vec![], b"", b"\0\0\0\x08\x04\xd2\x16\x2f"),
        (
            "mqtt",
            0,
            "Publish",
            vec![int(1), int(2), int(1), FieldValue::Str("a/b"), int(7)],
            b"y",
            b"\x3d\x08\x00\x03a/b\x00\x07y",
        ),
        ("mqtt", 0, "Pubrel", vec![int(7)], b"", b"\x62\x02\x00\x07"),
        ("frames", 0, "Query", vec![FieldValue::Str("select"), int(5)], b"", b"Q\x00\x09select\x00\x00\x05"),
        ("http", 1, "Missing", vec![int(404)], b"no!", b"HTTP/1.1 404 \r\nContent-Length: 3\r\n\r\nno!"),
        ("json, 16 bits", 0, "Bye", vec![], b"", b"\x00\x0e{\"type\":\"Bye\"}"),
    ] {
        let proxy = find(name);
        let id = proxy.codec.find(referee_wire::Sender::BOTH[sender], label).unwrap();
        let mut out = Vec::new();
        let parts = Parts { fields: &fields, body, rpc_id: None };
        let said = proxy.encoder.encode(&proxy.codec, id, parts, &mut out);
        assert_eq!(said, Ok(()), "{name}: {label}");
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(expected), "{name}: {label}");
    }
}
