//! The same with dialectic, whose sessions have two roles, over the channels of tokio.

use dialectic::prelude::*;
use dialectic_tokio_mpsc as mpsc;
use futures::executor::block_on;
use futures::join;

use crate::{Player, VALUES};

pub const PLAYERS: [Player; 1] = [("streaming of 1,000", "dialectic 0.4.1", 50, session)];

type Source = Session! {
    loop {
        recv ();
        choose {
            0 => send i64,
            1 => break,
        }
    }
};
type Sink = <Source as Session>::Dual;

async fn stream(mut chan: Chan<Source, mpsc::UnboundedSender, mpsc::UnboundedReceiver>) {
    for x in 0..VALUES {
        let ((), next) = chan.recv().await.unwrap();
        chan = next.choose::<0>().await.unwrap().send(x).await.unwrap();
    }
    let ((), chan) = chan.recv().await.unwrap();
    chan.choose::<1>().await.unwrap().close();
}

async fn drain(mut chan: Chan<Sink, mpsc::UnboundedSender, mpsc::UnboundedReceiver>) {
    let mut sum = 0;
    loop {
        let asked = chan.send(()).await.unwrap();
        chan = offer!(in asked {
            0 => {
                let (x, next) = asked.recv().await.unwrap();
                sum += x;
                next
            },
            1 => break asked.close(),
        })
        .unwrap();
    }
    assert_eq!(sum, VALUES * (VALUES - 1) / 2);
}

fn session() {
    let (source, sink) = Source::channel(mpsc::unbounded_channel);
    block_on(async { join!(stream(source), drain(sink)) });
}
