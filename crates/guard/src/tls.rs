//! TLS on either side, with rustls. Certificates are read when a plan is made; a changed file makes a new plan.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::config::{Address, TlsIn, TlsOut};

/// Where systems keep the authorities they trust.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(format!("`{}` holds no certificate", path.display())),
        Err(error) => Err(format!("`{}` is no PEM file: {error}", path.display())),
    }
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|e| format!("`{}` holds no key: {e}", path.display()))
}

fn authorities(path: &Path) -> Result<Arc<RootCertStore>, String> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(path)? {
        store.add(certificate).map_err(|error| format!("`{}`: {error}", path.display()))?;
    }
    Ok(Arc::new(store))
}

/// How a server is recognised, and what its name is.
pub(crate) type ClientSide = (Arc<ClientConfig>, ServerName<'static>);

/// Whether the certificate that the other side has shown bears `name`.
pub(crate) fn bears_name(shown: Option<&[CertificateDer<'_>]>, name: &str) -> bool {
    let Some(certificate) = shown.and_then(<[_]>::first) else { return false };
    let Ok(name) = ServerName::try_from(name) else { return false };
    rustls::server::ParsedCertificate::try_from(certificate)
        .is_ok_and(|parsed| rustls::client::verify_server_name(&parsed, &name).is_ok())
}

/// Whether who trusts `ca` accepts `certificate` today, whatever name it bears.
pub(crate) fn is_accepted(certificate: &Path, ca: &Path) -> Result<(), String> {
    let chain = certificates(certificate)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(authorities(ca)?, provider())
        .build()
        .map_err(|error| format!("`{}`: {error}", ca.display()))?;
    let Some((end, between)) = chain.split_first() else { return Ok(()) };
    match verifier.verify_client_cert(end, between, UnixTime::now()) {
        Ok(_) => Ok(()),
        Err(error) => {
            let (certificate, ca) = (certificate.display(), ca.display());
            Err(format!("who trusts `{ca}` does not accept `{certificate}`: {error}"))
        }
    }
}

/// What clients are shown and asked for.
pub(crate) fn server(config: &TlsIn) -> Result<Arc<ServerConfig>, String> {
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match &config.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(authorities(path)?, provider())
                .build()
                .map_err(|error| format!("`{}`: {error}", path.display()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder
        .with_single_cert(certificates(&config.certificate)?, key(&config.key)?)
        .map(Arc::new)
        .map_err(|error| format!("`{}` and its key do not fit: {error}", config.certificate.display()))
}

/// How the server is recognised, and what it is shown.
pub(crate) fn client(config: &TlsOut, upstream: Option<&Address>) -> Result<ClientSide, String> {
    let name = config.server_name.as_deref().or(upstream.and_then(Address::host));
    let name = name.ok_or("say with `server-name` what the server's certificate must bear")?;
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| format!("`{name}` is no name that a certificate can bear"))?;
    let store = match &config.ca {
        Some(path) => authorities(path)?,
        None => {
            let system = SYSTEM_AUTHORITIES.iter().map(Path::new).find(|path| path.exists());
            authorities(system.ok_or("this system has no list of authorities; name one with `ca`")?)?
        }
    };
    let verifier =
        WebPkiServerVerifier::builder_with_provider(store, provider()).build().map_err(|e| e.to_string())?;
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_webpki_verifier(verifier);
    let config = match (&config.certificate, &config.key) {
        (Some(certificate), Some(path)) => builder
            .with_client_auth_cert(certificates(certificate)?, key(path)?)
            .map_err(|error| format!("`{}` and its key do not fit: {error}", certificate.display()))?,
        (None, None) => builder.with_no_client_auth(),
        _ => return Err("`certificate` and `key` go together".to_owned()),
    };
    Ok((Arc::new(config), name))
}
