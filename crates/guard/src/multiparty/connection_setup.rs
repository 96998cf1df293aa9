//! The setup of a component's connection in either direction: TLS and WebSocket, where they are configured.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arc_swap::ArcSwap;
use hyper::body::Bytes;
use referee_wire::{Framing, Kind, LineEnd, Table};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::http::Uri;

use super::plan::{Endpoint, EndpointKeys};
use crate::config::Address;
use crate::stream::{Socket, Stream};
use crate::tls;
use crate::tls_records::TlsSocket;
use crate::websocket::{WebSocket, text_frame};

/// How the connections of one role's components are set up.
pub(super) struct ConnectionSetup {
    /// Renewed when certificates change.
    tls: ArcSwap<TlsSides>,
    /// The request target of a WebSocket.
    websocket: Option<Uri>,
    /// `limits.message`.
    limit: usize,
    own_texts: OwnTexts,
}

/// TLS with components that connect, and with those that are connected to.
struct TlsSides {
    accepts: Option<TlsAcceptor>,
    connects: Option<(TlsConnector, rustls_pki_types::ServerName<'static>)>,
}

/// How texts of the monitor's own become messages that the component can read.
#[derive(Clone, Copy, Debug)]
enum OwnTexts {
    /// As they are configured.
    Raw,
    /// As lines with this end.
    Lines(&'static str),
    /// As JSON documents.
    Json(Framing),
}

impl OwnTexts {
    fn new(codec: &Table) -> Self {
        match codec.kind {
            Kind::Text if codec.line_end == Some(LineEnd::Crlf) => Self::Lines("\r\n"),
            Kind::Text => Self::Lines("\n"),
            Kind::Json => match codec.framing.unwrap_or_default() {
                Framing::Lines => Self::Lines("\n"),
                framing => Self::Json(framing),
            },
            _ => Self::Raw,
        }
    }

    /// `None` if `text` is too long for its framing.
    fn write(self, text: &str) -> Option<Bytes> {
        let mut out = Vec::with_capacity(text.len() + 2);
        match self {
            Self::Raw => out.extend(text.as_bytes()),
            Self::Lines(end) => {
                out.extend(text.as_bytes());
                out.extend(if text.ends_with('\n') { "" } else { end }.as_bytes());
            }
            Self::Json(framing) => framing.write(text, &mut out).ok()?,
        }
        Some(out.into())
    }
}

impl fmt::Debug for ConnectionSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.in_words())
    }
}

