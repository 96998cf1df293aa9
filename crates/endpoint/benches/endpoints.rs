//! Generated endpoints beside channels written by hand: `cargo xtask bench endpoints`.
//!
//! The same game (`examples/game`), with the same assertions checked: both roles in one thread, so that only the steps cost; and a thread for
//! each, as programs have them. Each figure is the best of nine runs, in turns.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use referee_endpoint::{Local, local};

#[path = "../../generate/tests/golden/game.rs"]
#[allow(unreachable_pub, reason = "it is a module of a program elsewhere")]
mod game;

use game::Message;

const RUNS: usize = 9;
const ROUNDS_IN_ONE_THREAD: i64 = 1_000_000;
const ROUNDS_BETWEEN_THREADS: i64 = 100_000;

fn number(round: i64) -> i64 {
    2 + round % 97
}

fn links() -> (Local<Message>, Local<Message>) {
    let (player, server) =
        ((game::player::ROLE, &game::player::PEERS[..]), (game::server::ROLE, &game::server::PEERS[..]));
    let mut links = local(&[player, server]).into_iter();
    (links.next().unwrap(), links.next().unwrap())
}

/// Where one side sends, and where it receives.
type Side = (Sender<Message>, Receiver<Message>);

/// Two channels, as one writes them.
fn channels() -> (Side, Side) {
    let ((to_server, at_server), (to_player, at_player)) = (channel(), channel());
    ((to_server, at_player), (to_player, at_server))
}

fn generated_serve(link: Local<Message>) {
    let mut server = game::server::Start::new(link);
    loop {
        match server.recv().unwrap() {
            game::server::StartEvent::Guess { next, .. } => server = next.incorrect().unwrap(),
            game::server::StartEvent::Quit { next } => {
                next.close();
                return;
            }
        }
    }
}

fn written_serve((out, inbox): &Side) {
    loop {
        match inbox.recv().unwrap() {
            Message::Guess { num } if num > 1 && num < 100 => out.send(Message::Incorrect).unwrap(),
            Message::Quit => return,
            other => unreachable!("{other:?}"),
        }
    }
}

fn generated_in_one_thread() {
    let (player, server) = links();
    let (mut player, mut server) = (game::player::Start::new(player), game::server::Start::new(server));
    for round in 0..ROUNDS_IN_ONE_THREAD {
        let waiting = player.guess(black_box(number(round))).unwrap();
        let game::server::StartEvent::Guess { next, .. } = server.recv().unwrap() else { unreachable!() };
        server = next.incorrect().unwrap();
        let game::player::AfterGuessEvent::Incorrect { next } = waiting.recv().unwrap() else {
            unreachable!()
        };
        player = next;
    }
    player.quit().unwrap().close();
    generated_serve_rest(server);
}

fn generated_serve_rest(server: game::server::Start<Local<Message>>) {
    let game::server::StartEvent::Quit { next } = server.recv().unwrap() else { unreachable!() };
    next.close();
}

fn written_in_one_thread() {
    let (player, server) = channels();
    for round in 0..ROUNDS_IN_ONE_THREAD {
        let num = black_box(number(round));
        assert!(num > 1 && num < 100);
        player.0.send(Message::Guess { num }).unwrap();
        match server.1.recv().unwrap() {
            Message::Guess { num } if num > 1 && num < 100 => server.0.send(Message::Incorrect).unwrap(),
            other => unreachable!("{other:?}"),
        }
        match player.1.recv().unwrap() {
            Message::Incorrect => {}
            Message::Correct { ans } => assert_eq!(ans, num),
            other => unreachable!("{other:?}"),
        }
    }
}

fn generated_between_threads() {
    let (player, server) = links();
    let server = thread::spawn(move || generated_serve(server));
    let mut player = game::player::Start::new(player);
    for round in 0..ROUNDS_BETWEEN_THREADS {
        match player.guess(number(round)).unwrap().recv().unwrap() {
            game::player::AfterGuessEvent::Incorrect { next } => player = next,
            game::player::AfterGuessEvent::Correct { .. } => unreachable!(),
        }
    }
    player.quit().unwrap().close();
    server.join().unwrap();
}

fn written_between_threads() {
    let (player, server) = channels();
    let server = thread::spawn(move || written_serve(&server));
    for round in 0..ROUNDS_BETWEEN_THREADS {
        let num = number(round);
        assert!(num > 1 && num < 100);
        player.0.send(Message::Guess { num }).unwrap();
        match player.1.recv().unwrap() {
            Message::Incorrect => {}
            other => unreachable!("{other:?}"),
        }
    }
    player.0.send(Message::Quit).unwrap();
    server.join().unwrap();
}

/// The best times of both. They take turns, so that whatever else the machine does hits both.
fn best(runs: [fn(); 2]) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..RUNS {
        for (run, best) in runs.iter().zip(&mut best) {
            let start = Instant::now();
            run();
            *best = start.elapsed().min(*best);
        }
    }
    best
}

fn compare(what: &str, rounds: i64, generated: fn(), written: fn()) {
    let [generated, written] =
        best([generated, written]).map(|time| 2.0 * rounds as f64 / time.as_secs_f64());
    println!(
        "{what}: generated {:.2} million messages/s, by hand {:.2}, ratio {:.2}",
        generated / 1e6,
        written / 1e6,
        generated / written
    );
}

/// Other crates with session types. One that does not build is named.
const PEERS: [&str; 4] = ["rumpsteak", "mpstthree", "dialectic", "sesh"];

/// The benchmarks that other crates publish, played by generated endpoints and by those crates: a package of its own (`benches/peers`), which no other
/// build sees.
fn peers() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/Cargo.toml");
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/endpoint-peers");
    let builds = |features: &str| {
        let build = ["build", "--release", "--quiet", "--manifest-path", manifest, "--target-dir", target];
        // The compiler that built this program: the one on the path may be another one, chosen by where it is called.
        let cargo = Path::new(env!("CARGO"));
        let mut command = Command::new(cargo);
        command.args(build).args(["--features", features]).env("RUSTC", cargo.with_file_name("rustc"));
        command.output().is_ok_and(|output| output.status.success())
    };
    let mut features = String::new();
    for peer in PEERS {
        let more = format!("{features},{peer}");
        if builds(&more) {
            features = more;
        } else {
            println!("{peer} does not build here");
        }
    }
    if builds(&features) {
        let output = Command::new(format!("{target}/release/referee-endpoint-peers")).output().unwrap();
        println!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn main() {
    compare("in one thread", ROUNDS_IN_ONE_THREAD, generated_in_one_thread, written_in_one_thread);
    compare(
        "between two threads",
        ROUNDS_BETWEEN_THREADS,
        generated_between_threads,
        written_between_threads,
    );
    peers();
}
