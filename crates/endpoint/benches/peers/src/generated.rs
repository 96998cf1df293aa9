//! What `referee generate` writes, over links of one process: all roles in one thread, and a thread for each.

use futures::executor::block_on;
use futures::try_join;
use referee_endpoint::{Error, LocalTask, local_tasks};

use crate::{Player, VALUES};

macro_rules! protocols {
    ($($name:ident)+) => {$(
        #[allow(unused, clippy::all)]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )+};
}

protocols! { double_buffering mesh ring streaming three_adder }

pub const PLAYERS: [Player; 8] = [
    ("double buffering", "generated", 20_000, double_buffering_session),
    ("mesh", "generated", 20_000, mesh_session),
    ("mesh, threads", "generated", 500, mesh_threads),
    ("ring", "generated", 20_000, ring_session),
    ("ring, threads", "generated", 500, ring_threads),
    ("streaming of 1,000", "generated", 50, streaming_session),
    ("three-adder", "generated", 20_000, three_adder_session),
    ("three-adder, threads", "generated", 500, three_adder_threads),
];

/// The roles of a protocol at their beginning, over links to each other.
macro_rules! roles {
    ($protocol:ident: $($role:ident)+) => {{
        use $protocol::{$($role),+};
        let mut links = local_tasks(&[$(($role::ROLE, &$role::PEERS[..])),+]).into_iter();
        ($($role::Start::new(links.next().unwrap())),+)
    }};
}

/// Plays `a`, `b` and `c`, each in its own thread.
macro_rules! threads {
    ($protocol:ident: $a:ident $b:ident $c:ident) => {{
        let (a, b, c) = roles!($protocol: a b c);
        let a = std::thread::spawn(|| block_on($a(a)));
        let b = std::thread::spawn(|| block_on($b(b)));
        let c = std::thread::spawn(|| block_on($c(c)));
        [a, b, c].into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    }};
}

async fn adder_a(a: three_adder::a::Start<LocalTask<three_adder::Message>>) -> Result<(), Error> {
    let three_adder::a::AfterMineEvent::Yours { y, next } = a.mine(2).await?.recv().await?;
    let three_adder::a::AfterLeftEvent::Sum { z, next } = next.left(y).await?.recv().await?;
    assert_eq!(z, 5);
    next.close();
    Ok(())
}

async fn adder_b(b: three_adder::b::Start<LocalTask<three_adder::Message>>) -> Result<(), Error> {
    let three_adder::b::StartEvent::Mine { x, next } = b.recv().await?;
    let next = next.yours(3).await?.right(x).await?;
    let three_adder::b::AfterRightEvent::Sum { z, next } = next.recv().await?;
    assert_eq!(z, 5);
    next.close();
    Ok(())
}

async fn adder_c(c: three_adder::c::Start<LocalTask<three_adder::Message>>) -> Result<(), Error> {
    let three_adder::c::StartEvent::Left { y, next } = c.recv().await?;
    let three_adder::c::AfterLeftEvent::Right { x, next } = next.recv().await?;
    next.sum(x + y).await?.sum(x + y).await?.close();
    Ok(())
}

fn three_adder_session() {
    let (a, b, c) = roles!(three_adder: a b c);
    block_on(async { try_join!(adder_a(a), adder_b(b), adder_c(c)) }).unwrap();
}

fn three_adder_threads() {
    threads!(three_adder: adder_a adder_b adder_c);
}

async fn ring_a(a: ring::a::Start<LocalTask<ring::Message>>) -> Result<(), Error> {
    let ring::a::AfterValueEvent::Value { x, next } = a.value(10).await?.recv().await?;
    assert_eq!(x, 200);
    next.close();
    Ok(())
}

async fn ring_b(b: ring::b::Start<LocalTask<ring::Message>>) -> Result<(), Error> {
    let ring::b::StartEvent::Value { x, next } = b.recv().await?;
    next.value(x * x).await?.close();
    Ok(())
}

async fn ring_c(c: ring::c::Start<LocalTask<ring::Message>>) -> Result<(), Error> {
    let ring::c::StartEvent::Value { x, next } = c.recv().await?;
    next.value(x * 2).await?.close();
    Ok(())
}

fn ring_session() {
    let (a, b, c) = roles!(ring: a b c);
    block_on(async { try_join!(ring_a(a), ring_b(b), ring_c(c)) }).unwrap();
}

fn ring_threads() {
    threads!(ring: ring_a ring_b ring_c);
}

async fn mesh_a(a: mesh::a::Start<LocalTask<mesh::Message>>) -> Result<(), Error> {
    let mesh::a::AfterValueEvent::Value { x, next } = a.value(1).await?.recv().await?;
    let mesh::a::AfterValue3Event::Value { x: y, next } = next.value(2).await?.recv().await?;
    assert_eq!((x, y), (3, 4));
    next.close();
    Ok(())
}

async fn mesh_b(b: mesh::b::Start<LocalTask<mesh::Message>>) -> Result<(), Error> {
    let mesh::b::StartEvent::Value { x, next } = b.recv().await?;
    let next = next.value(3).await?.value(5).await?;
    let mesh::b::AfterValue3Event::Value { x: y, next } = next.recv().await?;
    assert_eq!((x, y), (1, 6));
    next.close();
    Ok(())
}

async fn mesh_c(c: mesh::c::Start<LocalTask<mesh::Message>>) -> Result<(), Error> {
    let mesh::c::StartEvent::Value { x, next } = c.recv().await?;
    let mesh::c::AfterValue2Event::Value { x: y, next } = next.value(4).await?.recv().await?;
    assert_eq!((x, y), (2, 5));
    next.value(6).await?.close();
    Ok(())
}

fn mesh_session() {
    let (a, b, c) = roles!(mesh: a b c);
    block_on(async { try_join!(mesh_a(a), mesh_b(b), mesh_c(c)) }).unwrap();
}

fn mesh_threads() {
    threads!(mesh: mesh_a mesh_b mesh_c);
}

async fn source(s: double_buffering::s::Start<LocalTask<double_buffering::Message>>) -> Result<(), Error> {
    let double_buffering::s::StartEvent::Ready { next } = s.recv().await?;
    let double_buffering::s::AfterCopyEvent::Ready { next } = next.copy(1).await?.recv().await?;
    next.copy(2).await?.close();
    Ok(())
}

async fn kernel(k: double_buffering::k::Start<LocalTask<double_buffering::Message>>) -> Result<(), Error> {
    use double_buffering::k::*;
    let AfterReadyEvent::Copy { x, next } = k.ready().await?.recv().await?;
    let AfterCopyEvent::Wanted { next } = next.recv().await?;
    let next = next.copied(x).await?.ready().await?;
    let AfterCopiedReadyEvent::Copy { y, next } = next.recv().await?;
    let AfterCopiedReadyCopyEvent::Wanted { next } = next.recv().await?;
    next.copied(y).await?.close();
    Ok(())
}

async fn sink(t: double_buffering::t::Start<LocalTask<double_buffering::Message>>) -> Result<(), Error> {
    use double_buffering::t::*;
    let AfterWantedEvent::Copied { x, next } = t.wanted().await?.recv().await?;
    let AfterCopiedWantedEvent::Copied { y, next } = next.wanted().await?.recv().await?;
    assert_eq!((x, y), (1, 2));
    next.close();
    Ok(())
}

fn double_buffering_session() {
    let (s, k, t) = roles!(double_buffering: s k t);
    block_on(async { try_join!(source(s), kernel(k), sink(t)) }).unwrap();
}

async fn stream(mut s: streaming::s::Start<LocalTask<streaming::Message>>) -> Result<(), Error> {
    for x in 0..VALUES {
        let streaming::s::StartEvent::Ready { next } = s.recv().await?;
        s = next.value(x).await?;
    }
    let streaming::s::StartEvent::Ready { next } = s.recv().await?;
    next.stop().await?.close();
    Ok(())
}

async fn drain(mut t: streaming::t::Start<LocalTask<streaming::Message>>) -> Result<(), Error> {
    let mut sum = 0;
    loop {
        match t.ready().await?.recv().await? {
            streaming::t::AfterReadyEvent::Value { x, next } => {
                sum += x;
                t = next;
            }
            streaming::t::AfterReadyEvent::Stop { next } => {
                assert_eq!(sum, VALUES * (VALUES - 1) / 2);
                next.close();
                return Ok(());
            }
        }
    }
}

fn streaming_session() {
    let (s, t) = roles!(streaming: s t);
    block_on(async { try_join!(stream(s), drain(t)) }).unwrap();
}
