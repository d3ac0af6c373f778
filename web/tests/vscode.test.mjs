/**
 * Tests the extension for VS Code: it runs with a stand-in of the editor's interface, which shows its webview in
 * Chromium with the webview's own policy, and passes messages as the editor does.
 *
 * The page of the extension has to be there: `cargo xtask web --vscode`.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { end, fixture, openPage, scratch } from './harness.mjs';
import { serveStatic } from './static.mjs';

after(end);

const FOLDER = fileURLToPath(new URL('../vscode/', import.meta.url));
const skip = !existsSync(join(FOLDER, 'page/worker-packed.js')) && 'cargo xtask web --vscode makes the page of the extension';
const manifest = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8'));

/** A path, as the editor has them. */
class Uri {
  /** @param {string} path */
  constructor(path) {
    this.path = path;
  }

  /**
   * @param {Uri} base
   * @param {...string} parts
   */
  static joinPath(base, ...parts) {
    return new Uri(join(base.path, ...parts));
  }

  toString() {
    return `file://${this.path}`;
  }
}

/** Starts the extension in a stand-in of the editor. */
function start() {
  /** @type {Map<string, any>} */
  const editors = new Map();
  /** @type {string[]} */
  const errors = [];
  /** @type {(() => void)[]} */
  const changes = [];
  const vscode = {
    Uri,
    RelativePattern: class {},
    window: {
      registerCustomEditorProvider: (/** @type {string} */ type, /** @type {any} */ provider, /** @type {any} */ options) => {
        editors.set(type, { provider, options });
        return { dispose() {} };
      },
      showErrorMessage: (/** @type {string} */ text) => void errors.push(text),
    },
    workspace: {
      fs: {
        stat: async (/** @type {Uri} */ { path }) => ({ size: statSync(path).size }),
        // As in the editor, the bytes may be a part of a larger buffer.
        readFile: async (/** @type {Uri} */ { path }) => readFileSync(path),
      },
      createFileSystemWatcher: () => ({ onDidChange: (/** @type {() => void} */ run) => void changes.push(run), dispose() {} }),
    },
  };
  const load = /** @type {any} */ (Module)._load;
  /** @type {any} */ (Module)._load = (/** @type {string} */ name, /** @type {any[]} */ ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
  const require = createRequire(import.meta.url);
  delete require.cache[join(FOLDER, 'extension.js')];
  require(join(FOLDER, 'extension.js')).activate({ extensionUri: new Uri(FOLDER), subscriptions: [] });
  /** @type {any} */ (Module)._load = load;
  return { editors, errors, changes };
}

/**
 * Opens a file in an editor of the extension.
 * @param {string} file
 * @param {string} [type]
 */
async function edit(file, type = 'unshade.program') {
  const editor = start();
  const { provider, options } = editor.editors.get(type);
  assert.equal(options.webviewOptions.retainContextWhenHidden, true);
  const server = await serveStatic({ 'webview.html': () => webview.html, 'nothing.html': () => '<!doctype html>' }, join(FOLDER, 'page'));
  const opened = await openPage([], { server: { address: `${server.address}nothing.html` }, given: false, faults: /404/ });
  /** @type {((message: any) => void)[]} */
  const listeners = [];
  const webview = {
    html: '', options: /** @type {any} */ ({}), cspSource: server.address.replace(/\/$/, ''),
    asWebviewUri: (/** @type {Uri} */ uri) => `${server.address}${basename(uri.path)}`,
    onDidReceiveMessage: (/** @type {(message: any) => void} */ listener) => {
      listeners.push(listener);
      return { dispose() {} };
    },
    postMessage: (/** @type {any} */ message) => opened.page.evaluate(({ message, bytes }) => {
      window.dispatchEvent(new MessageEvent('message', { data: { ...message, bytes: new Uint8Array(bytes).buffer } }));
    }, { message: { ...message, bytes: undefined }, bytes: [...new Uint8Array(message.bytes)] }),
  };
  /** @type {any[]} */
  const messages = [];
  await opened.page.exposeFunction('toExtension', (/** @type {any} */ message) => {
    messages.push(message);
    for (const listener of listeners) listener(message);
  });
  await opened.page.addInitScript(() => {
    /** @type {any} */ (window).acquireVsCodeApi = () => ({ postMessage: (/** @type {any} */ message) => /** @type {any} */ (window).toExtension(message) });
  });
  await provider.resolveCustomEditor(await provider.openCustomDocument(new Uri(file)), { webview });
  await opened.page.goto(`${server.address}webview.html`);
  return { ...opened, ...editor, webview, messages, close: async () => {
    await opened.close();
    await server.stop();
  } };
}

/** Files that the extension opens, with a word of their text. */
const FILES = /** @type {[string, string, string, RegExp][]} */ ([
  ['a Metal library', 'metallib/vertex_fragment.metallib', 'Metal', /vertex/],
  ['a DirectX container', 'dxcontainer/pixel_1_6.dxbc', 'HLSL', /float/],
  ['a cubin', 'nvidia/calls_sm_35.cubin', 'C', /__global__|void/],
]);
for (const [what, name, language, words] of FILES) {
  test(`the extension opens ${what}`, { skip }, async () => {
    const { page, webview, errors, asked, messages, close } = await edit(fixture(name));
    await page.locator('.title', { hasText: basename(name) }).waitFor();
    if (language !== 'HLSL') await page.locator('.functions .row', { hasText: /corner|calls/ }).click();
    await page.locator('.column-first .tab', { hasText: 'Assembly' }).click();
    await page.locator('.column-first .line .code', { hasText: /./ }).first().waitFor();
    await page.locator('.column-first .tab', { hasText: new RegExp(`^${language}$`) }).click();
    await page.locator('.column-first .line .code', { hasText: words }).first().waitFor();
    // The page has the colours of the editor.
    for (const [kind, theme] of [['vscode-dark', 'dark'], ['vscode-high-contrast-light', 'light'], ['vscode-high-contrast', 'dark']]) {
      await page.evaluate((kind) => void (document.body.dataset.vscodeThemeKind = kind), kind);
      await page.locator(`html[data-theme=${theme}]`).waitFor({ state: 'attached' });
    }
    assert.deepEqual(errors, []);
    assert.ok(messages.some(({ type }) => type === 'selected'));
    assert.deepEqual(webview.options.localResourceRoots.map(String), [`file://${join(FOLDER, 'page')}`]);
    assert.match(webview.html, /script-src 'nonce-[0-9a-f]{32}'/);
    assert.ok(!webview.html.includes("'self'"));
    // Nothing but the page's files.
    const origin = webview.cspSource;
    assert.ok(asked.every((address) => address.startsWith(origin) || address.startsWith('blob:') || address.startsWith('data:')), asked.join('\n'));
    await close();
  });
}

test('files without a program, and files that change', { skip }, async () => {
  const path = join(scratch, 'shader.spv');
  writeFileSync(path, Buffer.from([3, 2, 0x23, 7, 0, 0, 1, 0]));
  const { page, changes, close } = await edit(path, 'unshade.other');
  await page.locator('.nothing', { hasText: 'No GPU program' }).waitFor();
  // The file is built again, now with a program.
  writeFileSync(path, readFileSync(fixture('metallib/vertex_fragment.metallib')));
  changes[0]();
  await page.locator('.functions .row').first().waitFor();
  await close();
});

test('the manifest: which files open by themselves', () => {
  const [clear, other] = manifest.contributes.customEditors;
  const patterns = (/** @type {any} */ editor) => editor.selector.map((/** @type {any} */ { filenamePattern }) => filenamePattern);
  assert.deepEqual([clear.priority, other.priority], ['default', 'option']);
  for (const pattern of ['*.metallib', '*.dxil', '*.dxbc', '*.cso', '*.cubin', '*.fatbin', '*.air']) assert.ok(patterns(clear).includes(pattern), pattern);
  for (const pattern of ['*.bc', '*.spv', '*.o', '*.dll']) assert.ok(patterns(other).includes(pattern), pattern);
  assert.ok(start().editors.size === 2);
});
