//! The loop: what the editor says, and what it is answered.

use crate::document::Document;
use crate::names::Access;
use crate::runs::{Answer, Runs};
use crate::{change, look};
use crossbeam_channel::select;
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
    ShowMessage,
};
use lsp_types::request::{
    CodeLensRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, ExecuteCommand, Formatting,
    GotoDefinition, HoverRequest, InlayHintRefreshRequest, InlayHintRequest, PrepareRenameRequest, References, Rename,
    Request as _,
};
use lsp_types::*;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The command that checks a file: its one argument is the file's address.
pub const CHECK: &str = "fabius.check";
/// The command that stops this.
pub const STOP: &str = "fabius.stop";

struct Server<'a> {
    connection: &'a Connection,
    documents: HashMap<Uri, Document>,
    runs: Runs,
    /// Whether the editor shows steps anew when it is told to.
    refreshes: bool,
    /// Requests of ours so far.
    asked: i32,
}

/// How often somebody looks whether the server shall end.
const OFTEN: Duration = Duration::from_millis(100);

/// Serves one editor until it says that it ends. `fabius` is the command that checks files. Once the editor is there,
/// `listen` hands out what is set from outside if the server shall end. Whatever runs ends with it.
///
/// # Errors
/// If the other side does not keep to the protocol, or goes away without a word.
pub fn serve(
    connection: &Connection,
    fabius: PathBuf,
    listen: impl FnOnce() -> Arc<AtomicBool>,
) -> Result<(), ProtocolError> {
    let (id, asked) = connection.initialize_start()?;
    let refreshes = asked.pointer("/capabilities/workspace/inlayHint/refreshSupport") == Some(&Value::Bool(true));
    let about = serde_json::json!({
        "capabilities": capabilities(),
        "serverInfo": { "name": "fabius", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, about)?;
    let (sender, answers) = crossbeam_channel::unbounded();
    let runs = Runs::new(fabius, sender);
    let mut server = Server { connection, documents: HashMap::new(), runs, refreshes, asked: 0 };
    let (stop, looks) = (listen(), crossbeam_channel::tick(OFTEN));
    while !stop.load(Ordering::Relaxed) {
        select! {
            recv(connection.receiver) -> message => match message {
                Ok(Message::Request(request)) => {
                    if connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    server.request(request);
                }
                Ok(Message::Notification(said)) => server.notification(said),
                // To what we ask there is no answer that matters.
                Ok(Message::Response(_)) => {}
                Err(_) => return Ok(()),
            },
            recv(answers) -> answer => if let Ok(answer) = answer { server.answered(answer) },
            recv(looks) -> _ => {}
        }
    }
    Ok(())
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncKind::FULL.into()),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".into(), "@".into()]),
            ..CompletionOptions::default()
        }),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: None }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![CHECK.into(), STOP.into()],
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// What is answered to a request: a value, or why there is none.
type Answered = Result<Value, (ErrorCode, String)>;

