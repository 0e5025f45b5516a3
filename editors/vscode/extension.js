// Starts `fabius lsp` and shows pages; all else is in the server.
"use strict";

const { execFile } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
    return vscode.workspace.getConfiguration("fabius").get("path");
}

/** Runs a command of the server about the file that is being edited. */
function aboutThis(name) {
    return async () => {
        const editor = vscode.window.activeTextEditor;
        if (editor === undefined || editor.document.languageId !== "fabius") return;
        const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
        await client.sendRequest("workspace/executeCommand", { command: name, arguments: [uri] });
    };
}

/** Shows the answer about the text that is being edited as a page beside it. */
function showPage() {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined || editor.document.languageId !== "fabius") return;
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fabius-"));
    const page = path.join(folder, "page.html");
    const options = ["decide", "-", "--time", "60s", "--html", page];
    const child = execFile(command(), options, (error, _out, said) => {
        if (fs.existsSync(page)) {
            const title = path.basename(editor.document.fileName);
            const panel = vscode.window.createWebviewPanel("fabius", title, vscode.ViewColumn.Beside, {
                enableScripts: true,
            });
            panel.webview.html = fs.readFileSync(page, "utf8");
        } else {
            vscode.window.showErrorMessage(said.trim() || String(error));
        }
        fs.rmSync(folder, { recursive: true });
    });
    // If it cannot be run, what is called above says so.
    child.stdin?.on("error", () => {});
    child.stdin?.end(editor.document.getText());
}

async function activate(context) {
    const server = { command: command(), args: ["lsp"] };
    client = new LanguageClient("fabius", "Fabius", server, { documentSelector: [{ language: "fabius" }] });
    context.subscriptions.push(
        vscode.commands.registerCommand("fabius.checkThis", aboutThis("fabius.check")),
        vscode.commands.registerCommand("fabius.stopThis", aboutThis("fabius.stop")),
        vscode.commands.registerCommand("fabius.page", showPage),
    );
    await client.start();
}

function deactivate() {
    return client?.stop();
}

module.exports = { activate, deactivate };
