//! What arrives, in which order, and what the end of a peer means to whoever waits.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};
use std::thread;

use super::{Post, posts};
use crate::error::Error;
use crate::link::{Expect, Peer};

const FIRST: Peer = Peer { index: 0, name: "first" };
const SECOND: Peer = Peer { index: 1, name: "second" };
const FROM_FIRST: &[Expect] = &[Expect { from: FIRST, signature: 0, label: "M" }];
const FROM_EITHER: &[Expect] =
    &[Expect { from: FIRST, signature: 0, label: "M" }, Expect { from: SECOND, signature: 0, label: "M" }];

/// Two roles that talk to a third, which comes last.
fn three<M>() -> [Post<M>; 3] {
    let roles: [(&str, &[&str]); 3] =
        [("first", &["hub"]), ("second", &["hub"]), ("hub", &["first", "second"])];
    let posts: Box<[Post<M>]> = posts(&roles).into();
    *<Box<[Post<M>; 3]>>::try_from(posts).ok().unwrap()
}

#[test]
fn messages_of_a_peer_arrive_before_its_end_and_in_order() {
    let [first, _second, mut hub] = three();
    (0..10).for_each(|number| first.send(FIRST, number).unwrap());
    drop(first);
    for number in 0..10 {
        assert_eq!(hub.receive(FROM_FIRST), Ok((0, number)));
    }
    assert_eq!(hub.receive(FROM_FIRST), Err(Error::Ended { by: "first" }));
    assert!(hub.send(FIRST, 10).is_err());
}

#[test]
fn a_message_that_is_not_awaited_waits() {
    let [first, second, mut hub] = three();
    second.send(FIRST, "early").unwrap();
    first.send(FIRST, "awaited").unwrap();
    assert_eq!(hub.receive(FROM_FIRST), Ok((0, "awaited")));
    assert_eq!(hub.receive(FROM_EITHER), Ok((1, "early")));
}

#[test]
fn a_peer_that_sends_much_does_not_keep_another_waiting() {
    let [first, second, mut hub] = three();
    first.send(FIRST, 0).unwrap();
    second.send(FIRST, 0).unwrap();
    let mut from = Vec::new();
    for _ in 0..4 {
        let (number, _) = hub.receive(FROM_EITHER).unwrap();
        from.push(number);
        first.send(FIRST, 0).unwrap();
    }
    assert!(from.contains(&1), "{from:?}");
}

#[test]
fn the_end_of_one_peer_is_no_end_while_another_may_send() {
    let [first, second, mut hub] = three();
    drop(first);
    let sender = thread::spawn(move || {
        thread::yield_now();
        second.send(FIRST, 7).unwrap();
    });
    assert_eq!(hub.receive(FROM_EITHER), Ok((1, 7)));
    sender.join().unwrap();
    assert_eq!(hub.receive(FROM_EITHER), Err(Error::Ended { by: "first" }));
}

#[test]
fn a_thread_that_sleeps_is_woken_up() {
    for round in 0..200 {
        let [first, _second, mut hub] = three();
        let waiting = thread::spawn(move || (hub.receive(FROM_FIRST), hub.receive(FROM_FIRST)));
        if round % 2 == 0 {
            thread::sleep(std::time::Duration::from_micros(200));
        }
        first.send(FIRST, round).unwrap();
        drop(first);
        assert_eq!(waiting.join().unwrap(), (Ok((0, round)), Err(Error::Ended { by: "first" })));
    }
}

#[test]
fn a_task_is_told_whether_there_is_something() {
    let [first, _second, mut hub] = three();
    let context = Context::from_waker(Waker::noop());
    assert_eq!(hub.poll(FROM_FIRST, &context), Poll::Pending);
    first.send(FIRST, 1).unwrap();
    assert_eq!(hub.poll(FROM_FIRST, &context), Poll::Ready(Ok((0, 1))));
    drop(first);
    assert_eq!(hub.poll(FROM_FIRST, &context), Poll::Ready(Err(Error::Ended { by: "first" })));
}

#[test]
fn nobody_waits_for_a_role_that_does_not_take_part() {
    let mut posts: Vec<Post<i32>> = posts(&[("hub", &["first", "second"])]);
    let mut hub = posts.remove(0);
    assert_eq!(hub.receive(FROM_EITHER), Err(Error::Ended { by: "first" }));
    assert_eq!(hub.send(SECOND, 1), Err(Error::Ended { by: "second" }));
}
