/**
 * Runs launches in the static page, in a thread of its own: the page and the worker that answers queries go on meanwhile,
 * and a launch is stopped by ending the thread. The module is that of the decompiler, which has the emulator.
 */

// @ts-ignore: created by `cargo xtask web` next to this file.
import init, { set_tables, run } from './unshade_web_decompiler.js';

/**
 * Reads the instruction sets of a family of chips.
 * @param {string} name
 * @returns {Uint8Array | undefined}
 */
function tables(name) {
  const request = new XMLHttpRequest();
  request.open('GET', new URL(`${name}.bin`, import.meta.url), false);
  request.responseType = 'arraybuffer';
  try {
    request.send();
  } catch {
    return undefined;
  }
  return request.status === 200 ? new Uint8Array(request.response) : undefined;
}

const ready = init().then(() => set_tables(tables));

addEventListener('message', async ({ data }) => {
  try {
    await ready;
    postMessage({ id: data.id, answer: run(data.job) });
  } catch (error) {
    postMessage({ id: data.id, error: { message: `unshade crashed because of a bug: ${/** @type {any} */ (error)?.message ?? error}` } });
  }
});
