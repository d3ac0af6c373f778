/**
 * The extension for VS Code: a read-only editor that shows compiled GPU programs with the page of the Explorer.
 *
 * The page is in the folder `page`. It runs in a webview, gets the bytes of the file by messages
 * (`docs/embedding.md`), and fetches nothing but its own files.
 */

const vscode = require('vscode');

/** The editors in `package.json`: one for files that are GPU programs, one for those that may contain some. */
const VIEW_TYPES = ['unshade.program', 'unshade.other'];
/** The version of the messages. */
const PROTOCOL = 1;
/** Maximum size of a file in bytes: what the module's memory can hold besides its own data. */
const MAX_SIZE = 1 << 30;

/** @param {any} context */
function activate(context) {
  for (const viewType of VIEW_TYPES) {
    context.subscriptions.push(vscode.window.registerCustomEditorProvider(viewType, new Viewer(context.extensionUri), {
      supportsMultipleEditorsPerDocument: true,
      // The state of the page is its memory: files and listings.
      webviewOptions: { retainContextWhenHidden: true },
    }));
  }
}

class Viewer {
  /** @param {any} folder the folder of the extension */
  constructor(folder) {
    this.page = vscode.Uri.joinPath(folder, 'page');
  }

  /** @param {any} uri */
  async openCustomDocument(uri) {
    return { uri, dispose() {} };
  }

  /**
   * Shows a file.
   * @param {{uri: any}} document
   * @param {any} panel
   */
  async resolveCustomEditor({ uri }, { webview, onDidDispose }) {
    const name = uri.path.split('/').pop() || 'program';
    const listener = webview.onDidReceiveMessage(async (/** @type {any} */ message) => {
      if (message?.unshade !== PROTOCOL) return;
      if (message.type === 'ready') await this.send(webview, uri, name);
      else if (message.type === 'error') vscode.window.showErrorMessage([`${name}: ${message.message}`, message.hint].filter(Boolean).join(' '));
    });
    // A file that was built again is opened again.
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.joinPath(uri, '..'), name));
    watcher.onDidChange(() => this.send(webview, uri, name));
    onDidDispose?.(() => {
      listener.dispose();
      watcher.dispose();
    });
    webview.options = { enableScripts: true, localResourceRoots: [this.page] };
    webview.html = await this.html(webview);
  }

  /**
   * Sends the file to the page.
   * @param {any} webview
   * @param {any} uri
   * @param {string} name
   */
  async send(webview, uri, name) {
    try {
      const { size } = await vscode.workspace.fs.stat(uri);
      if (size > MAX_SIZE) throw new Error(`the file has ${size} bytes, more than the page can hold; run: unshade explore ${name}`);
      const bytes = await vscode.workspace.fs.readFile(uri);
      // The whole buffer may be larger than the file.
      await webview.postMessage({ unshade: PROTOCOL, type: 'open', name, bytes: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) });
    } catch (error) {
      vscode.window.showErrorMessage(`${name} can't be opened: ${/** @type {any} */ (error)?.message ?? error}`);
    }
  }

  /**
   * Returns the page for a webview: its addresses are those of the webview, and its policy admits its own files only.
   * @param {any} webview
   */
  async html(webview) {
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(this.page, 'index.html')));
    const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const address = (/** @type {string} */ name) => webview.asWebviewUri(vscode.Uri.joinPath(this.page, name)).toString();
    const base = address('app.js').replace(/app\.js$/, '');
    const policy = [
      "default-src 'none'", `script-src 'nonce-${nonce}' ${webview.cspSource} 'wasm-unsafe-eval'`, `style-src ${webview.cspSource}`,
      `connect-src ${webview.cspSource}`, 'worker-src blob:', `img-src ${webview.cspSource} data:`, "base-uri 'none'", "form-action 'none'",
    ].join('; ');
    return text
      .replace(/^.* data-static.*\n/gm, '')
      .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
      .replace('<html ', `<html data-packed="fetch" data-waits data-base="${base}" `)
      .replace('href="app.css"', `href="${address('app.css')}"`)
      .replace('<script type="module" src="app.js">', `<script type="module" nonce="${nonce}" src="${address('app.js')}">`);
  }
}

module.exports = { activate, Viewer };
