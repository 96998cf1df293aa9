//! Components of the authorisation protocol that cost next to nothing: threads here, one connection each way, answers
//! before anything else is done.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::monitors::{Monitors, NAMES};
use super::{LOOPS, Monitored};
use crate::workspace;

const ROLES: [&str; 3] = ["s", "c", "a"];
/// Far longer than any loop.
const PATIENCE: Duration = Duration::from_secs(20);

/// The loops of components that post to each other.
pub(super) fn direct() -> Result<Vec<f64>> {
    let listeners = listeners()?;
    let ports = ports(&listeners)?;
    // s to c, c to a, a to s.
    let network = Network::start(listeners, [ports[1], ports[2], ports[0]])?;
    network.server.send(&["login".into()])?;
    network.loops()
}

/// The loops of components that post to monitors, whose configurations are put into `folder`.
pub(super) fn monitored(folder: &Path) -> Result<Monitored> {
    let listeners = listeners()?;
    let components = ports(&listeners)?;
    let places = ports(&self::listeners()?)?;
    let monitors = Monitors::start(&configurations(folder, &components, &places)?)?;
    // Monitors tell s to begin.
    let network = Network::start(listeners, [places[0], places[1], places[2]])?;
    let loops = network.loops()?;
    let costs = monitors.costs()?;
    let idle = monitors.idle()?;
    network.server.send(&["quit".into()])?;
    monitors.end()?;
    ensure!(!network.alarmed.load(Ordering::Relaxed), "a component was told of a violation");
    Ok(Monitored { loops, costs, idle })
}

fn listeners() -> Result<Vec<TcpListener>> {
    ROLES.iter().map(|_| Ok(TcpListener::bind("127.0.0.1:0")?)).collect()
}

fn ports(listeners: &[TcpListener]) -> Result<Vec<u16>> {
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Those of `examples/auth3`, at other places.
fn configurations(folder: &Path, components: &[u16], monitors: &[u16]) -> Result<Vec<(PathBuf, u16)>> {
    let examples = workspace::root().join("examples/auth3");
    let mut files = Vec::new();
    for (own, name) in NAMES.iter().enumerate() {
        let text = fs::read_to_string(examples.join(name).with_extension("json"))?;
        let mut file: Value = serde_json::from_str(&text)?;
        file["monitorPort"] = monitors[own].into();
        for (peer, role) in ROLES.iter().enumerate() {
            let port = if peer == own { components[own] } else { monitors[peer] };
            file["participants"][role] = format!("http://127.0.0.1:{port}").into();
        }
        let path = folder.join(name).with_extension("json");
        fs::write(&path, file.to_string())?;
        files.push((path, monitors[own]));
    }
    Ok(files)
}

/// The three components.
struct Network {
    server: Arc<Component>,
    times: Receiver<f64>,
    alarmed: Arc<AtomicBool>,
}

impl Network {
    /// Component i listens at `listeners[i]` and posts to port `next[i]`.
    fn start(listeners: Vec<TcpListener>, next: [u16; 3]) -> Result<Self> {
        let (sender, times) = mpsc::channel();
        let alarmed = Arc::new(AtomicBool::new(false));
        let component = |index: usize| {
            Arc::new(Component {
                role: ROLES[index],
                receiver: ROLES[(index + 1) % 3],
                next: next[index],
                connection: Mutex::new(None),
                progress: Mutex::new((LOOPS, Instant::now())),
                times: sender.clone(),
                alarmed: Arc::clone(&alarmed),
            })
        };
        let server = component(0);
        for (index, listener) in listeners.into_iter().enumerate() {
            let component = if index == 0 { Arc::clone(&server) } else { component(index) };
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let component = Arc::clone(&component);
                    thread::spawn(move || component.answer(stream));
                }
            });
        }
        Ok(Self { server, times, alarmed })
    }

    /// The seconds of every loop, when all are over.
    fn loops(&self) -> Result<Vec<f64>> {
        let next =
            |number| self.times.recv_timeout(PATIENCE).with_context(|| format!("stuck in loop {number}"));
        (0..LOOPS).map(next).collect()
    }
}

struct Component {
    role: &'static str,
    /// Whom it sends to; each sends to one other only.
    receiver: &'static str,
    next: u16,
    connection: Mutex<Option<BufReader<TcpStream>>>,
    /// Of the server: loops that are left, and when the present one began.
    progress: Mutex<(usize, Instant)>,
    times: Sender<f64>,
    alarmed: Arc<AtomicBool>,
}

impl Component {
    /// Answers one connection after another request, and does what follows from it. What goes wrong is seen by the
    /// loops not going on.
    fn answer(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        while let Some((head, body)) = read(&mut stream)? {
            stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
            if head.starts_with("POST / ") {
                let message: Value = serde_json::from_slice(&body)?;
                self.take(&message["payload"])?;
            } else if head.starts_with("POST /api/alive ") && self.role == "s" {
                self.send(&["login".into()])?;
            } else if head.starts_with("POST /api/violation ") {
                self.alarmed.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Labels that need no answer, and those that monitors tell, are passed over.
    fn take(&self, payload: &Value) -> Result<()> {
        match (self.role, payload) {
            ("c", Value::String(label)) if label == "login" => {
                self.send(&["passwd".into(), "opensesame".into()])
            }
            ("c", Value::String(label)) if label == "quit" => self.send(&["quit".into()]),
            ("a", Value::String(value)) if value == "opensesame" => self.send(&["auth".into(), true.into()]),
            ("s", Value::Bool(true)) => {
                let left = {
                    let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
                    let (left, began) = &mut *progress;
                    let _ = self.times.send(began.elapsed().as_secs_f64());
                    *began = Instant::now();
                    *left = left.saturating_sub(1);
                    *left
                };
                if left > 0 { self.send(&["login".into()]) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Posts payloads one after the other, each when the one before was answered.
    fn send(&self, payloads: &[Value]) -> Result<()> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match &mut *connection {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(("127.0.0.1", self.next))?;
                stream.set_nodelay(true)?;
                none.insert(BufReader::new(stream))
            }
        };
        for payload in payloads {
            let body =
                json!({ "sender": self.role, "receiver": self.receiver, "payload": payload }).to_string();
            let request = format!(
                "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.get_mut().write_all(request.as_bytes())?;
            let Some((head, _)) = read(stream)? else { bail!("no answer") };
            ensure!(head.starts_with("HTTP/1.1 200"), "refused: {head}");
        }
        Ok(())
    }
}

/// The first line and the body of what comes next; `None` at the end.
fn read(stream: &mut BufReader<TcpStream>) -> Result<Option<(String, Vec<u8>)>> {
    let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
    if stream.read_line(&mut head)? == 0 {
        return Ok(None);
    }
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse()?
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Some((head, body)))
}
