//! What is answered to which request: a pure function of the request and a [`Backend`].

use serde_json::{Value, json};

/// What the page asks for beyond itself.
pub trait Backend: Send + Sync {
    /// What was given on the command line: files and traces.
    fn overview(&self) -> Value;

    /// Everything about the file called `name`; with `text`, about that text in its place.
    ///
    /// # Errors
    /// What to tell the user.
    fn file(&self, name: &str, text: Option<&str>) -> Result<Value, String>;

    /// The answer of the check about the file called `name`, with its traces. The page calls it `id`.
    ///
    /// # Errors
    /// What to tell the user.
    fn check(&self, name: &str, text: Option<&str>, id: &str) -> Result<Value, String>;

    /// How far the check is that the page calls `id`: `progress` in words, or null if it does not run.
    fn progress(&self, id: &str) -> Value;

    /// Ends the check that the page calls `id`: its answer is then that it was cancelled.
    fn cancel(&self, id: &str);

    /// The run that `wish` describes of a protocol in the file called `name`, and what can be done next.
    ///
    /// # Errors
    /// What to tell the user.
    fn play(&self, name: &str, text: Option<&str>, wish: &Value) -> Result<Value, String>;

    /// Writes `text` to the file called `name`, which holds `before` unless somebody else has changed it.
    ///
    /// # Errors
    /// What to tell the user: among others, that nothing may be written.
    fn save(&self, name: &str, before: &str, text: &str) -> Result<(), String>;
}

/// A request whose sender is known.
#[derive(Debug)]
pub struct Request<'a> {
    /// `GET` or `POST`.
    pub is_post: bool,
    /// The path, without the query.
    pub path: &'a str,
    /// What was sent with it: JSON.
    pub body: &'a [u8],
}

/// What is sent back.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// What the body is.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

const JSON: &str = "application/json; charset=utf-8";

/// The parts of the page, and what each is.
const ASSETS: [(&str, &str, &str); 12] = [
    ("index.html", "text/html; charset=utf-8", include_str!("../ui/index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("../ui/style.css")),
    ("model.js", "text/javascript; charset=utf-8", include_str!("../ui/model.js")),
    ("sequence.js", "text/javascript; charset=utf-8", include_str!("../ui/sequence.js")),
    ("compare.js", "text/javascript; charset=utf-8", include_str!("../ui/compare.js")),
    ("diagram.js", "text/javascript; charset=utf-8", include_str!("../ui/diagram.js")),
    ("trace.js", "text/javascript; charset=utf-8", include_str!("../ui/trace.js")),
    ("play.js", "text/javascript; charset=utf-8", include_str!("../ui/play.js")),
    ("protocol.js", "text/javascript; charset=utf-8", include_str!("../ui/protocol.js")),
    ("board.js", "text/javascript; charset=utf-8", include_str!("../ui/board.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("../ui/live.js")),
    ("main.js", "text/javascript; charset=utf-8", include_str!("../ui/main.js")),
];

/// The part of the page called `name`.
pub(crate) fn asset(name: &str) -> Option<&'static str> {
    ASSETS.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

fn problem(status: u16, why: &str) -> Answer {
    Answer { status, content_type: JSON, body: json!({ "error": why }).to_string().into_bytes() }
}

fn answered(result: Result<Value, String>) -> Answer {
    match result {
        Ok(value) => Answer { status: 200, content_type: JSON, body: value.to_string().into_bytes() },
        Err(why) => problem(422, &why),
    }
}

/// The answer to `request`.
#[must_use]
pub fn answer(request: &Request<'_>, backend: &dyn Backend) -> Answer {
    if !request.is_post {
        let name = if request.path == "/" { "index.html" } else { request.path.trim_start_matches('/') };
        if let Some((_, content_type, text)) = ASSETS.iter().find(|(known, ..)| *known == name) {
            return Answer { status: 200, content_type, body: text.as_bytes().to_vec() };
        }
        return problem(404, "there is no such page");
    }
    let body: Value = match request.body {
        [] => Value::Null,
        body => match serde_json::from_slice(body) {
            Ok(body) => body,
            Err(_) => return problem(400, "the request is not JSON"),
        },
    };
    let named = body["name"].as_str();
    let text = body["text"].as_str();
    match (request.path, named, text) {
        ("/api/overview", ..) => answered(Ok(backend.overview())),
        ("/api/file", Some(name), text) => answered(backend.file(name, text)),
        ("/api/check", Some(name), text) => {
            answered(backend.check(name, text, body["id"].as_str().unwrap_or_default()))
        }
        ("/api/progress", ..) => answered(Ok(backend.progress(body["id"].as_str().unwrap_or_default()))),
        ("/api/cancel", ..) => {
            backend.cancel(body["id"].as_str().unwrap_or_default());
            answered(Ok(json!({})))
        }
        ("/api/play", Some(name), text) => answered(backend.play(name, text, &body["wish"])),
        ("/api/save", Some(name), Some(text)) => {
            let before = body["before"].as_str().unwrap_or_default();
            answered(backend.save(name, before, text).map(|()| json!({})))
        }
        ("/api/file" | "/api/check" | "/api/play" | "/api/save", ..) => {
            problem(400, "`name` or `text` is missing")
        }
        _ => problem(404, "there is no such request"),
    }
}
