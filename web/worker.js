/**
 * The worker of the static page: holds `unshade` compiled to WebAssembly, so that the page stays smooth.
 *
 * Files are read by ranges, where the program asks for them; none is copied whole, and none leaves the machine.
 */

// @ts-ignore: made by `cargo xtask web`, beside this file.
import init, { Workspace } from './unshade_web.js';

/** @type {Promise<any>} */
const ready = init().then(() => new Workspace());
const reader = new FileReaderSync();
/** @type {Set<number>} */
const cancelled = new Set();

/** @param {any} message */
async function answer(message) {
  const workspace = await ready;
  // What was cancelled while it waited in the queue is not begun.
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
    return { message: 'unshade ended by a fault of its own.', hint: 'Load the page anew to go on; and please tell its authors what was open.' };
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