/// Reads the parameters of a request and answers it.
fn answer<R: request::Request>(
    params: Value,
    with: impl FnOnce(R::Params) -> Result<R::Result, (ErrorCode, String)>,
) -> Answered {
    let params = serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    let result = with(params)?;
    serde_json::to_value(result).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

impl Server<'_> {
    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let response = match self.answer(&method, params) {
            Ok(value) => Response::new_ok(id, value),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        };
        self.send(response.into());
    }

    fn answer(&mut self, method: &str, params: Value) -> Answered {
        match method {
            HoverRequest::METHOD => answer::<HoverRequest>(params, |p| {
                let (_, document, offset) = self.at(&p.text_document_position_params)?;
                Ok(look::hover(document, offset))
            }),
            GotoDefinition::METHOD => answer::<GotoDefinition>(params, |p| {
                let (uri, document, offset) = self.at(&p.text_document_position_params)?;
                let declared = document.names.at(offset).map(|place| &document.names.declared[place.of]);
                Ok(declared.map(|d| Location::new(uri.clone(), document.range(d.span)).into()))
            }),
            References::METHOD => answer::<References>(params, |p| {
                let (uri, document, offset) = self.at(&p.text_document_position)?;
                let Some(place) = document.names.at(offset) else { return Ok(None) };
                let with_itself = p.context.include_declaration;
                let all = document.names.places_of(place.of);
                let all = all.filter(|place| with_itself || place.access != Access::Declares);
                Ok(Some(all.map(|place| Location::new(uri.clone(), document.range(place.span))).collect()))
            }),
            DocumentHighlightRequest::METHOD => answer::<DocumentHighlightRequest>(params, |p| {
                let (_, document, offset) = self.at(&p.text_document_position_params)?;
                let Some(place) = document.names.at(offset) else { return Ok(None) };
                let kind = |access| match access {
                    Access::Reads => DocumentHighlightKind::READ,
                    Access::Writes | Access::Declares => DocumentHighlightKind::WRITE,
                };
                let all = document.names.places_of(place.of);
                Ok(Some(
                    all.map(|p| DocumentHighlight { range: document.range(p.span), kind: Some(kind(p.access)) })
                        .collect(),
                ))
            }),
            PrepareRenameRequest::METHOD => answer::<PrepareRenameRequest>(params, |p| {
                let (_, document, offset) = self.at(&p)?;
                let place = document.names.at(offset);
                Ok(place.map(|place| PrepareRenameResponse::Range(document.range(place.span))))
            }),
            Rename::METHOD => answer::<Rename>(params, |p| {
                let (uri, document, offset) = self.at(&p.text_document_position)?;
                let edits = change::rename(document, offset, &p.new_name);
                let edits = edits.map_err(|why| (ErrorCode::RequestFailed, why))?;
                Ok(Some(WorkspaceEdit { changes: Some([(uri.clone(), edits)].into()), ..WorkspaceEdit::default() }))
            }),
            Completion::METHOD => answer::<Completion>(params, |p| {
                let (_, document, offset) = self.at(&p.text_document_position)?;
                Ok(Some(change::completions(document, offset).into()))
            }),
            DocumentSymbolRequest::METHOD => answer::<DocumentSymbolRequest>(params, |p| {
                Ok(Some(look::symbols(self.document(&p.text_document.uri)?.1).into()))
            }),
            Formatting::METHOD => {
                answer::<Formatting>(params, |p| Ok(Some(change::format(self.document(&p.text_document.uri)?.1))))
            }
            InlayHintRequest::METHOD => answer::<InlayHintRequest>(params, |p| {
                let hints = look::steps(self.document(&p.text_document.uri)?.1).into_iter();
                let lines = p.range.start.line..=p.range.end.line;
                Ok(Some(hints.filter(|hint| lines.contains(&hint.position.line)).collect()))
            }),
            CodeLensRequest::METHOD => {
                answer::<CodeLensRequest>(params, |p| Ok(Some(vec![lens(&p.text_document.uri)])))
            }
            ExecuteCommand::METHOD => answer::<ExecuteCommand>(params, |p| self.execute(&p).map(|()| None)),
            _ => Err((ErrorCode::MethodNotFound, format!("`{method}` is not known"))),
        }
    }

    fn document(&self, uri: &Uri) -> Result<(&Uri, &Document), (ErrorCode, String)> {
        let unknown = || (ErrorCode::InvalidParams, format!("`{}` is not open", uri.as_str()));
        self.documents.get_key_value(uri).ok_or_else(unknown)
    }

    fn at(&self, place: &TextDocumentPositionParams) -> Result<(&Uri, &Document, u32), (ErrorCode, String)> {
        let (uri, document) = self.document(&place.text_document.uri)?;
        Ok((uri, document, document.offset(place.position)))
    }

    fn execute(&mut self, params: &ExecuteCommandParams) -> Result<(), (ErrorCode, String)> {
        let wrong = |why: &str| (ErrorCode::InvalidParams, why.to_string());
        let uri: Uri = match params.arguments.as_slice() {
            [uri] => serde_json::from_value(uri.clone()).map_err(|error| wrong(&error.to_string()))?,
            _ => return Err(wrong("the argument of this command is the address of a file")),
        };
        match params.command.as_str() {
            CHECK => {
                let text = self.document(&uri)?.1.text.clone();
                self.runs.begin(&uri, text).map_err(|why| (ErrorCode::RequestFailed, why))
            }
            STOP => {
                self.runs.stop(&uri);
                Ok(())
            }
            other => Err(wrong(&format!("`{other}` is not known"))),
        }
    }

    /// A run has ended.
    fn answered(&mut self, answer: Answer) {
        if !self.runs.is_last(&answer) {
            return;
        }
        let typ = if answer.bug.is_some() { MessageType::WARNING } else { MessageType::INFO };
        self.notify::<ShowMessage>(ShowMessageParams { typ, message: answer.said });
        let Some(document) = self.documents.get_mut(&answer.uri) else { return };
        document.bug = answer.bug;
        self.publish(&answer.uri);
        self.refresh();
    }

    fn notification(&mut self, said: Notification) {
        match said.method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Ok(p) = serde_json::from_value::<DidOpenTextDocumentParams>(said.params) {
                    self.open(p.text_document.uri, p.text_document.text, p.text_document.version);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Ok(mut p) = serde_json::from_value::<DidChangeTextDocumentParams>(said.params)
                    && let Some(change) = p.content_changes.pop()
                {
                    // What is known of the text as it was does not hold of this one.
                    self.runs.stop(&p.text_document.uri);
                    self.open(p.text_document.uri, change.text, p.text_document.version);
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Ok(p) = serde_json::from_value::<DidCloseTextDocumentParams>(said.params) {
                    let uri = p.text_document.uri;
                    self.runs.stop(&uri);
                    self.documents.remove(&uri);
                    self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(uri, Vec::new(), None));
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, uri: Uri, text: String, version: i32) {
        let had_bug = self.documents.get(&uri).is_some_and(|document| document.bug.is_some());
        self.documents.insert(uri.clone(), Document::new(text, version));
        self.publish(&uri);
        if had_bug {
            self.refresh();
        }
    }

    fn publish(&self, uri: &Uri) {
        if let Some(document) = self.documents.get(uri) {
            let all = look::diagnostics(document, uri);
            self.notify::<PublishDiagnostics>(PublishDiagnosticsParams::new(uri.clone(), all, Some(document.version)));
        }
    }

    /// Asks the editor to show the steps anew.
    fn refresh(&mut self) {
        if self.refreshes {
            self.asked += 1;
            let request = Request::new(self.asked.into(), InlayHintRefreshRequest::METHOD.into(), Value::Null);
            self.send(request.into());
        }
    }

    fn notify<N: notification::Notification>(&self, params: N::Params) {
        self.send(Notification::new(N::METHOD.into(), params).into());
    }

    fn send(&self, message: Message) {
        // An editor that has gone away is noticed where it is listened to.
        let _ = self.connection.sender.send(message);
    }
}

/// What stands above the first line.
fn lens(uri: &Uri) -> CodeLens {
    let uri = Value::String(uri.as_str().into());
    let command = Command::new("Check this file".into(), CHECK.into(), Some(vec![uri]));
    CodeLens { range: Range::default(), command: Some(command), data: None }
}
