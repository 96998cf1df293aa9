//! Roles `customer`, `shop` of the protocol `Shop`.
//!
//! A customer orders, the shop confirms.
//!
//! @generated from shop.scr by `referee generate rust`: change the protocol, not this file.

#![allow(dead_code, unused_imports, unused_mut, unused_parens, unused_variables, clippy::all)]

use referee_endpoint::alloc::{
    self,
    borrow::ToOwned as _,
    string::{String, ToString as _},
    vec::Vec,
};
use referee_endpoint::value::Members;
use referee_endpoint::{Error, Expect, Failure, Field, Link, Opaque, Peer, Session, Signature, Value, eval};

/// The messages that travel.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// `Hello`.
    Hello { name: String, account: Opaque, key: Vec<u8>, at: () },
    /// `Order`.
    Order { article: OrderArticle, count: i64, price: f64, box_: (i64, bool) },
    /// `Bye`.
    Bye { loop_: i64 },
    /// `Confirm`.
    Confirm { total: f64, text: String },
    /// `Refuse`.
    Refuse { reasons: Vec<String> },
}

impl referee_endpoint::Message for Message {
    const SIGNATURES: &'static [Signature] = &[
        Signature { label: "Hello", fields: &["name", "account", "key", "at"] },
        Signature { label: "Order", fields: &["article", "count", "price", "box"] },
        Signature { label: "Bye", fields: &["loop"] },
        Signature { label: "Confirm", fields: &["total", "text"] },
        Signature { label: "Refuse", fields: &["reasons"] },
    ];

    fn signature(&self) -> usize {
        match self {
            Self::Hello { .. } => 0,
            Self::Order { .. } => 1,
            Self::Bye { .. } => 2,
            Self::Confirm { .. } => 3,
            Self::Refuse { .. } => 4,
        }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Self::Hello { name, account, key, at } => {
                alloc::vec![name.to_value(), account.to_value(), key.to_value(), at.to_value()]
            }
            Self::Order { article, count, price, box_ } => {
                alloc::vec![article.to_value(), count.to_value(), price.to_value(), box_.to_value()]
            }
            Self::Bye { loop_ } => alloc::vec![loop_.to_value()],
            Self::Confirm { total, text } => alloc::vec![total.to_value(), text.to_value()],
            Self::Refuse { reasons } => alloc::vec![reasons.to_value()],
        }
    }

    fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {
        let mut next = || values.next().unwrap_or(Value::Unit);
        Ok(match signature {
            0 => Self::Hello {
                name: Field::from_value(next()).ok_or(0_usize)?,
                account: Field::from_value(next()).ok_or(1_usize)?,
                key: Field::from_value(next()).ok_or(2_usize)?,
                at: Field::from_value(next()).ok_or(3_usize)?,
            },
            1 => Self::Order {
                article: Field::from_value(next()).ok_or(0_usize)?,
                count: Field::from_value(next()).ok_or(1_usize)?,
                price: Field::from_value(next()).ok_or(2_usize)?,
                box_: Field::from_value(next()).ok_or(3_usize)?,
            },
            2 => Self::Bye { loop_: Field::from_value(next()).ok_or(0_usize)? },
            3 => Self::Confirm {
                total: Field::from_value(next()).ok_or(0_usize)?,
                text: Field::from_value(next()).ok_or(1_usize)?,
            },
            4 => Self::Refuse { reasons: Field::from_value(next()).ok_or(0_usize)? },
            _ => return Err(0),
        })
    }
}

/// A record of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderArticle {
    /// `id`.
    pub id: i64,
    /// `tags`.
    pub tags: Vec<String>,
}

impl Field for OrderArticle {
    fn to_value(&self) -> Value {
        Value::Record(alloc::vec![
            ("id".to_owned(), self.id.to_value()),
            ("tags".to_owned(), self.tags.to_value())
        ])
    }

