//! A server that JSON is posted to: a collector, the receiver of alerts.

use std::io;
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio_rustls::TlsConnector;

use crate::config::{Address, TlsOut};
use crate::stream::{Socket, Stream};
use crate::tls;
use crate::tls_records::TlsSocket;

/// A server, and where on it.
pub struct Endpoint {
    /// With its port.
    host: String,
    path: String,
    tls: Option<tls::ClientSide>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.host, self.path)
    }
}

impl Endpoint {
    /// The server at `http[s]://HOST[:PORT][/PATH]`, with the port and the path that plain HTTP has where the URL has none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(url: &str, port: u16, path: &str, tls: Option<&TlsOut>) -> Result<Self, String> {
        let (is_tls, address) = match url.split_once("://") {
            Some(("http", address)) => (false, address),
            Some(("https", address)) => (true, address),
            _ => return Err("only `http://HOST:PORT` and `https://HOST:PORT` can be exported to".to_owned()),
        };
        let (host, own_path) = address.split_once('/').unwrap_or((address, ""));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let port = if is_tls { 443 } else { port };
        let host = if has_port { host.to_owned() } else { format!("{host}:{port}") };
        let own_path = own_path.trim_end_matches('/');
        let path = if own_path.is_empty() { path.to_owned() } else { format!("/{own_path}") };
        let named = Address::Tcp(host.clone());
        let tls = is_tls.then(|| tls::client(&tls.cloned().unwrap_or_default(), Some(&named)));
        Ok(Self { host, path, tls: tls.transpose()? })
    }

    /// Its name and port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Posts `body`, within `limit`.
    ///
    /// # Errors
    /// It could not be reached, did not answer in time, or answered that it did not take it.
    pub fn post(&self, body: String, headers: &[(&str, &str)], limit: Duration) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { tokio::time::timeout(limit, self.send(body, headers)).await? })
    }

    async fn send(&self, body: String, headers: &[(&str, &str)]) -> io::Result<()> {
        let socket = Socket::connect(&Address::Tcp(self.host.clone())).await?;
        let stream = match self.tls.clone() {
            None => Stream::Plain(socket),
            Some((config, name)) => Stream::TlsClient(Box::new(
                TlsConnector::from(config).connect(name, TlsSocket::new(socket)).await?,
            )),
        };
        let connection = http1::Builder::new().title_case_headers(true).handshake(TokioIo::new(stream));
        let (mut sender, connection) = connection.await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let mut request =
            Request::post(&self.path).header(HOST, &self.host).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(io::Error::other)?;
        let answer = sender.send_request(request).await.map_err(io::Error::other)?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{} said {}", self.host, answer.status())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_defaults() {
        let of = |url: &str| format!("{:?}", Endpoint::new(url, 4318, "/v1/traces", None).unwrap());
        assert_eq!(of("http://127.0.0.1"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(of("http://[::1]"), "http://[::1]:4318/v1/traces");
        assert_eq!(of("http://collector:80/"), "http://collector:80/v1/traces");
        assert_eq!(of("http://collector/custom/traces"), "http://collector:4318/custom/traces");
        assert!(Endpoint::new("ftp://collector", 80, "/", None).unwrap_err().contains("https://"));
    }
}
