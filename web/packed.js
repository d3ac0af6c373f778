/**
 * Files of the page that can't be fetched by the worker itself: in a page that is one file they are data blocks,
 * compressed with gzip, in base64; in a webview of an editor only the page may fetch them.
 *
 * `<html data-packed="inline">` names the first kind, `<html data-packed="fetch" data-base="ADDRESS">` the second.
 */

/** The modules and tables that the worker needs. */
const NAMES = ['unshade_web_bg.wasm', 'unshade_web_decompiler_bg.wasm', 'unshade_web_editor_bg.wasm', 'sm_30.bin', 'sm_50.bin', 'sm_70.bin'];

/** Returns whether the page has packed files. */
export function isPacked() {
  return document.documentElement.dataset.packed !== undefined;
}

/** Returns the names of the files that the worker gets. */
export function packedNames() {
  return NAMES;
}

/**
 * Returns the contents of a file of the page.
 * @param {string} name
 * @returns {Promise<ArrayBuffer>}
 */
export async function packedFile(name) {
  const { packed, base } = document.documentElement.dataset;
  if (packed === 'fetch') {
    // The script of the worker has all its modules inside.
    const response = await fetch(`${base}${name === 'worker.js' ? 'worker-packed.js' : name}`);
    if (!response.ok) throw new Error(`${name}: status ${response.status}`);
    return response.arrayBuffer();
  }
  const text = document.getElementById(`file:${name}`)?.textContent;
  if (!text) throw new Error(`The page has no ${name}.`);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}