    fn from_value(value: Value) -> Option<Self> {
        let mut members = Members::of(value, 2)?;
        Some(Self { id: members.take("id")?, tags: members.take("tags")? })
    }
}

/// `^[a-z]{1,8}$` as a table.
static PATTERN_1: eval::Pattern = eval::Pattern {
    classes: &[
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
    width: 3,
    next: &[
        1, 2, 1, 1, 1, 1, 1, 3, 4, 1, 5, 4, 4, 4, 4, 1, 6, 4, 1, 7, 4, 1, 8, 4, 1, 9, 4, 1, 10, 4, 1, 1, 4,
    ],
    start: 0,
    accepts: &[false, false, false, false, true, false, false, false, false, false, false],
};

/// The endpoint of `customer`.
pub mod customer {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "customer";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["shop"];

    const SHOP: Peer = Peer { index: 0, name: "shop" };

    /// The beginning: `customer` sends `Hello` to shop.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct Start<L> {
        link: L,
    }

    impl<L> Session<L> for Start<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> Start<L> {
        /// A new session over `link`.
        pub fn new(link: L) -> Self {
            Self { link }
        }

        /// Whether `Hello` with these fields is right now: `knownCustomer(name, account) && size(key) == 4 && name.matches("^[a-z]{1,8}$"); spent := 0`.
        pub fn admits_hello(&self, name: &str, account: &Opaque, key: &[u8], at: ()) -> Result<(), Error> {
            self.computes_hello(name, account, key, at).map(|_| ())
        }

        /// What follows from `Hello`, if it is right now: `knownCustomer(name, account) && size(key) == 4 && name.matches("^[a-z]{1,8}$"); spent := 0`.
        fn computes_hello(&self, name: &str, account: &Opaque, key: &[u8], at: ()) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !(eval::and(
                    || {
                        eval::and(
                            || {
                                Ok(eval::ask(
                                    "knownCustomer",
                                    crate::predicates::known_customer(name, account),
                                )?)
                            },
                            || Ok((eval::length((key).len()) == 4_i64)),
                        )
                    },
                    || Ok(PATTERN_1.is_match(name)),
                )?) {
                    return Err(Failure::Undefined);
                }
                let new_spent = 0_i64;
                Ok(new_spent)
            };
            admitted().map_err(|failure| failure.on_send("Hello", "knownCustomer(name, account) && size(key) == 4 && name.matches(\"^[a-z]{1,8}$\"); spent := 0"))
        }

        /// Who it is; the account is a type that only the program knows.
        ///
        /// Sends `Hello` to shop.
        ///
        /// Nothing is sent unless this holds: `knownCustomer(name, account) && size(key) == 4 && name.matches("^[a-z]{1,8}$"); spent := 0`.
        pub fn hello(
            self,
            name: impl Into<String>,
            account: impl Into<Opaque>,
            key: Vec<u8>,
            at: (),
        ) -> L::Sent<AfterHello<L>> {
            let name: String = name.into();
            let account: Opaque = account.into();
            let new_spent = match self.computes_hello(&name, &account, &key, at) {
                Ok(new_spent) => new_spent,
                Err(error) => return L::refuse(error),
            };
            let next = AfterHello { link: self.link, spent: new_spent };
            L::send(next, SHOP, Message::Hello { name, account, key, at })
        }
    }

    /// A state: `customer` sends `Order` to shop or `Bye` to shop.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterHello<L> {
        link: L,
        spent: i64,
    }

    impl<L> Session<L> for AfterHello<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterHello<L> {
        /// Whether `Order` with these fields is right now: `count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith("t")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)`.
        pub fn admits_order(
            &self,
            article: &OrderArticle,
            count: i64,
            price: f64,
            box_: &(i64, bool),
        ) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(eval::and(
                    || {
                        eval::and(
                            || {
                                eval::and(
                                    || {
                                        eval::and(
                                            || {
                                                eval::and(
                                                    || Ok((count > 0_i64)),
                                                    || {
                                                        Ok((eval::divide(
                                                            eval::multiply(count, 100_i64)?,
                                                            count,
                                                        )? == 100_i64))
                                                    },
                                                )
                                            },
                                            || Ok((article.id >= 0_i64)),
                                        )
                                    },
                                    || {
                                        Ok(eval::or(
                                            || Ok((eval::length((&*article.tags).len()) == 0_i64)),
                                            || {
                                                Ok((&*(*eval::element(&*article.tags, 0_i64)?))
                                                    .starts_with("t"))
                                            },
                                        )?)
                                    },
                                )
                            },
                            || Ok((&*alloc::vec![1_i64, 2_i64, 3_i64]).iter().any(|part_| *part_ == box_.0)),
                        )
                    },
                    || Ok((if box_.1 { (price < (10.0_f64)) } else { (price <= (99.5_f64)) })),
                )?) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Order", "count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith(\"t\")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)"))
        }

        /// One article; `price` is per piece.
        ///
        /// Sends `Order` to shop.
        ///
        /// Nothing is sent unless this holds: `count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith("t")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)`.
        pub fn order(
            self,
            article: OrderArticle,
            count: i64,
            price: f64,
            box_: (i64, bool),
        ) -> L::Sent<AfterOrder<L>> {
            if let Err(error) = self.admits_order(&article, count, price, &box_) {
                return L::refuse(error);
            }
            let next = AfterOrder { link: self.link, spent: self.spent, count, price };
            L::send(next, SHOP, Message::Order { article, count, price, box_ })
        }

        /// Whether `Bye` with these fields is right now: `loop == spent || abs(loop) == max(7, 8, spent)`.
        pub fn admits_bye(&self, loop_: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(eval::or(
                    || Ok((loop_ == self.spent)),
                    || Ok((eval::abs(loop_)? == eval::max(eval::max(7_i64, 8_i64), self.spent))),
                )?) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted()
                .map_err(|failure| failure.on_send("Bye", "loop == spent || abs(loop) == max(7, 8, spent)"))
        }

        /// Sends `Bye` to shop.
        ///
        /// Nothing is sent unless this holds: `loop == spent || abs(loop) == max(7, 8, spent)`.
        pub fn bye(self, loop_: i64) -> L::Sent<End<L>> {
            if let Err(error) = self.admits_bye(loop_) {
                return L::refuse(error);
            }
            let mut next = End { link: self.link };
            next.link.end();
            L::send(next, SHOP, Message::Bye { loop_ })
        }
    }

    /// A state: `customer` receives `Confirm` from shop or `Refuse` from shop.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterOrder<L> {
        link: L,
        spent: i64,
        count: i64,
        price: f64,
    }

    impl<L> Session<L> for AfterOrder<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterOrder<L> {
        /// What follows from `Confirm`, if it is right now: `total == double(count) * price && text == "order " + string(count) && spent < 3; spent := spent + 1`.
        fn computes_confirm(&self, from: Peer, total: f64, text: &str) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !((total == ((self.count as f64) * self.price))
                    && (*text == *["order ", &*(self.count).to_string()].concat())
                    && (self.spent < 3_i64))
                {
                    return Err(Failure::Undefined);
                }
                let new_spent = eval::add(self.spent, 1_i64)?;
                Ok(new_spent)
            };
            admitted().map_err(|failure| failure.on_receive(from, "Confirm", "total == double(count) * price && text == \"order \" + string(count) && spent < 3; spent := spent + 1"))
        }

        /// Whether `Refuse` with these fields is right now: `!("" in reasons)`.
        fn admits_refuse(&self, from: Peer, reasons: &[String]) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(!(reasons).iter().any(|part_| *part_ == *"")) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Refuse", "!(\"\" in reasons)"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterOrderEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: SHOP, signature: 3, label: "Confirm" },
            Expect { from: SHOP, signature: 4, label: "Refuse" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterOrderEvent<L>, Error> {
            match (from, message) {
                (0, Message::Confirm { total, text }) => {
                    let new_spent = self.computes_confirm(SHOP, total, &text)?;
                    let next = AfterHello { link: self.link, spent: new_spent };
                    Ok(AfterOrderEvent::Confirm { total, text, next })
                }
                (0, Message::Refuse { reasons }) => {
                    self.admits_refuse(SHOP, &reasons)?;
                    let next = AfterHello { link: self.link, spent: self.spent };
                    Ok(AfterOrderEvent::Refuse { reasons, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterOrder`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterOrderEvent<L> {
        /// `Confirm` from shop.
        ///
        /// This holds: `total == double(count) * price && text == "order " + string(count) && spent < 3; spent := spent + 1`.
        Confirm {
            /// `total`.
            total: f64,
            /// `text`.
            text: String,
            /// The session goes on here.
            next: AfterHello<L>,
        },
        /// `Refuse` from shop.
        ///
        /// This holds: `!("" in reasons)`.
        Refuse {
            /// `reasons`.
            reasons: Vec<String>,
            /// The session goes on here.
            next: AfterHello<L>,
        },
    }

    /// The end of the session for `customer`.
    #[derive(Debug)]
    #[must_use = "`close` says that the session is over"]
    pub struct End<L> {
        link: L,
    }

    impl<L> Session<L> for End<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> End<L> {
        /// The session is over; gives its link back.
        pub fn close(self) -> L {
            self.link
        }
    }
}

/// The endpoint of `shop`.
pub mod shop {
    use super::*;

    /// What the protocol calls this role.
    pub const ROLE: &str = "shop";

    /// The roles that this one talks to, in the order of the streams of a link.
    pub const PEERS: [&str; 1] = ["customer"];

    const CUSTOMER: Peer = Peer { index: 0, name: "customer" };

    /// The beginning: `shop` receives `Hello` from customer.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct Start<L> {
        link: L,
    }

    impl<L> Session<L> for Start<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> Start<L> {
        /// A new session over `link`.
        pub fn new(link: L) -> Self {
            Self { link }
        }

        /// What follows from `Hello`, if it is right now: `knownCustomer(name, account) && size(key) == 4 && name.matches("^[a-z]{1,8}$"); spent := 0`.
        fn computes_hello(
            &self,
            from: Peer,
            name: &str,
            account: &Opaque,
            key: &[u8],
            at: (),
        ) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !(eval::and(
                    || {
                        eval::and(
                            || {
                                Ok(eval::ask(
                                    "knownCustomer",
                                    crate::predicates::known_customer(name, account),
                                )?)
                            },
                            || Ok((eval::length((key).len()) == 4_i64)),
                        )
                    },
                    || Ok(PATTERN_1.is_match(name)),
                )?) {
                    return Err(Failure::Undefined);
                }
                let new_spent = 0_i64;
                Ok(new_spent)
            };
            admitted().map_err(|failure| failure.on_receive(from, "Hello", "knownCustomer(name, account) && size(key) == 4 && name.matches(\"^[a-z]{1,8}$\"); spent := 0"))
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, StartEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[Expect { from: CUSTOMER, signature: 0, label: "Hello" }];

        fn judge(self, from: usize, message: Message) -> Result<StartEvent<L>, Error> {
            match (from, message) {
                (0, Message::Hello { name, account, key, at }) => {
                    let new_spent = self.computes_hello(CUSTOMER, &name, &account, &key, at)?;
                    let next = AfterHello { link: self.link, spent: new_spent };
                    Ok(StartEvent::Hello { name, account, key, at, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`Start`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum StartEvent<L> {
        /// Who it is; the account is a type that only the program knows.
        ///
        /// `Hello` from customer.
        ///
        /// This holds: `knownCustomer(name, account) && size(key) == 4 && name.matches("^[a-z]{1,8}$"); spent := 0`.
        Hello {
            /// `name`.
            name: String,
            /// `account`.
            account: Opaque,
            /// `key`.
            key: Vec<u8>,
            /// `at`.
            at: (),
            /// The session goes on here.
            next: AfterHello<L>,
        },
    }

    /// A state: `shop` receives `Order` from customer or `Bye` from customer.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterHello<L> {
        link: L,
        spent: i64,
    }

    impl<L> Session<L> for AfterHello<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterHello<L> {
        /// Whether `Order` with these fields is right now: `count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith("t")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)`.
        fn admits_order(
            &self,
            from: Peer,
            article: &OrderArticle,
            count: i64,
            price: f64,
            box_: &(i64, bool),
        ) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(eval::and(
                    || {
                        eval::and(
                            || {
                                eval::and(
                                    || {
                                        eval::and(
                                            || {
                                                eval::and(
                                                    || Ok((count > 0_i64)),
                                                    || {
                                                        Ok((eval::divide(
                                                            eval::multiply(count, 100_i64)?,
                                                            count,
                                                        )? == 100_i64))
                                                    },
                                                )
                                            },
                                            || Ok((article.id >= 0_i64)),
                                        )
                                    },
                                    || {
                                        Ok(eval::or(
                                            || Ok((eval::length((&*article.tags).len()) == 0_i64)),
                                            || {
                                                Ok((&*(*eval::element(&*article.tags, 0_i64)?))
                                                    .starts_with("t"))
                                            },
                                        )?)
                                    },
                                )
                            },
                            || Ok((&*alloc::vec![1_i64, 2_i64, 3_i64]).iter().any(|part_| *part_ == box_.0)),
                        )
                    },
                    || Ok((if box_.1 { (price < (10.0_f64)) } else { (price <= (99.5_f64)) })),
                )?) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_receive(from, "Order", "count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith(\"t\")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)"))
        }

        /// Whether `Bye` with these fields is right now: `loop == spent || abs(loop) == max(7, 8, spent)`.
        fn admits_bye(&self, from: Peer, loop_: i64) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(eval::or(
                    || Ok((loop_ == self.spent)),
                    || Ok((eval::abs(loop_)? == eval::max(eval::max(7_i64, 8_i64), self.spent))),
                )?) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| {
                failure.on_receive(from, "Bye", "loop == spent || abs(loop) == max(7, 8, spent)")
            })
        }

        /// Awaits the next message.
        pub fn recv(self) -> L::Received<Self, AfterHelloEvent<L>> {
            L::receive(self, Self::EXPECTED, Self::judge)
        }

        const EXPECTED: &'static [Expect] = &[
            Expect { from: CUSTOMER, signature: 1, label: "Order" },
            Expect { from: CUSTOMER, signature: 2, label: "Bye" },
        ];

        fn judge(self, from: usize, message: Message) -> Result<AfterHelloEvent<L>, Error> {
            match (from, message) {
                (0, Message::Order { article, count, price, box_ }) => {
                    self.admits_order(CUSTOMER, &article, count, price, &box_)?;
                    let next = AfterOrder { link: self.link, spent: self.spent, count, price };
                    Ok(AfterHelloEvent::Order { article, count, price, box_, next })
                }
                (0, Message::Bye { loop_ }) => {
                    self.admits_bye(CUSTOMER, loop_)?;
                    let mut next = End { link: self.link };
                    next.link.end();
                    Ok(AfterHelloEvent::Bye { loop_, next })
                }
                (from, other) => {
                    let label = referee_endpoint::Message::label(&other);
                    Err(Error::unexpected(from, label, Self::EXPECTED))
                }
            }
        }
    }

    /// What may arrive in [`AfterHello`].
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub enum AfterHelloEvent<L> {
        /// One article; `price` is per piece.
        ///
        /// `Order` from customer.
        ///
        /// This holds: `count > 0 && count * 100 / count == 100 && article.id >= 0 && (size(article.tags) == 0 || article.tags[0].startsWith("t")) && box[0] in [1, 2, 3] && (box[1] ? price < 10.0 : price <= 99.5)`.
        Order {
            /// `article`.
            article: OrderArticle,
            /// `count`.
            count: i64,
            /// `price`.
            price: f64,
            /// `box`.
            box_: (i64, bool),
            /// The session goes on here.
            next: AfterOrder<L>,
        },
        /// `Bye` from customer.
        ///
        /// This holds: `loop == spent || abs(loop) == max(7, 8, spent)`.
        Bye {
            /// `loop`.
            loop_: i64,
            /// The session goes on here.
            next: End<L>,
        },
    }

    /// A state: `shop` sends `Confirm` to customer or `Refuse` to customer.
    #[derive(Debug)]
    #[must_use = "dropping a session before its end aborts it"]
    pub struct AfterOrder<L> {
        link: L,
        spent: i64,
        count: i64,
        price: f64,
    }

    impl<L> Session<L> for AfterOrder<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> AfterOrder<L> {
        /// Whether `Confirm` with these fields is right now: `total == double(count) * price && text == "order " + string(count) && spent < 3; spent := spent + 1`.
        pub fn admits_confirm(&self, total: f64, text: &str) -> Result<(), Error> {
            self.computes_confirm(total, text).map(|_| ())
        }

        /// What follows from `Confirm`, if it is right now: `total == double(count) * price && text == "order " + string(count) && spent < 3; spent := spent + 1`.
        fn computes_confirm(&self, total: f64, text: &str) -> Result<i64, Error> {
            let admitted = || -> Result<i64, Failure> {
                if !((total == ((self.count as f64) * self.price))
                    && (*text == *["order ", &*(self.count).to_string()].concat())
                    && (self.spent < 3_i64))
                {
                    return Err(Failure::Undefined);
                }
                let new_spent = eval::add(self.spent, 1_i64)?;
                Ok(new_spent)
            };
            admitted().map_err(|failure| failure.on_send("Confirm", "total == double(count) * price && text == \"order \" + string(count) && spent < 3; spent := spent + 1"))
        }

        /// Sends `Confirm` to customer.
        ///
        /// Nothing is sent unless this holds: `total == double(count) * price && text == "order " + string(count) && spent < 3; spent := spent + 1`.
        pub fn confirm(self, total: f64, text: impl Into<String>) -> L::Sent<AfterHello<L>> {
            let text: String = text.into();
            let new_spent = match self.computes_confirm(total, &text) {
                Ok(new_spent) => new_spent,
                Err(error) => return L::refuse(error),
            };
            let next = AfterHello { link: self.link, spent: new_spent };
            L::send(next, CUSTOMER, Message::Confirm { total, text })
        }

        /// Whether `Refuse` with these fields is right now: `!("" in reasons)`.
        pub fn admits_refuse(&self, reasons: &[String]) -> Result<(), Error> {
            let admitted = || -> Result<(), Failure> {
                if !(!(reasons).iter().any(|part_| *part_ == *"")) {
                    return Err(Failure::Undefined);
                }
                Ok(())
            };
            admitted().map_err(|failure| failure.on_send("Refuse", "!(\"\" in reasons)"))
        }

        /// Sends `Refuse` to customer.
        ///
        /// Nothing is sent unless this holds: `!("" in reasons)`.
        pub fn refuse(self, reasons: Vec<String>) -> L::Sent<AfterHello<L>> {
            if let Err(error) = self.admits_refuse(&reasons) {
                return L::refuse(error);
            }
            let next = AfterHello { link: self.link, spent: self.spent };
            L::send(next, CUSTOMER, Message::Refuse { reasons })
        }
    }

    /// The end of the session for `shop`.
    #[derive(Debug)]
    #[must_use = "`close` says that the session is over"]
    pub struct End<L> {
        link: L,
    }

    impl<L> Session<L> for End<L> {
        fn link(&mut self) -> &mut L {
            &mut self.link
        }
    }

    impl<L: Link<Message>> End<L> {
        /// The session is over; gives its link back.
        pub fn close(self) -> L {
            self.link
        }
    }
}
