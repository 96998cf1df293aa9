//! A network on loopback: one guard for each role, components that are this test's own sockets, and a proxy between
//! monitors that cuts, delays and holds back what goes through it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use referee_guard::{Guard, Plans};
use referee_testkit::ports::free_ports;
use serde_json::Value;

use crate::support::{Folder, PATIENCE};

/// What RV'23 calls G_auth, with values that can be followed.
pub(crate) const PROTOCOL: &str = r#"
protocol Auth(role s, role c, role a) {
  rec X {
    choice at s {
      login(n: int) from s to c where n >= 0;
      pwd(m: int) from c to a;
      succ(k: int) from a to s;
      continue X;
    } or {
      quit() from s to c;
    }
  }
}
"#;

pub(crate) const ROLES: [&str; 3] = ["s", "c", "a"];

/// What differs from one network to another.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    /// Into `[multiparty]`.
    pub(crate) top: String,
    /// Into the table of each role, by role.
    pub(crate) role: BTreeMap<&'static str, String>,
    /// Into `[multiparty]` of one role's process only.
    pub(crate) only: BTreeMap<&'static str, String>,
    /// What is spoken, if not [`PROTOCOL`]; the roles are the same.
    pub(crate) protocol: Option<&'static str>,
    /// Whether monitors reach each other through a proxy.
    pub(crate) chaos: bool,
    /// The seed of what the proxy does.
    pub(crate) seed: u64,
}

pub(crate) struct Network {
    pub(crate) guards: BTreeMap<&'static str, Guard>,
    pub(crate) configs: BTreeMap<&'static str, String>,
    /// Where the component of each role connects.
    pub(crate) places: BTreeMap<&'static str, String>,
    pub(crate) folder: Folder,
    pub(crate) proxies: Vec<Proxy>,
}

impl Setup {
    pub(crate) fn start(&self) -> Network {
        let folder = Folder::new();
        self.start_in(folder)
    }

    pub(crate) fn start_in(&self, folder: Folder) -> Network {
        std::fs::write(folder.0.join("auth.scr"), self.protocol.unwrap_or(PROTOCOL)).unwrap();
        let ports = free_ports(6);
        let mut proxies = Vec::new();
        let (mut guards, mut configs, mut places) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (index, role) in ROLES.into_iter().enumerate() {
            let mut peers = String::new();
            for (other, peer) in ROLES.into_iter().enumerate().filter(|(_, peer)| *peer != role) {
                let mut port = ports[other];
                if self.chaos {
                    proxies.push(Proxy::start(port, self.seed.wrapping_add((index * 3 + other) as u64)));
                    port = proxies.last().unwrap().port;
                }
                peers += &format!("[multiparty.peer.{peer}]\naddress = \"127.0.0.1:{port}\"\n");
            }
            let text = format!(
                "[multiparty]\nprotocol = \"auth.scr\"\nlisten = \"127.0.0.1:{}\"\n{}\n{}\n{peers}\n\
                 [[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:{}\"\n\
                 close-message = '{{json}}'\n{}\n[multiparty.role.codec]\nkind = \"json\"\n",
                ports[index],
                self.top.replace("FOLDER", &folder.0.display().to_string()),
                self.only.get(role).map_or("", |text| text),
                ports[index + 3],
                self.role.get(role).map_or("", |text| text),
            );
            places.insert(role, format!("127.0.0.1:{}", ports[index + 3]));
            configs.insert(role, text);
        }
        for (role, text) in &configs {
            guards.insert(*role, start(&folder, text));
        }
        Network { guards, configs, places, folder, proxies }
    }
}

pub(crate) fn start(folder: &Folder, text: &str) -> Guard {
    match Plans::read(text, &folder.0, &|_| None) {
        Ok(plans) => Guard::start(&plans, Vec::new()).unwrap(),
        Err(refusal) => panic!("{refusal:?}\n{text}"),
    }
}

impl Network {
    pub(crate) fn connect(&self, role: &str) -> Component {
        Component::new(TcpStream::connect(&self.places[role]).unwrap())
    }

    /// The components of one more session.
    pub(crate) fn session(&self) -> [Component; 3] {
        ["s", "c", "a"].map(|role| self.connect(role))
    }

    pub(crate) fn metric(&self, role: &str, start: &str) -> f64 {
        crate::support::metric(&self.guards[role].metrics(), start).unwrap_or(0.0)
    }

