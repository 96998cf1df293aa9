//! Presets: protocols that many speak, each with its codec table, to be used or copied.

use crate::error::TableError;
use crate::table::Table;

/// A protocol with its codec.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What it is called: `preset:NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The protocol, in Referee's own language.
    pub protocol: &'static str,
    /// The codec table, in TOML.
    pub table: &'static str,
    /// Example values for who plays one of its roles, in TOML: `crates/probe`.
    pub examples: &'static str,
    /// What its standard demands of sessions beyond the protocol, as properties; empty if nothing.
    pub rules: &'static str,
}

/// Every preset.
pub static ALL: [Preset; 12] = [
    Preset {
        name: "smtp",
        summary: "mail submission and transfer, with pipelining, chunking, AUTH and STARTTLS",
        protocol: include_str!("../presets/smtp.scr"),
        table: include_str!("../presets/smtp.toml"),
        examples: include_str!("../presets/smtp.examples.toml"),
        rules: "",
    },
    Preset {
        name: "http",
        summary: "HTTP/1.1 requests and responses",
        protocol: include_str!("../presets/http.scr"),
        table: include_str!("../presets/http.toml"),
        examples: include_str!("../presets/http.examples.toml"),
        rules: "",
    },
    Preset {
        name: "redis",
        summary: "Redis commands and replies, RESP2 and RESP3, with transactions and subscriptions",
        protocol: include_str!("../presets/redis.scr"),
        table: include_str!("../presets/redis.toml"),
        examples: include_str!("../presets/redis.examples.toml"),
        rules: "",
    },
    Preset {
        name: "postgres",
        summary: "the PostgreSQL wire protocol: startup, simple and extended queries, COPY",
        protocol: include_str!("../presets/postgres.scr"),
        table: include_str!("../presets/postgres.toml"),
        examples: include_str!("../presets/postgres.examples.toml"),
        rules: "",
    },
    Preset {
        name: "mqtt",
        summary: "MQTT 3.1.1 and 5: connections, publications and subscriptions, with topics as fields",
        protocol: include_str!("../presets/mqtt.scr"),
        table: include_str!("../presets/mqtt.toml"),
        examples: include_str!("../presets/mqtt.examples.toml"),
        rules: "",
    },
    Preset {
        name: "mcp",
        summary: "the Model Context Protocol over standard input and output: calls of tools with their arguments, for rules",
        protocol: include_str!("../presets/mcp.scr"),
        table: concat!(include_str!("../presets/mcp.toml"), include_str!("../presets/mcp.messages.toml")),
        examples: include_str!("../presets/mcp.examples.toml"),
        rules: include_str!("../presets/mcp.hml"),
    },
    Preset {
        name: "mcp-http",
        summary: "the same over Streamable HTTP: bodies and server-sent events, sessions over several connections",
        protocol: include_str!("../presets/mcp.scr"),
        table: concat!(
            include_str!("../presets/mcp-http.toml"),
            include_str!("../presets/mcp.messages.toml")
        ),
        examples: "",
        rules: "",
    },
    Preset {
        name: "mcp-2025-11-25",
        summary: "the same, of the revision 2025-11-25: `initialize` comes first",
        protocol: include_str!("../presets/mcp-2025-11-25.scr"),
        table: include_str!("../presets/mcp-2025-11-25.toml"),
        examples: include_str!("../presets/mcp-2025-11-25.examples.toml"),
        rules: "",
    },
    Preset {
        name: "mcp-2026-07-28",
        summary: "the same, of the revision 2026-07-28: stateless, each request names its revision",
        protocol: include_str!("../presets/mcp-2026-07-28.scr"),
        table: include_str!("../presets/mcp-2026-07-28.toml"),
        examples: include_str!("../presets/mcp-2026-07-28.examples.toml"),
        rules: "",
    },
    Preset {
        name: "jsonrpc",
        summary: "JSON-RPC 2.0 in lines: either side asks, by any method, and answers come in any order",
        protocol: include_str!("../presets/jsonrpc.scr"),
        table: include_str!("../presets/jsonrpc.toml"),
        examples: include_str!("../presets/jsonrpc.examples.toml"),
        rules: "",
    },
    Preset {
        name: "lsp",
        summary: "the Language Server Protocol: initialize, requests of either side, shutdown and exit",
        protocol: include_str!("../presets/lsp.scr"),
        table: include_str!("../presets/lsp.toml"),
        examples: include_str!("../presets/lsp.examples.toml"),
        rules: "",
    },
    Preset {
        name: "dap",
        summary: "the Debug Adapter Protocol: initialize, requests of either side, events",
        protocol: include_str!("../presets/dap.scr"),
        table: include_str!("../presets/dap.toml"),
        examples: include_str!("../presets/dap.examples.toml"),
        rules: "",
    },
];

/// The preset called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its protocol with the times that its standard gives, which are comments otherwise: `/*@ within 5m */`. Everything else stands
    /// where it stood.
    #[must_use]
    pub fn timed_protocol(&self) -> String {
        let mut parts = self.protocol.split("/*@");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text += "   ";
            text += &part.replacen("*/", "  ", 1);
        }
        text
    }

    /// Its codec table.
    ///
    /// # Errors
    /// Never, for the presets of this crate.
    pub fn table(&self) -> Result<Table, TableError> {
        Table::parse(self.table)
    }
}
