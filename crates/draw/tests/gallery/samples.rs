//! Sample graphs and charts, shared by the tests.
#![allow(dead_code, reason = "each test binary uses some of them")]

use referee_draw::{
    Direction, Edge, EdgeStyle, Graph, Message, MessageStyle, Node, NodeId, NodeKind, Participant,
    ParticipantId, Sequence,
};

fn n(index: u32) -> NodeId {
    NodeId(index)
}

fn style(label: &str) -> EdgeStyle {
    match label {
        label if label.contains("⇝") => EdgeStyle::Dependency,
        label if label.contains('!') => EdgeStyle::Send,
        label if label.contains('?') => EdgeStyle::Receive,
        _ => EdgeStyle::Plain,
    }
}

pub(crate) fn machine(title: &str, names: &[&str], edges: &[(u32, u32, &str)]) -> Graph {
    let mut graph = Graph::new(title);
    for (index, name) in names.iter().enumerate() {
        let kind = if index == 0 {
            NodeKind::Initial
        } else if edges.iter().all(|edge| edge.0 as usize != index) {
            NodeKind::Final
        } else {
            NodeKind::Normal
        };
        graph.add_node(Node::new(*name).kind(kind));
    }
    for &(from, to, label) in edges {
        graph.add_edge(Edge::new(n(from), n(to)).line(label).style(style(label)));
    }
    graph
}

pub(crate) fn three() -> Graph {
    machine(
        "three states",
        &["q0", "q1", "q2"],
        &[
            (0, 1, "server!Auth(uname: string, pwd: string)"),
            (1, 0, "server?Fail(code: int)"),
            (1, 2, "server?Succ(tok: Token)"),
        ],
    )
}

pub(crate) fn auth() -> Graph {
    machine(
        "client of Auth",
        &["q0", "q1", "q2", "q3", "q4"],
        &[
            (0, 1, "server!Auth(uname, pwd)"),
            (1, 0, "server?Fail(code)"),
            (1, 2, "server?Succ(tok)"),
            (2, 3, "server!Get(resource, reqTok)"),
            (3, 2, "server?Res(content)"),
            (3, 0, "server?Timeout()"),
            (2, 4, "server!Rvk(rvkTok)"),
        ],
    )
}

pub(crate) fn smtp() -> Graph {
    let mut graph = machine(
        "SMTP client",
        &[
            "connect", "greeted", "hello", "ready", "mail", "from ok", "rcpt", "rcpt ok", "data", "body",
            "queued", "closed",
        ],
        &[
            (0, 1, "S?220"),
            (1, 2, "S!EHLO"),
            (2, 3, "S?250"),
            (2, 1, "S?500"),
            (3, 4, "S!MAIL FROM"),
            (4, 5, "S?250"),
            (4, 3, "S?550"),
            (5, 6, "S!RCPT TO"),
            (6, 7, "S?250"),
            (6, 5, "S?550"),
            (7, 6, "S!RCPT TO"),
            (7, 8, "S!DATA"),
            (8, 9, "S?354"),
            (9, 10, "S!message"),
            (10, 3, "S?250"),
            (10, 3, "S?451"),
            (3, 11, "S!QUIT"),
            (5, 3, "S!RSET"),
            (7, 3, "S!RSET"),
            (5, 11, "S!QUIT"),
        ],
    );
    graph.add_edge(Edge::new(n(3), n(3)).line("S!NOOP").style(EdgeStyle::Send));
    graph
}

pub(crate) fn loops() -> Graph {
    let mut graph = machine(
        "loops and parallels",
        &["idle", "busy", "done"],
        &[(0, 0, "B!ping"), (0, 0, "B?pong"), (1, 1, "A!tick"), (1, 2, "A!stop"), (1, 0, "A?reset")],
    );
    for code in 0..8 {
        let label = if code % 2 == 0 {
            format!("B!request{code}(x: int)")
        } else {
            format!("B?reply{code}(y: string)")
        };
        let style = style(&label);
        graph.add_edge(Edge::new(n(0), n(1)).line(label).style(style));
    }
    for code in 0..8 {
        graph.add_edge(Edge::new(n(2), n(2)).line(format!("A?late{code}")).style(EdgeStyle::Receive));
    }
    graph
}

