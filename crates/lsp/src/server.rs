//! The loop: one message after the other, none of which takes longer than a keystroke may.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;

use gen_lsp_types as lsp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use referee_ide::diagnostics::diagnostics;
use referee_ide::{Encoding, Workspace};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::convert::Snapshot;
use crate::handlers::{self, Failure, tokens};
use crate::worker::Worker;
use crate::{ServerError, files, uri};

/// What the loop waits for.
enum Event {
    Message(Message),
    /// The protocols of the workspace's folders.
    Scanned(Vec<(String, String)>),
    /// The client is gone.
    Closed,
}

/// Sends a message to the client.
type Outbound = Arc<dyn Fn(Message) + Send + Sync>;

/// A request that a worker has not answered yet.
struct Unanswered {
    /// The file it is about.
    path: String,
    /// Ends the work: the answer is not wanted any more.
    cancel: Arc<AtomicBool>,
}

/// The requests that workers have not answered yet.
type Pending = Arc<Mutex<HashMap<RequestId, Unanswered>>>;

pub(crate) fn serve(connection: Connection) -> Result<(), ServerError> {
    let (id, params) = connection.initialize_start()?;
    let params: lsp::InitializeParams = serde_json::from_value(params)?;
    let snapshot = negotiated(&params);
    connection.initialize_finish(id, capabilities(snapshot.encoding))?;
    let (events, queue) = mpsc::channel();
    scan_in_background(&params, events.clone());
    let Connection { sender, receiver } = connection;
    // Ends when the client's end of the channel is gone.
    thread::spawn(move || {
        for message in receiver {
            if events.send(Event::Message(message)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Closed);
    });
    let outbound: Outbound = Arc::new(move |message| {
        let _ = sender.send(message);
    });
    let mut server = Server {
        snapshot,
        open: HashMap::new(),
        outbound,
        pending: Pending::default(),
        stale: HashMap::new(),
        analysis: Worker::new("analysis"),
        checks: Worker::new("checks"),
        is_shut_down: false,
    };
    let ended = server.run(&queue);
    server.cancel_everything();
    ended
}

/// How the client counts, and what it can show.
fn negotiated(params: &lsp::InitializeParams) -> Snapshot {
    let general = params.capabilities.general.as_ref();
    let encodings = general.and_then(|general| general.position_encodings.as_ref());
    let utf8 = encodings.is_some_and(|all| all.contains(&lsp::PositionEncodingKind::UTF8));
    let client = serde_json::to_value(&params.capabilities).unwrap_or_default();
    let options = params.initialization_options.as_ref();
    Snapshot {
        workspace: Workspace::new(Arc::new(files::read)),
        encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
        snippets: client["textDocument"]["completion"]["completionItem"]["snippetSupport"]
            == Value::Bool(true),
        hints: options.is_some_and(|options| options["inlayHints"] == Value::Bool(true)),
        uris: HashMap::new(),
    }
}

/// What the server can do.
fn capabilities(encoding: Encoding) -> Value {
    let types: Vec<&str> = tokens::TYPES.iter().copied().chain([tokens::COMMENT]).collect();
    json!({
        "capabilities": {
            "positionEncoding": if encoding == Encoding::Utf8 { "utf-8" } else { "utf-16" },
            "textDocumentSync": { "openClose": true, "change": 2, "save": false },
            "completionProvider": { "triggerCharacters": [".", ":", "(", " "] },
            "hoverProvider": true,
            "signatureHelpProvider": { "triggerCharacters": ["(", ","] },
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll"] },
            "codeLensProvider": {},
            "documentFormattingProvider": true,
            "renameProvider": { "prepareProvider": true },
            "foldingRangeProvider": true,
            "inlayHintProvider": true,
            "semanticTokensProvider": {
                "legend": { "tokenTypes": types, "tokenModifiers": tokens::MODIFIERS },
                "full": true,
            },
        },
        "serverInfo": { "name": "referee", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn scan_in_background(params: &lsp::InitializeParams, events: mpsc::Sender<Event>) {
    let given = serde_json::to_value(&params.workspace_folders_initialize_params).unwrap_or_default();
    let folders = given["workspaceFolders"].as_array().into_iter().flatten();
    let mut roots: Vec<lsp::Uri> =
        folders.filter_map(|folder| folder["uri"].as_str()).map(|uri| lsp::Uri(uri.to_owned())).collect();
    if roots.is_empty() {
        #[expect(deprecated, reason = "what older clients send")]
        roots.extend(params.root_uri.clone());
    }
    let roots: Vec<PathBuf> = roots
        .iter()
        .filter(|root| root.0.starts_with("file:"))
        .map(|root| uri::to_path(root).into())
        .collect();
    if !roots.is_empty() {
        thread::spawn(move || {
            let _ = events.send(Event::Scanned(files::scan(roots)));
        });
    }
}

/// A file as the client has it.
struct OpenFile {
    version: i32,
    text: String,
}

struct Server {
    snapshot: Snapshot,
    open: HashMap<Arc<str>, OpenFile>,
    outbound: Outbound,
    pending: Pending,
    /// What is set when a file changes: by path.
    stale: HashMap<Arc<str>, Arc<AtomicBool>>,
    analysis: Worker,
    checks: Worker,
    is_shut_down: bool,
}

impl Server {
    fn run(&mut self, queue: &mpsc::Receiver<Event>) -> Result<(), ServerError> {
        while let Ok(event) = queue.recv() {
            match event {
                Event::Message(Message::Request(request)) => self.request(request),
                Event::Message(Message::Notification(notification)) if notification.method == "exit" => {
                    return if self.is_shut_down { Ok(()) } else { Err(ServerError::NoShutdown) };
                }
                Event::Message(Message::Notification(notification)) => self.notification(notification),
                // Nothing is asked of the client.
                Event::Message(Message::Response(_)) => {}
                Event::Scanned(found) => self.scanned(found),
                Event::Closed => {
                    return if self.is_shut_down { Ok(()) } else { Err(ServerError::NoShutdown) };
                }
            }
        }
        Ok(())
    }

    fn request(&mut self, request: Request) {
        if self.is_shut_down {
            let (code, message) = (ErrorCode::InvalidRequest as i32, "the server is shut down".to_owned());
            return self.respond(Response::new_err(request.id, code, message));
        }
        match request.method.as_str() {
            "shutdown" => {
                self.is_shut_down = true;
                self.cancel_everything();
                self.respond(Response::new_ok(request.id, Value::Null));
            }
            "textDocument/completion" => self.now::<lsp::CompletionRequest>(request, handlers::completion),
            "textDocument/definition" => self.now::<lsp::DefinitionRequest>(request, handlers::definition),
            "textDocument/references" => self.now::<lsp::ReferencesRequest>(request, handlers::references),
            "textDocument/documentHighlight" => {
                self.now::<lsp::DocumentHighlightRequest>(request, handlers::highlights);
            }
            "textDocument/prepareRename" => {
                self.now::<lsp::PrepareRenameRequest>(request, handlers::prepare_rename);
            }
            "textDocument/rename" => self.now::<lsp::RenameRequest>(request, handlers::rename),
            "textDocument/documentSymbol" => {
                self.now::<lsp::DocumentSymbolRequest>(request, handlers::document_symbols);
            }
            "textDocument/foldingRange" => {
                self.now::<lsp::FoldingRangeRequest>(request, handlers::folding_ranges);
            }
            "textDocument/formatting" => {
                self.now::<lsp::DocumentFormattingRequest>(request, handlers::format)
            }
            "textDocument/signatureHelp" => {
                self.now::<lsp::SignatureHelpRequest>(request, handlers::signature_help);
            }
            "textDocument/semanticTokens/full" => {
                self.now::<lsp::SemanticTokensRequest>(request, tokens::full);
            }
            "textDocument/hover" => {
                self.later::<lsp::HoverRequest>(&self.analysis, request, handlers::hover_at)
            }
            "textDocument/codeAction" => {
                self.later::<lsp::CodeActionRequest>(&self.analysis, request, handlers::code_actions);
            }
            "textDocument/inlayHint" => {
                self.later::<lsp::InlayHintRequest>(&self.analysis, request, handlers::inlay_hints);
            }
            "textDocument/codeLens" => {
                self.later::<lsp::CodeLensRequest>(&self.checks, request, handlers::code_lenses);
            }
            other => {
                let message = format!("`{other}` is not supported");
                self.respond(Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message));
            }
        }
    }

    /// Answers on this thread.
    fn now<R: lsp::Request>(&self, request: Request, handler: Handler<R>) {
        let never = AtomicBool::new(false);
        let response = answer::<R>(&self.snapshot, request.id, request.params, handler, &never);
        self.respond(response);
    }

    /// Answers on `worker`, unless the client or a change of the text cancels it before.
    fn later<R: lsp::Request + 'static>(&self, worker: &Worker, request: Request, handler: Handler<R>) {
        let cancel = Arc::new(AtomicBool::new(false));
        let named = request.params["textDocument"]["uri"].as_str().unwrap_or_default();
        let path = uri::to_path(&lsp::Uri(named.to_owned()));
        self.pending().insert(request.id.clone(), Unanswered { path, cancel: Arc::clone(&cancel) });
        let (snapshot, pending) = (self.snapshot.clone(), Arc::clone(&self.pending));
        let outbound = Arc::clone(&self.outbound);
        worker.run(move || {
            let Request { id, params, .. } = request;
            let response = match cancel.load(Ordering::Relaxed) {
                true => {
                    let Failure { code, message } = Failure::modified();
                    Response::new_err(id.clone(), code, message)
                }
                false => answer::<R>(&snapshot, id.clone(), params, handler, &cancel),
            };
            // Whoever cancelled it has been answered.
            if lock(&pending).remove(&id).is_some() {
                outbound(Message::Response(response));
            }
        });
    }

    fn notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                if let Some(params) = read::<lsp::DidOpenTextDocumentParams>(notification.params) {
                    let document = params.text_document;
                    let path: Arc<str> = uri::to_path(&document.uri).into();
                    self.snapshot.uris.insert(Arc::clone(&path), document.uri);
                    self.changed(&path, document.version, document.text);
                }
            }
            "textDocument/didChange" => {
                if let Some(params) = read::<lsp::DidChangeTextDocumentParams>(notification.params) {
                    self.change(params);
                }
            }
            "textDocument/didClose" => {
                if let Some(params) = read::<lsp::DidCloseTextDocumentParams>(notification.params) {
                    self.close(&params.text_document.uri);
                }
            }
            "workspace/didChangeWatchedFiles" => {
                if let Some(params) = read::<lsp::DidChangeWatchedFilesParams>(notification.params) {
                    for change in params.changes {
                        self.reload(&uri::to_path(&change.uri));
                    }
                }
            }
            "workspace/didChangeConfiguration" => {
                let hints = &notification.params["settings"]["referee"]["inlayHints"];
                self.snapshot.hints = hints.as_bool().unwrap_or(self.snapshot.hints);
            }
            "$/cancelRequest" => self.cancel(&notification.params["id"]),
            _ => {}
        }
    }

    fn cancel(&self, id: &Value) {
        let id = match id {
            Value::String(id) => RequestId::from(id.clone()),
            id => match id.as_i64().and_then(|id| i32::try_from(id).ok()) {
                Some(id) => RequestId::from(id),
                None => return,
            },
        };
        let unanswered = self.pending().remove(&id);
        if let Some(unanswered) = unanswered {
            unanswered.cancel.store(true, Ordering::Relaxed);
            self.respond(canceled(id));
        }
    }

    fn change(&mut self, params: lsp::DidChangeTextDocumentParams) {
        let path: Arc<str> = uri::to_path(&params.text_document.text_document_identifier.uri).into();
        let mut text = self.open.remove(&path).map(|known| known.text).unwrap_or_default();
        for change in params.content_changes {
            match change {
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    text = whole.text;
                }
                lsp::TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    // Each change is made to what the one before it has left.
                    let lines = referee_ide::LineIndex::new(&text);
                    let offset = |position: lsp::Position| {
                        let place =
                            referee_ide::LineColumn { line: position.line, column: position.character };
                        lines.offset(&text, place, self.snapshot.encoding) as usize
                    };
                    let (start, end) = (offset(part.range.start), offset(part.range.end));
                    text.replace_range(start.min(end)..end.max(start), &part.text);
                }
            }
        }
        self.changed(&path, params.text_document.version, text);
    }

    /// The file at `path` is open and holds `text` now.
    fn changed(&mut self, path: &Arc<str>, version: i32, text: String) {
        self.snapshot.workspace.set(path, &text);
        self.open.insert(Arc::clone(path), OpenFile { version, text });
        self.diagnose(path);
        self.diagnose_importers(path);
    }

    /// Files that import others may be right or wrong because of them.
    fn diagnose_importers(&mut self, but: &str) {
        let workspace = &self.snapshot.workspace;
        let imports = |path: &Arc<str>| {
            **path != *but && workspace.file(path).is_some_and(|file| !file.index().imports.is_empty())
        };
        let importers: Vec<Arc<str>> = self.open.keys().filter(|path| imports(path)).cloned().collect();
        importers.iter().for_each(|path| self.diagnose(path));
    }

    /// Publishes what is wrong with an open file, once a worker has found out.
    fn diagnose(&mut self, path: &Arc<str>) {
        if let Some(stale) = self.stale.insert(Arc::clone(path), Arc::default()) {
            stale.store(true, Ordering::Relaxed);
        }
        for unanswered in self.pending().values().filter(|unanswered| *unanswered.path == **path) {
            unanswered.cancel.store(true, Ordering::Relaxed);
        }
        let stale = self.stale.get(path).cloned().unwrap_or_default();
        let version = self.open.get(path).map(|open| open.version);
        let (snapshot, outbound, path) =
            (self.snapshot.clone(), Arc::clone(&self.outbound), Arc::clone(path));
        self.analysis.run(move || {
            if stale.load(Ordering::Relaxed) {
                return;
            }
            let found = diagnostics(&snapshot.workspace, &path);
            let file = snapshot.workspace.file(&path);
            let converted =
                file.map(|file| found.iter().map(|found| snapshot.diagnostic(file, found)).collect());
            let params = lsp::PublishDiagnosticsParams {
                uri: snapshot.uri(&path),
                version,
                diagnostics: converted.unwrap_or_default(),
            };
            if !stale.load(Ordering::Relaxed) {
                let method = "textDocument/publishDiagnostics".to_owned();
                outbound(Message::Notification(Notification::new(method, params)));
            }
        });
    }

    /// The client has closed a file: what is on disk counts again.
    fn close(&mut self, named: &lsp::Uri) {
        let path: Arc<str> = uri::to_path(named).into();
        self.open.remove(&path);
        self.snapshot.uris.remove(&path);
        if let Some(stale) = self.stale.remove(&path) {
            stale.store(true, Ordering::Relaxed);
        }
        self.reload(&path);
        let params =
            lsp::PublishDiagnosticsParams { uri: named.clone(), version: None, diagnostics: Vec::new() };
        let method = "textDocument/publishDiagnostics".to_owned();
        (self.outbound)(Message::Notification(Notification::new(method, params)));
    }

    /// Reads a file again that is not open.
    fn reload(&mut self, path: &str) {
        if self.open.contains_key(path) {
            return;
        }
        match files::read(Path::new(path)) {
            Ok(Some(text)) if files::is_protocol(Path::new(path)) => {
                self.snapshot.workspace.set(path, &text);
            }
            _ => self.snapshot.workspace.remove(path),
        }
        self.diagnose_importers(path);
    }

    fn scanned(&mut self, found: Vec<(String, String)>) {
        for (path, text) in found {
            if self.snapshot.workspace.file(&path).is_none() {
                self.snapshot.workspace.set(&path, &text);
            }
        }
        self.diagnose_importers("");
    }

    fn cancel_everything(&self) {
        self.stale.values().for_each(|stale| stale.store(true, Ordering::Relaxed));
        let waiting: Vec<(RequestId, Unanswered)> = self.pending().drain().collect();
        for (id, unanswered) in waiting {
            unanswered.cancel.store(true, Ordering::Relaxed);
            self.respond(canceled(id));
        }
    }

    fn respond(&self, response: Response) {
        (self.outbound)(Message::Response(response));
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<RequestId, Unanswered>> {
        lock(&self.pending)
    }
}

/// One of the functions of [`handlers`].
type Handler<R> =
    fn(&Snapshot, <R as lsp::Request>::Params, &AtomicBool) -> Result<<R as lsp::Request>::Result, Failure>;

fn answer<R: lsp::Request>(
    snapshot: &Snapshot,
    id: RequestId,
    params: Value,
    handler: Handler<R>,
    cancel: &AtomicBool,
) -> Response {
    match serde_json::from_value(params) {
        Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        // A panic is answered too: a client waits for each of its requests.
        Ok(params) => match catch_unwind(AssertUnwindSafe(|| handler(snapshot, params, cancel))) {
            Ok(Ok(result)) => Response::new_ok(id, result),
            Ok(Err(Failure { code, message })) => Response::new_err(id, code, message),
            Err(_) => {
                let message = "this went wrong, and should not".to_owned();
                Response::new_err(id, ErrorCode::InternalError as i32, message)
            }
        },
    }
}

fn canceled(id: RequestId) -> Response {
    Response::new_err(id, ErrorCode::RequestCanceled as i32, "canceled".to_owned())
}

/// The parameters of a notification; what is malformed is not answered, as the protocol has it.
fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
