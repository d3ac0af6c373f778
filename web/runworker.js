/**
 * Runs launches in the static page, in a thread of its own: the page and the worker that answers queries go on meanwhile,
 * and a launch is stopped by ending the thread. The module is that of the decompiler, which has the emulator.
 */

import { readBeside } from './beside.js';
// @ts-ignore: created by `cargo xtask web` next to this file.
import init, { set_tables, run } from './unshade_web_decompiler.js';

const ready = init().then(() => set_tables((/** @type {string} */ name) => readBeside(`${name}.bin`)));

addEventListener('message', async ({ data }) => {
  try {
    await ready;
    postMessage({ id: data.id, answer: run(data.job) });
  } catch (error) {
    postMessage({ id: data.id, error: { message: `unshade crashed because of a bug: ${/** @type {any} */ (error)?.message ?? error}` } });
  }
});
