//! Where the parts of an event are, in logs of another shape.

use clap::Args;
use referee::watch::{Pointer, Shape};

/// Where the parts of an event are, for logs of another shape.
#[derive(Args)]
pub(crate) struct Pointers {
    /// Where the session's key is, as a JSON pointer (for CSV, `/` and the name of the column).
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/session")]
    session_key: Pointer,
    /// Where the sender is.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/from")]
    from: Pointer,
    /// Where the receiver is.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/to")]
    to: Pointer,
    /// Where the label is.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/label")]
    label: Pointer,
    /// Where the fields are; "" for the whole object, of which undeclared members are then ignored.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/payload")]
    payload: Pointer,
    /// Where the time is: RFC 3339, or a number of seconds, milliseconds, microseconds or nanoseconds.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/time")]
    time: Pointer,
    /// Where the name of who ended is, in lines without a label.
    #[arg(long, value_name = "POINTER", value_parser = parse_pointer, default_value = "/end")]
    end: Pointer,
}

impl Pointers {
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            session: self.session_key.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            label: self.label.clone(),
            payload: self.payload.clone(),
            time: self.time.clone(),
            end: self.end.clone(),
        }
    }
}

fn parse_pointer(text: &str) -> Result<Pointer, String> {
    Pointer::parse(text).map_err(|error| error.to_string())
}
