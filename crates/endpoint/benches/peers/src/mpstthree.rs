//! The same with mpstthree, whose roles are threads.

use std::error::Error;

use mpstthree::binary::struct_trait::end::End;
use mpstthree::binary::struct_trait::recv::Recv;
use mpstthree::binary::struct_trait::send::Send;
use mpstthree::functionmpst::fork::fork_mpst;
use mpstthree::meshedchannels::MeshedChannels;
use mpstthree::name::a::NameA;
use mpstthree::name::b::NameB;
use mpstthree::name::c::NameC;
use mpstthree::role::a::RoleA;
use mpstthree::role::b::RoleB;
use mpstthree::role::c::RoleC;
use mpstthree::role::end::RoleEnd;

use crate::Player;

pub const PLAYERS: [Player; 3] = [
    ("mesh, threads", "mpstthree 0.1.17", 500, mesh),
    ("ring, threads", "mpstthree 0.1.17", 500, ring),
    ("three-adder, threads", "mpstthree 0.1.17", 500, three_adder),
];

type Done = Result<(), Box<dyn Error>>;
type Asks = Send<i64, Recv<i64, End>>;
type Answers = Recv<i64, Send<i64, End>>;

type AdderA = MeshedChannels<Asks, Asks, RoleB<RoleB<RoleC<RoleC<RoleEnd>>>>, NameA>;
type AdderB = MeshedChannels<Answers, Asks, RoleA<RoleA<RoleC<RoleC<RoleEnd>>>>, NameB>;
type AdderC = MeshedChannels<Answers, Answers, RoleA<RoleB<RoleA<RoleB<RoleEnd>>>>, NameC>;

fn adder_a(s: AdderA) -> Done {
    let (y, s) = s.send(2).recv()?;
    let (z, s) = s.send(y).recv()?;
    assert_eq!(z, 5);
    s.close()
}

fn adder_b(s: AdderB) -> Done {
    let (x, s) = s.recv()?;
    let (z, s) = s.send(3).send(x).recv()?;
    assert_eq!(z, 5);
    s.close()
}

fn adder_c(s: AdderC) -> Done {
    let (y, s) = s.recv()?;
    let (x, s) = s.recv()?;
    s.send(x + y).send(x + y).close()
}

type RingA = MeshedChannels<Send<i64, End>, Recv<i64, End>, RoleB<RoleC<RoleEnd>>, NameA>;
type RingB = MeshedChannels<Recv<i64, End>, Send<i64, End>, RoleA<RoleC<RoleEnd>>, NameB>;
type RingC = MeshedChannels<Send<i64, End>, Recv<i64, End>, RoleB<RoleA<RoleEnd>>, NameC>;

fn ring_a(s: RingA) -> Done {
    let (x, s) = s.send(10).recv()?;
    assert_eq!(x, 200);
    s.close()
}

fn ring_b(s: RingB) -> Done {
    let (x, s) = s.recv()?;
    s.send(x * x).close()
}

fn ring_c(s: RingC) -> Done {
    let (x, s) = s.recv()?;
    s.send(x * 2).close()
}

type MeshC = MeshedChannels<Answers, Answers, RoleA<RoleA<RoleB<RoleB<RoleEnd>>>>, NameC>;

fn mesh_a(s: AdderA) -> Done {
    let (x, s) = s.send(1).recv()?;
    let (y, s) = s.send(2).recv()?;
    assert_eq!((x, y), (3, 4));
    s.close()
}

fn mesh_b(s: AdderB) -> Done {
    let (x, s) = s.recv()?;
    let (y, s) = s.send(3).send(5).recv()?;
    assert_eq!((x, y), (1, 6));
    s.close()
}

fn mesh_c(s: MeshC) -> Done {
    let (x, s) = s.recv()?;
    let (y, s) = s.send(4).recv()?;
    assert_eq!((x, y), (2, 5));
    s.send(6).close()
}

fn three_adder() {
    let (a, b, c) = fork_mpst(adder_a, adder_b, adder_c);
    [a, b, c].into_iter().for_each(|thread| thread.join().unwrap());
}

fn ring() {
    let (a, b, c) = fork_mpst(ring_a, ring_b, ring_c);
    [a, b, c].into_iter().for_each(|thread| thread.join().unwrap());
}

fn mesh() {
    let (a, b, c) = fork_mpst(mesh_a, mesh_b, mesh_c);
    [a, b, c].into_iter().for_each(|thread| thread.join().unwrap());
}
