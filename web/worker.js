/**
 * The worker of the static page: runs `unshade` compiled to WebAssembly, so that the page stays responsive.
 *
 * Files are read in ranges, on demand, and none leaves the computer. The decompiler and the editor are modules of their
 * own, which are loaded when they are needed for the first time.
 */

// @ts-ignore: created by `cargo xtask web` next to this file.
import init, { Workspace } from './unshade_web.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import { initSync, set_tables, decompile as decompileThere } from './unshade_web_decompiler.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import { initSync as initEditor, set_tables as setEditorTables, edit as editThere } from './unshade_web_editor.js';

/** @type {Promise<any>} */
const ready = init().then(() => new Workspace(tables, decompile, edit));
const reader = new FileReaderSync();
/** @type {Set<number>} */
const cancelled = new Set();

/**
 * Reads the instruction sets of a family of chips, when the first file needs them. The module waits for them.
 *
 * @param {string} name
 * @returns {Uint8Array | undefined}
 */
function tables(name) {
  return load(`${name}.bin`);
}

let hasDecompiler = false;
let hasEditor = false;

/**
 * Decompiles a function of a cubin, or a shader. The module waits for the text.
 *
 * @param {Uint8Array} program
 * @param {number} base the offset of its first byte
 * @param {number | undefined} symbol the index of the function's symbol; none of a shader
 * @returns {string}
 */
function decompile(program, base, symbol) {
  if (!hasDecompiler) {
    const module = load('unshade_web_decompiler_bg.wasm');
    if (!module) throw new Error('The decompiler can\'t be loaded.');
    initSync({ module });
    set_tables(tables);
    hasDecompiler = true;
  }
  return decompileThere(program, base, symbol);
}

/**
 * Edits a program. The module waits for the new one.
 *
 * @param {Uint8Array} program
 * @param {number} base the offset of its first byte
 * @param {string} change as JSON
 * @returns {[string, Uint8Array]} the answer as JSON, and the bytes
 */
function edit(program, base, change) {
  if (!hasEditor) {
    const module = load('unshade_web_editor_bg.wasm');
    if (!module) throw new Error('The editor can\'t be loaded.');
    initEditor({ module });
    setEditorTables(tables);
    hasEditor = true;
  }
  return editThere(program, base, change);
}

/**
 * Reads a file next to this one. A worker may wait for it.
 *
 * @param {string} name
 * @returns {Uint8Array | undefined}
 */
function load(name) {
  const request = new XMLHttpRequest();
  request.open('GET', new URL(name, import.meta.url), false);
  request.responseType = 'arraybuffer';
  try {
    request.send();
  } catch {
    return undefined;
  }
  return request.status === 200 ? new Uint8Array(request.response) : undefined;
}

/** @param {any} message */
async function answer(message) {
  const workspace = await ready;
  // Skip requests that were cancelled while they waited in the queue.
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (cancelled.delete(message.id)) return undefined;
  if (message.request !== undefined) return workspace.handle(message.request);
  if (message.extract !== undefined) {
    const { name = 'unshade.bin', error } = JSON.parse(workspace.handle(message.extract));
    if (error) throw error;
    return { name, bytes: workspace.handle_bytes(message.extract) };
  }
  /** @type {File} */
  const file = message.open;
  const opened = JSON.parse(workspace.open(message.name, file.size, (/** @type {number} */ offset, /** @type {number} */ length) =>
    new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)))));
  if (opened.error) throw opened.error;
  return opened.file;
}

addEventListener('message', async ({ data }) => {
  if (data.cancel) {
    cancelled.add(data.id);
    return;
  }
  try {
    const result = await answer(data);
    postMessage({ id: data.id, answer: result });
  } catch (error) {
    postMessage({ id: data.id, error: shapeOf(error) });
  }
});

/**
 * @param {any} error
 * @returns {import('./protocol.js').ErrorShape}
 */
function shapeOf(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    return { message: 'unshade crashed because of a bug.', hint: 'Reload the page to continue, and please report the bug with the file that was open.' };
  }
  if (typeof error === 'string') {
    try {
      return JSON.parse(error).error;
    } catch {
      return { message: error };
    }
  }
  return typeof error?.message === 'string' && !(error instanceof Error) ? error : { message: String(error?.message ?? error) };
}
