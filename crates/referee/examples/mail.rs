//! A mail client with a monitor inside, the setting of ECOOP'21: the protocol is checked in the trusted side's own process.
//!
//! `cargo run --release -p referee --example mail -- 127.0.0.1:25 someone@example.org [SESSIONS]`
//!
//! Sends a hundred mails a session, every other one without the monitor, and prints what the monitor costs. It stops at
//! the first message that the protocol does not allow, whoever sends it.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]

#[path = "inside/monitored.rs"]
mod monitored;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Instant;

use monitored::{Monitored, Result, Times, alone};
use referee::monitor::FieldValue::Str;

const PROTOCOL: &str = include_str!("../../../examples/smtp/smtp.scr");
const MAILS: u32 = 100;
const CONTENT: &str =
    "Subject: a mail\r\n\r\nIt is as long as short mails are: a few lines of text,\r\nno more.\r\n";

/// The client, and the monitor that looks at all it says and hears.
struct Client {
    server: BufReader<TcpStream>,
    monitor: Option<Monitored>,
    reply: String,
}

impl Client {
    fn say(&mut self, label: &str, field: Option<&str>, line: &str) -> Result<()> {
        if let Some(monitor) = &mut self.monitor {
            match field {
                Some(field) => monitor.sends(label, &[Str(field)])?,
                None => monitor.sends(label, &[])?,
            }
        }
        Ok(self.server.get_mut().write_all(line.as_bytes())?)
    }

    /// A reply, the last of its lines: `250-…` is followed by more.
    fn hear(&mut self) -> Result<()> {
        loop {
            self.reply.clear();
            if self.server.read_line(&mut self.reply)? == 0 {
                return Err("the server has hung up".into());
            }
            if self.reply.as_bytes().get(3) != Some(&b'-') {
                break;
            }
        }
        let (code, text) = self.reply.split_at_checked(3).ok_or("a reply without a code")?;
        match &mut self.monitor {
            Some(monitor) => monitor.receives(code, &[Str(text.trim())]),
            None if matches!(code, "220" | "221" | "250" | "354") => Ok(()),
            None => Err(format!("the server refused: {}", self.reply).into()),
        }
    }

    fn mail(&mut self, recipient: &str) -> Result<()> {
        self.say("MailFrom", Some("sender@example.org"), "MAIL FROM:<sender@example.org>\r\n")?;
        self.hear()?;
        self.say("RcptTo", Some(recipient), &format!("RCPT TO:<{recipient}>\r\n"))?;
        self.hear()?;
        self.say("Data", None, "DATA\r\n")?;
        self.hear()?;
        self.say("Content", Some(CONTENT), &format!("{CONTENT}.\r\n"))?;
        self.hear()
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (address, recipient, sessions) = match arguments.as_slice() {
        [address, recipient] => (address, recipient, 20),
        [address, recipient, sessions] => (address, recipient, sessions.parse()?),
        _ => {
            return Err(
                "say `mail ADDRESS RECIPIENT [SESSIONS]`, as in `mail 127.0.0.1:25 someone@example.org`"
                    .into(),
            );
        }
    };
    let mut times = Times::default();
    for session in 0..sessions {
        let monitor = match session % 2 {
            0 => Some(Monitored::new(PROTOCOL, "client", "server")?),
            _ => None,
        };
        let monitored = monitor.is_some();
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut client = Client { server: BufReader::new(stream), monitor, reply: String::new() };
        client.hear()?;
        client.say("Helo", Some("client.example.org"), "HELO client.example.org\r\n")?;
        client.hear()?;
        for _ in 0..MAILS {
            let start = Instant::now();
            client.mail(recipient)?;
            times.add(monitored, start.elapsed());
        }
        client.say("Quit", None, "QUIT\r\n")?;
        client.hear()?;
    }
    let mut monitor = Monitored::new(PROTOCOL, "client", "server")?;
    monitor.receives("220", &[Str("ready")])?;
    monitor.sends("Helo", &[Str("client.example.org")])?;
    monitor.receives("250", &[Str("pleased")])?;
    let alone = alone(|| {
        monitor.sends("MailFrom", &[Str("sender@example.org")])?;
        monitor.receives("250", &[Str("fine")])?;
        monitor.sends("RcptTo", &[Str(recipient)])?;
        monitor.receives("250", &[Str("fine")])?;
        monitor.sends("Data", &[])?;
        monitor.receives("354", &[Str("go on")])?;
        monitor.sends("Content", &[Str(CONTENT)])?;
        monitor.receives("250", &[Str("stored")])
    })?;
    times.print("a mail", alone);
    Ok(())
}
