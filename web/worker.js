/**
 * The worker of the static page: runs `unshade` compiled to WebAssembly, so that the page stays responsive.
 *
 * Files are read in ranges, on demand, and none leaves the computer. The decompiler and the editor are modules of their
 * own, which are loaded when they are needed for the first time.
 */

import { readBeside } from './beside.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import init, { Workspace } from './unshade_web.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import { initSync, set_tables, decompile as decompileThere } from './unshade_web_decompiler.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import { initSync as initEditor, set_tables as setEditorTables, edit as editThere } from './unshade_web_editor.js';

/**
 * The files next to this one, in a worker that can't fetch them: the page sends them first.
 * @type {Record<string, ArrayBuffer> | undefined}
 */
let parts;
/** Resolves when they are there. @type {() => void} */
let received = () => {};
const hasParts = location.protocol === 'blob:' ? new Promise((/** @type {(nothing: void) => void} */ resolve) => {
  received = resolve;
}) : Promise.resolve();

/** @type {Promise<any>} */
const ready = hasParts.then(() => init(parts && { module_or_path: parts['unshade_web_bg.wasm'] })).then(() => {
  postMessage({ ready: true });
  return new Workspace(tables, decompile, edit);
});
ready.catch((error) => postMessage({ failed: String(error?.message ?? error) }));
/** The error that ended the decompiler or the editor in the current request. The module can't be used after that. @type {unknown} */
let ended;
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

/** The modules that were loaded. @type {Set<string>} */
const loaded = new Set();

/**
 * Calls a function of another module, which is loaded if it is not there yet. The module waits for the result.
 * @template T
 * @param {string} name
 * @param {(options: {module: Uint8Array}) => unknown} start
 * @param {(tables: (name: string) => Uint8Array | undefined) => void} setTables
 * @param {() => T} call
 * @returns {T}
 */
function inModule(name, start, setTables, call) {
  if (!loaded.has(name)) {
    const module = load(`unshade_web_${name}_bg.wasm`);
    if (!module) throw new Error(`The ${name} can't be loaded.`);
    start({ module });
    setTables(tables);
    loaded.add(name);
  }
  try {
    return call();
  } catch (error) {
    if (isCrash(error)) ended = error;
    throw error;
  }
}

/**
 * Decompiles a function of a cubin, or a shader.
 *
 * @param {Uint8Array} program
 * @param {number} base the offset of its first byte
 * @param {number | undefined} symbol the index of the function's symbol; none of a shader
 * @returns {string}
 */
function decompile(program, base, symbol) {
  return inModule('decompiler', initSync, set_tables, () => decompileThere(program, base, symbol));
}

/**
 * Edits a program.
 *
 * @param {Uint8Array} program
 * @param {number} base the offset of its first byte
 * @param {string} change as JSON
 * @returns {[string, Uint8Array]} the answer as JSON, and the bytes
 */
function edit(program, base, change) {
  return inModule('editor', initEditor, setEditorTables, () => editThere(program, base, change));
}

/**
 * Returns a file next to this one.
 *
 * @param {string} name
 * @returns {Uint8Array | undefined}
 */
function load(name) {
  if (!parts) return readBeside(name);
  return parts[name] && new Uint8Array(parts[name]);
}

/** The thread that runs launches, and those that it runs, by the numbers of their requests. @type {Worker | undefined} */
let runner;
/** @type {Map<number, {resolve: (answer: string) => void, reject: (error: unknown) => void}>} */
const launches = new Map();

/**
 * Runs a launch in another thread.
 * @param {number} id
 * @param {unknown} job
 * @returns {Promise<string>}
 */
function launch(id, job) {
  runner ??= startRunner();
  return new Promise((resolve, reject) => {
    launches.set(id, { resolve, reject });
    runner?.postMessage({ id, job });
  });
}

function startRunner() {
  const started = new Worker(new URL('runworker.js', import.meta.url), { type: 'module' });
  started.addEventListener('message', ({ data }) => {
    const waiting = launches.get(data.id);
    launches.delete(data.id);
    if (data.error) waiting?.reject(data.error);
    else waiting?.resolve(data.answer);
    // A module that trapped is not used again.
    if (data.error) endRunner();
  });
  started.addEventListener('error', (event) => {
    event.preventDefault();
    endRunner({ message: event.message || 'The emulator can\'t be loaded.' });
  });
  return started;
}

/** @param {unknown} [error] why the launches that run have no answer */
function endRunner(error = { message: 'The launch was stopped.' }) {
  runner?.terminate();
  runner = undefined;
  for (const { reject } of launches.values()) reject(error);
  launches.clear();
}

/** @param {any} message */
async function answer(message) {
  const workspace = await ready;
  // Skip requests that were cancelled while they waited in the queue.
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (cancelled.delete(message.id)) return undefined;
  if (message.request !== undefined && ['run', 'parameters'].includes(JSON.parse(message.request).query)) {
    return launch(message.id, workspace.run_job(message.request));
  }
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
  if (data.parts) {
    parts = data.parts;
    return received();
  }
  if (data.cancel) {
    if (launches.has(data.id)) endRunner();
    else cancelled.add(data.id);
    return;
  }
  try {
    const result = await answer(data);
    if (ended !== undefined) throw ended;
    postMessage({ id: data.id, answer: result });
  } catch (error) {
    postMessage({ id: data.id, ...(isCrash(error) ? { trapped: true } : { error: shapeOf(error) }) });
  }
});

/**
 * Returns whether an error left a module in a state in which it can't be used: a trap, or an overflow of the stack.
 *
 * @param {unknown} error
 */
function isCrash(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError || /** @type {any} */ (error)?.name === 'InternalError';
}

/**
 * @param {any} error
 * @returns {import('./protocol.js').ErrorShape}
 */
function shapeOf(error) {
  if (typeof error === 'string') {
    try {
      return JSON.parse(error).error;
    } catch {
      return { message: error };
    }
  }
  return typeof error?.message === 'string' && !(error instanceof Error) ? error : { message: String(error?.message ?? error) };
}