pub(crate) fn wide() -> Graph {
    let names: Vec<String> = (0..20).map(|index| format!("q{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let labels: Vec<String> = (0..32)
        .map(|index| format!("{}{}opt{index}", ["A", "B", "C"][index % 3], ["!", "?"][index % 2]))
        .collect();
    let mut edges: Vec<(u32, u32, &str)> = Vec::new();
    for child in 1..9 {
        edges.push((0, child, &labels[child as usize]));
    }
    for child in 9..19 {
        edges.push((1 + (child * 5) % 8, child, &labels[child as usize]));
    }
    for child in 9..19 {
        edges.push((child, 19, &labels[(child + 10) as usize]));
    }
    edges.push((12, 0, "A!again"));
    edges.push((4, 19, "B!skip"));
    edges.push((6, 15, "B!jump"));
    machine("wide", &names, &edges)
}

pub(crate) fn chain() -> Graph {
    let names: Vec<String> = (0..14).map(|index| format!("state {index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let edges: Vec<(u32, u32, &str)> = (0..13)
        .map(|index| (index, index + 1, if index % 2 == 0 { "peer!next" } else { "peer?ack" }))
        .collect();
    let mut graph = machine("chain", &names, &edges);
    graph.direction = Direction::LeftToRight;
    graph
}

pub(crate) fn odd() -> Graph {
    let mut graph = Graph::new("odd <things> & \"quotes\"");
    let a = graph.add_node(Node::new("start").detail("waits for <anything>").kind(NodeKind::Initial));
    let b = graph.add_node(Node::new("日本語の状態").detail("second & line").tooltip("tip \"quoted\""));
    let c = graph.add_node(Node::new("failed").detail("no rule allows `Put`").kind(NodeKind::Error));
    let d = graph.add_node(Node::new("both").kind(NodeKind::InitialFinal));
    let e = graph.add_node(Node::new("x".repeat(90)).kind(NodeKind::Final));
    graph.add_edge(Edge::new(a, b).line("srv!Get(a < b && c > \"d\")").style(EdgeStyle::Send).highlighted());
    graph.add_edge(
        Edge::new(b, c).line("srv?Put").line("where x == 'y'").style(EdgeStyle::Receive).highlighted(),
    );
    graph.add_edge(Edge::new(b, a).line("⇝ learns Get").style(EdgeStyle::Dependency));
    graph.add_edge(Edge::new(b, e));
    graph.add_edge(Edge::new(a, e).line("a very long label ".repeat(12)));
    graph.add_edge(Edge::new(d, d).line("S!again").style(EdgeStyle::Send));
    graph
}

/// Whatever Mermaid's Markdown, DOT or XML could trip over.
pub(crate) fn nasty() -> Graph {
    let mut graph = Graph::new("nasty: 'title' <b> & \\ \"x\"");
    let a = graph.add_node(Node::new("1. `a` *b* _c_").detail("- item").kind(NodeKind::Initial));
    let b = graph.add_node(Node::new("# [d](e) ![i](j)").detail("> quote").kind(NodeKind::Final));
    let c = graph.add_node(Node::new("end").detail("---"));
    let lines = [
        "\\*f\\N",
        "~~g~~ **h**",
        "http://h www.i j@k.l",
        "&lt;b&gt; #35; %% ;",
        "<script>alert(1)</script>",
        "3) x",
    ];
    graph.add_edge(lines.iter().fold(Edge::new(a, b), |edge, line| edge.line(*line)));
    graph.add_edge(Edge::new(a, c).line("fa:fa-car {x} |y|").style(EdgeStyle::Send));
    graph
}

pub(crate) fn graphs() -> Vec<(&'static str, Graph)> {
    let mut graphs = vec![
        ("three", three()),
        ("auth", auth()),
        ("smtp", smtp()),
        ("loops", loops()),
        ("wide", wide()),
        ("chain", chain()),
        ("odd", odd()),
        ("nasty", nasty()),
    ];
    graphs.push(("auth-lr", auth().direction(Direction::LeftToRight)));
    graphs.push(("smtp-lr", smtp().direction(Direction::LeftToRight)));
    graphs.push(("loops-lr", loops().direction(Direction::LeftToRight)));
    graphs.push(("odd-lr", odd().direction(Direction::LeftToRight)));
    graphs
}

pub(crate) fn auth_chart() -> Sequence {
    let mut chart = Sequence::new("Auth");
    let c = chart.add_participant(Participant::new("client"));
    let s = chart.add_participant(Participant::new("server"));
    chart.open_loop("LOGIN");
    chart.message(
        Message::new(c, s, "Auth(uname: string, pwd: string)").note("where uname.matches(\"[a-z]+\")"),
    );
    chart.open_alt("server chooses", "Succ");
    chart.message(Message::new(s, c, "Succ(tok: Token)"));
    chart.open_loop("SESSION");
    chart.open_alt("client chooses", "Get");
    chart.message(Message::new(c, s, "Get(resource: string, reqTok: Token)"));
    chart.open_alt("server chooses", "Res");
    chart.message(Message::new(s, c, "Res(content: string)"));
    chart.jump("continue SESSION");
    chart.branch("Timeout");
    chart.message(Message::new(s, c, "Timeout()"));
    chart.jump("continue LOGIN");
    chart.close();
    chart.branch("Rvk");
    chart.message(Message::new(c, s, "Rvk(rvkTok: Token)"));
    chart.close();
    chart.close();
    chart.branch("Fail");
    chart.message(Message::new(s, c, "Fail(code: int)"));
    chart.jump("continue LOGIN");
    chart.close();
    chart.close();
    chart
}

pub(crate) fn failing_chart() -> Sequence {
    let mut chart = Sequence::new("counterexample: eventual reception at k = 1");
    let c = chart.add_participant(Participant::new("C").footer("waits in q2"));
    let s = chart.add_participant(Participant::new("S").footer("stuck in q3: expects C?data"));
    let l = chart.add_participant(Participant::new("Logger").footer("final"));
    chart.message(Message::new(c, s, "req"));
    chart.message(Message::new(s, l, "log(line: string)"));
    chart.message(Message::new(s, c, "ko").style(MessageStyle::Highlight));
    chart.message(Message::new(s, s, "tick"));
    chart.message(Message::new(c, l, "audit <x & y>").style(MessageStyle::Dashed).note("dependency only"));
    chart.note([s], "S has seen both");
    chart.divider("after 4 steps");
    chart.note([c, l], "no component can move any more");
    chart
        .message(Message::new(c, s, "Put(resource)").style(MessageStyle::Failed).note("expected Get or Rvk"));
    chart.message(Message::new(l, c, "late").style(MessageStyle::Pending));
    chart.message(Message::new(l, c, "late").style(MessageStyle::Late));
    chart.message(Message::new(l, l, "done").style(MessageStyle::Failed));
    chart
}

pub(crate) fn wide_chart() -> Sequence {
    let mut chart = Sequence::new("多言語");
    let ids: Vec<ParticipantId> = ["客户端", "Broker", "データベース", "a\u{301}ccents", "E"]
        .iter()
        .map(|name| chart.add_participant(Participant::new(*name)))
        .collect();
    chart.message(Message::new(ids[0], ids[2], "查询(名前: 文字列)"));
    chart.message(
        Message::new(
            ids[4],
            ids[0],
            "a rather long label that has to be wrapped because it would otherwise push everything apart",
        )
        .note("and a note"),
    );
    chart.open_loop("only one");
    chart.note([ids[1]], "over one");
    chart.close();
    chart.open_alt("", "x > 0 && y < 1");
    chart.message(Message::new(ids[3], ids[4], "m"));
    chart.branch("");
    chart.message(Message::new(ids[4], ids[3], "m").style(MessageStyle::Highlight));
    chart.open_loop("inner");
    chart.message(Message::new(ids[4], ids[4], "self"));
    chart.close();
    chart.close();
    chart.jump("end");
    chart
}

pub(crate) fn charts() -> Vec<(&'static str, Sequence)> {
    vec![("auth", auth_chart()), ("failing", failing_chart()), ("wide", wide_chart())]
}
