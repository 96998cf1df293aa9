//! The same with rumpsteak, as in its benchmarks and examples.

use futures::executor::block_on;
use futures::try_join;
use rumpsteak::choice::Choice;
use rumpsteak::role::{Role, Roles, ToFrom};
use rumpsteak::{Branch, End, Label, Receive, Result, Select, Send, try_session};

use crate::{Player, VALUES};

pub const PLAYERS: [Player; 5] = [
    ("double buffering", "rumpsteak 0.1.0", 20_000, double_buffering::session),
    ("mesh", "rumpsteak 0.1.0", 20_000, three::mesh),
    ("ring", "rumpsteak 0.1.0", 20_000, three::ring),
    ("streaming of 1,000", "rumpsteak 0.1.0", 50, streaming::session),
    ("three-adder", "rumpsteak 0.1.0", 20_000, three::adder),
];

mod three {
    use super::*;

    #[derive(Roles)]
    struct Roles(A, B, C);

    #[derive(Role)]
    #[message(Message)]
    struct A(#[route(B)] ToFrom<B>, #[route(C)] ToFrom<C>);

    #[derive(Role)]
    #[message(Message)]
    struct B(#[route(A)] ToFrom<A>, #[route(C)] ToFrom<C>);

    #[derive(Role)]
    #[message(Message)]
    struct C(#[route(A)] ToFrom<A>, #[route(B)] ToFrom<B>);

    #[derive(Label)]
    enum Message {
        Add(Add),
        Sum(Sum),
        Value(i64),
    }

    struct Add(i64);
    struct Sum(i64);

    type AdderA<'a> =
        Send<'a, A, B, Add, Receive<'a, A, B, Add, Send<'a, A, C, Add, Receive<'a, A, C, Sum, End<'a>>>>>;
    type AdderB<'b> =
        Receive<'b, B, A, Add, Send<'b, B, A, Add, Send<'b, B, C, Add, Receive<'b, B, C, Sum, End<'b>>>>>;
    type AdderC<'c> =
        Receive<'c, C, A, Add, Receive<'c, C, B, Add, Send<'c, C, A, Sum, Send<'c, C, B, Sum, End<'c>>>>>;

    async fn adder_a(s: AdderA<'_>) -> Result<((), End<'_>)> {
        let (Add(y), s) = s.send(Add(2))?.receive().await?;
        let (Sum(z), s) = s.send(Add(y))?.receive().await?;
        assert_eq!(z, 5);
        Ok(((), s))
    }

    async fn adder_b(s: AdderB<'_>) -> Result<((), End<'_>)> {
        let (Add(y), s) = s.receive().await?;
        let (Sum(z), s) = s.send(Add(3))?.send(Add(y))?.receive().await?;
        assert_eq!(z, 5);
        Ok(((), s))
    }

    async fn adder_c(s: AdderC<'_>) -> Result<((), End<'_>)> {
        let (Add(x), s) = s.receive().await?;
        let (Add(y), s) = s.receive().await?;
        Ok(((), s.send(Sum(x + y))?.send(Sum(x + y))?))
    }

    pub(super) fn adder() {
        let Roles(mut a, mut b, mut c) = Roles::default();
        let all = async {
            try_join!(
                try_session(&mut a, adder_a),
                try_session(&mut b, adder_b),
                try_session(&mut c, adder_c)
            )
        };
        block_on(all).unwrap();
    }

    type RingA<'a> = Send<'a, A, B, i64, Receive<'a, A, C, i64, End<'a>>>;
    type RingB<'b> = Receive<'b, B, A, i64, Send<'b, B, C, i64, End<'b>>>;
    type RingC<'c> = Receive<'c, C, B, i64, Send<'c, C, A, i64, End<'c>>>;

    async fn ring_a(s: RingA<'_>) -> Result<((), End<'_>)> {
        let (output, s) = s.send(10)?.receive().await?;
        assert_eq!(output, 200);
        Ok(((), s))
    }

    async fn ring_b(s: RingB<'_>) -> Result<((), End<'_>)> {
        let (x, s) = s.receive().await?;
        Ok(((), s.send(x * x)?))
    }

    async fn ring_c(s: RingC<'_>) -> Result<((), End<'_>)> {
        let (x, s) = s.receive().await?;
        Ok(((), s.send(x * 2)?))
    }

    pub(super) fn ring() {
        let Roles(mut a, mut b, mut c) = Roles::default();
        let all = async {
            try_join!(try_session(&mut a, ring_a), try_session(&mut b, ring_b), try_session(&mut c, ring_c))
        };
        block_on(all).unwrap();
    }

    type MeshA<'a> =
        Send<'a, A, B, i64, Receive<'a, A, B, i64, Send<'a, A, C, i64, Receive<'a, A, C, i64, End<'a>>>>>;
    type MeshB<'b> =
        Receive<'b, B, A, i64, Send<'b, B, A, i64, Send<'b, B, C, i64, Receive<'b, B, C, i64, End<'b>>>>>;
    type MeshC<'c> =
        Receive<'c, C, A, i64, Send<'c, C, A, i64, Receive<'c, C, B, i64, Send<'c, C, B, i64, End<'c>>>>>;

    async fn mesh_a(s: MeshA<'_>) -> Result<((), End<'_>)> {
        let (x, s) = s.send(1)?.receive().await?;
        let (y, s) = s.send(2)?.receive().await?;
        assert_eq!((x, y), (3, 4));
        Ok(((), s))
    }

    async fn mesh_b(s: MeshB<'_>) -> Result<((), End<'_>)> {
        let (x, s) = s.receive().await?;
        let (y, s) = s.send(3)?.send(5)?.receive().await?;
        assert_eq!((x, y), (1, 6));
        Ok(((), s))
    }

    async fn mesh_c(s: MeshC<'_>) -> Result<((), End<'_>)> {
        let (x, s) = s.receive().await?;
        let (y, s) = s.send(4)?.receive().await?;
        assert_eq!((x, y), (2, 5));
        Ok(((), s.send(6)?))
    }

    pub(super) fn mesh() {
        let Roles(mut a, mut b, mut c) = Roles::default();
        let all = async {
            try_join!(try_session(&mut a, mesh_a), try_session(&mut b, mesh_b), try_session(&mut c, mesh_c))
        };
        block_on(all).unwrap();
    }
}

mod double_buffering {
    use rumpsteak::role::Nil;

    use super::*;

    #[derive(Roles)]
    struct Roles(S, K, T);

    #[derive(Role)]
    #[message(Message)]
    struct S(#[route(K)] ToFrom<K>, #[route(T)] Nil<T>);

    #[derive(Role)]
    #[message(Message)]
    struct K(#[route(S)] ToFrom<S>, #[route(T)] ToFrom<T>);

    #[derive(Role)]
    #[message(Message)]
    struct T(#[route(S)] Nil<S>, #[route(K)] ToFrom<K>);

    #[derive(Label)]
    enum Message {
        Ready(Ready),
        Copy(Copy),
    }

    struct Ready;
    struct Copy(i64);

    type Source<'s> = Receive<
        's,
        S,
        K,
        Ready,
        Send<'s, S, K, Copy, Receive<'s, S, K, Ready, Send<'s, S, K, Copy, End<'s>>>>,
    >;
    type Half<'k, Rest> =
        Send<'k, K, S, Ready, Receive<'k, K, S, Copy, Receive<'k, K, T, Ready, Send<'k, K, T, Copy, Rest>>>>;
    type Kernel<'k> = Half<'k, Half<'k, End<'k>>>;
    type Sink<'t> = Send<
        't,
        T,
        K,
        Ready,
        Receive<'t, T, K, Copy, Send<'t, T, K, Ready, Receive<'t, T, K, Copy, End<'t>>>>,
    >;

    async fn source(s: Source<'_>) -> Result<((), End<'_>)> {
        let (Ready, s) = s.receive().await?;
        let (Ready, s) = s.send(Copy(1))?.receive().await?;
        Ok(((), s.send(Copy(2))?))
    }

    async fn kernel(s: Kernel<'_>) -> Result<((), End<'_>)> {
        let (Copy(x), s) = s.send(Ready)?.receive().await?;
        let (Ready, s) = s.receive().await?;
        let (Copy(y), s) = s.send(Copy(x))?.send(Ready)?.receive().await?;
        let (Ready, s) = s.receive().await?;
        Ok(((), s.send(Copy(y))?))
    }

    async fn sink(s: Sink<'_>) -> Result<((), End<'_>)> {
        let (Copy(x), s) = s.send(Ready)?.receive().await?;
        let (Copy(y), s) = s.send(Ready)?.receive().await?;
        assert_eq!((x, y), (1, 2));
        Ok(((), s))
    }

    pub(super) fn session() {
        let Roles(mut s, mut k, mut t) = Roles::default();
        let all = async {
            try_join!(try_session(&mut s, source), try_session(&mut k, kernel), try_session(&mut t, sink))
        };
        block_on(all).unwrap();
    }
}

mod streaming {
    use super::*;

    #[derive(Roles)]
    struct Roles(S, T);

    #[derive(Role)]
    #[message(Message)]
    struct S(#[route(T)] ToFrom<T>);

    #[derive(Role)]
    #[message(Message)]
    struct T(#[route(S)] ToFrom<S>);

    #[derive(Label)]
    enum Message {
        Ready(Ready),
        Value(Value),
        Stop(Stop),
    }

    struct Ready;
    struct Value(i64);
    struct Stop;

    type Source<'s> = Receive<'s, S, T, Ready, Select<'s, S, T, Sent<'s>>>;

    #[derive(Choice)]
    #[role('s, S)]
    #[allow(dead_code, reason = "whoever chooses makes none")]
    enum Sent<'s> {
        Value(Value, Source<'s>),
        Stop(Stop, End<'s>),
    }

    type Sink<'t> = Send<'t, T, S, Ready, Branch<'t, T, S, Received<'t>>>;

    #[derive(Choice)]
    #[role('t, T)]
    enum Received<'t> {
        Value(Value, Sink<'t>),
        Stop(Stop, End<'t>),
    }

    async fn stream(mut s: Source<'_>) -> Result<((), End<'_>)> {
        for x in 0..VALUES {
            let (Ready, next) = s.receive().await?;
            s = next.select(Value(x))?;
        }
        let (Ready, s) = s.receive().await?;
        Ok(((), s.select(Stop)?))
    }

    async fn drain(mut s: Sink<'_>) -> Result<((), End<'_>)> {
        let mut sum = 0;
        loop {
            match s.send(Ready)?.branch().await? {
                Received::Value(Value(x), next) => {
                    sum += x;
                    s = next;
                }
                Received::Stop(Stop, end) => {
                    assert_eq!(sum, VALUES * (VALUES - 1) / 2);
                    return Ok(((), end));
                }
            }
        }
    }

    pub(super) fn session() {
        let Roles(mut s, mut t) = Roles::default();
        block_on(async { try_join!(try_session(&mut s, stream), try_session(&mut t, drain)) }).unwrap();
    }
}