    pub(crate) fn wait(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !done(self) {
            assert!(start.elapsed() < PATIENCE, "{what} did not happen:\n{}", self.guards["s"].metrics());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Until a session can begin again.
    pub(crate) fn wait_for_a_session(&self) {
        let login = r#"{"type":"login","n":5}"#;
        self.wait("a new session", |network| {
            let mut session = network.session();
            session[0].send(login);
            session[1].line_within(Duration::from_millis(500)).as_deref() == Some(login)
        });
    }

    pub(crate) fn wait_idle(&self) {
        self.wait("the end of all sessions", |network| {
            network.guards.values().all(|guard| guard.open_sessions() == 0)
        });
    }
}

/// A component: JSON, one document in each line.
pub(crate) struct Component {
    reader: BufReader<TcpStream>,
}

impl Component {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        // Who has been cut off hears it when reading.
        let _ = self.reader.get_mut().write_all(bytes);
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.raw(format!("{text}\n").as_bytes());
    }

    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn line_within(&mut self, time: Duration) -> Option<String> {
        self.reader.get_ref().set_read_timeout(Some(time)).unwrap();
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        self.reader.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        read.is_ok_and(|count| count > 0).then(|| line.trim_end().to_owned())
    }

    pub(crate) fn expect(&mut self, text: &str) {
        assert_eq!(self.line().as_deref(), Some(text));
    }

    /// What it is told of a violation, and that it is cut off then.
    pub(crate) fn notice(&mut self) -> Value {
        let Some(said) = self.line() else { panic!("a component was cut off without a word") };
        let notice = serde_json::from_str(&said).unwrap();
        assert_eq!(self.line(), None);
        notice
    }

    /// Sends nothing more.
    pub(crate) fn hush(&mut self) {
        let _ = self.reader.get_mut().shutdown(Shutdown::Write);
    }

    /// Everything until the connection is closed.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        let _ = self.reader.read_to_string(&mut rest);
        rest
    }

    pub(crate) fn end(mut self) {
        self.hush();
        let mut rest = Vec::new();
        let _ = self.reader.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }
}

/// One loop of a session, number `n`.
pub(crate) fn turn([s, c, a]: &mut [Component; 3], n: u64) {
    s.send(&format!(r#"{{"type":"login","n":{n}}}"#));
    c.expect(&format!(r#"{{"type":"login","n":{n}}}"#));
    c.send(&format!(r#"{{"type":"pwd","m":{n}}}"#));
    a.expect(&format!(r#"{{"type":"pwd","m":{n}}}"#));
    a.send(&format!(r#"{{"type":"succ","k":{n}}}"#));
    s.expect(&format!(r#"{{"type":"succ","k":{n}}}"#));
}

/// The end of a session.
pub(crate) fn quit([mut s, mut c, a]: [Component; 3]) {
    s.send(r#"{"type":"quit"}"#);
    c.expect(r#"{"type":"quit"}"#);
    [s, c, a].into_iter().for_each(Component::end);
}

/// Forwards connections to one port, and mistreats them.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Nothing goes through, either way, but nothing is closed.
    held: AtomicBool,
    /// Connections break every so often.
    cutting: AtomicBool,
    stopped: AtomicBool,
    cuts: AtomicU64,
    random: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl State {
    fn random(&self, below: u64) -> u64 {
        let mut x = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % below
    }

    fn cut_all(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Proxy {
    fn start(target: u16, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State { random: AtomicU64::new(seed), ..State::default() });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                if shared.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                for stream in [&near, &far] {
                    let _ = stream.set_nodelay(true);
                    shared.open.lock().unwrap().push(stream.try_clone().unwrap());
                }
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to, shared) =
                        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&shared));
                    thread::spawn(move || forward(from, to, &shared));
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn hold(&self, held: bool) {
        self.state.held.store(held, Ordering::Relaxed);
    }

    pub(crate) fn cutting(&self, cutting: bool) {
        self.state.cutting.store(cutting, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self) {
        self.state.cut_all();
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Relaxed);
        self.state.cut_all();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, state: &State) {
    let mut buffer = [0; 512];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        while state.held.load(Ordering::Relaxed) && !state.stopped.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(2));
        }
        if state.cutting.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_micros(state.random(2000)));
            if state.random(8) == 0 {
                // Some of it gets through, and some does not.
                let some = usize::try_from(state.random(count as u64)).unwrap();
                let _ = to.write_all(&buffer[..some]);
                state.cuts.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