impl ConnectionSetup {
    /// The setup that `table` configures; `file` resolves a path.
    ///
    /// # Errors
    /// The problem and its place in the configuration.
    pub(super) fn make(
        table: &EndpointKeys<'_>,
        endpoint: &Endpoint,
        limit: usize,
        mut file: impl FnMut(&Path) -> PathBuf,
    ) -> Result<Self, (Range<usize>, String)> {
        let accepts = match (table.tls, endpoint) {
            (None, _) => None,
            (Some(tls), Endpoint::Connect(_)) => {
                let message = "`tls` is for a component that connects: write `upstream-tls`";
                return Err((tls.span(), message.to_owned()));
            }
            (Some(tls), Endpoint::Listen(_)) => {
                let config = tls.get_ref().resolved(&mut file);
                Some(tls::server(&config).map_err(|message| (tls.span(), message))?.into())
            }
        };
        let connects = match (table.upstream_tls, endpoint) {
            (None, _) => None,
            (Some(tls), Endpoint::Listen(_)) => {
                let message = "`upstream-tls` is for a component that is connected to: write `tls`";
                return Err((tls.span(), message.to_owned()));
            }
            (Some(tls), Endpoint::Connect(address)) => {
                let config = tls.get_ref().resolved(&mut file);
                let made = tls::client(&config, Some(address)).map_err(|message| (tls.span(), message))?;
                Some((made.0.into(), made.1))
            }
        };
        if table.codec.get_ref().kind == Kind::JsonHttp {
            let message =
                "`json-http` is for listeners between two parties: a role of a network has one connection";
            return Err((table.codec.span(), message.to_owned()));
        }
        let is_websocket = table.codec.get_ref().kind == Kind::WebSocket;
        if let (true, Some(resume), Endpoint::Listen(_)) = (is_websocket, table.resume, endpoint)
            && *resume.get_ref()
        {
            let message = "a component that connects over WebSocket has no line before its messages in which to say that it is back";
            return Err((resume.span(), message.to_owned()));
        }
        let path = match table.path {
            Some(path) if !is_websocket || matches!(endpoint, Endpoint::Listen(_)) => {
                let message = "`path` is what a WebSocket is asked for that the monitor connects to";
                return Err((path.span(), message.to_owned()));
            }
            Some(path) if !path.get_ref().starts_with('/') => {
                return Err((path.span(), format!("`{}` is no path: it begins with `/`", path.get_ref())));
            }
            path => path,
        };
        let websocket = if is_websocket {
            let host = match endpoint {
                Endpoint::Connect(Address::Tcp(address)) => address.as_str(),
                Endpoint::Connect(Address::Unix(_)) | Endpoint::Listen(_) => "localhost",
            };
            let written = path.map_or("/", |path| path.get_ref().as_str());
            let span = path.map_or_else(|| table.codec.span(), toml::Spanned::span);
            let target: Result<Uri, _> = format!("ws://{host}{written}").parse();
            Some(target.map_err(|error| (span, format!("`{host}{written}` cannot be asked for: {error}")))?)
        } else {
            None
        };
        let own_texts = OwnTexts::new(table.codec.get_ref());
        let tls = ArcSwap::from_pointee(TlsSides { accepts, connects });
        Ok(Self { tls, websocket, limit, own_texts })
    }

    /// New connections are made with the certificates of `other`.
    pub(super) fn renew(&self, other: &Self) {
        self.tls.store(other.tls.load_full());
    }

    pub(super) async fn accept(&self, socket: Socket) -> io::Result<Stream> {
        let stream = match &self.tls.load_full().accepts {
            None => Stream::Plain(socket),
            Some(acceptor) => Stream::TlsServer(Box::new(acceptor.accept(TlsSocket::new(socket)).await?)),
        };
        Ok(match &self.websocket {
            None => stream,
            Some(_) => Stream::WebSocket(Box::new(WebSocket::accept(stream, self.limit).await?)),
        })
    }

    pub(super) async fn connect(&self, address: &Address) -> io::Result<Stream> {
        let socket = Socket::connect(address).await?;
        let stream = match &self.tls.load_full().connects {
            None => Stream::Plain(socket),
            Some((connector, name)) => {
                Stream::TlsClient(Box::new(connector.connect(name.clone(), TlsSocket::new(socket)).await?))
            }
        };
        Ok(match &self.websocket {
            None => stream,
            Some(target) => {
                Stream::WebSocket(Box::new(WebSocket::connect(stream, target, self.limit).await?))
            }
        })
    }

    /// `text` of the monitor's own as a message that the component can read; `None` if it is too long for its framing.
    pub(super) fn frame(&self, text: &str) -> Option<Bytes> {
        match &self.websocket {
            None => self.own_texts.write(text),
            Some(_) => Some(text_frame(text.as_bytes())),
        }
    }

    /// Whether components send pings, which must be answered.
    pub(super) fn has_pings(&self) -> bool {
        self.websocket.is_some()
    }

    pub(super) fn in_words(&self) -> &'static str {
        let tls = self.tls.load();
        match (tls.accepts.is_some() || tls.connects.is_some(), self.websocket.is_some()) {
            (false, false) => "",
            (true, false) => " with TLS",
            (false, true) => " over WebSocket",
            (true, true) => " over WebSocket with TLS",
        }
    }
}
