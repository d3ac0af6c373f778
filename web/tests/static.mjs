/**
 * Serves the static page from a folder, with changed files, for tests of what only that page has: its worker, links to
 * files, installation, embedding.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

/** The folder made by `cargo xtask web`. */
export const PAGE = process.env.UNSHADE_PAGE ?? '';

const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm',
  '.json': 'application/json', '.webmanifest': 'application/manifest+json', '.svg': 'image/svg+xml', '.png': 'image/png',
});

/**
 * @typedef {object} Answer
 * @property {string | Buffer} [body]
 * @property {number} [status]
 * @property {Record<string, string>} [headers]
 * @property {boolean} [hold] whether the connection stays open after the body
 * @property {boolean} [end] whether it is closed a moment later
 */

/**
 * Starts a server.
 * @param {Record<string, (original: Buffer | undefined, request: import('node:http').IncomingMessage) => string | Buffer | Answer>} [changes]
 *   by path without the first slash: returns what is sent instead of the file
 * @param {string} [folder]
 */
export async function serveStatic(changes = {}, folder = PAGE) {
  /** @type {string[]} */
  const asked = [];
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)).replace(/\/$/, '/index.html').slice(1);
    asked.push(path);
    /** @type {Buffer | undefined} */
    let original;
    try {
      original = readFileSync(join(folder, path));
    } catch {
      original = undefined;
    }
    const changed = changes[path]?.(original, request);
    const answer = typeof changed === 'string' || Buffer.isBuffer(changed) ? { body: changed } : changed ?? { body: original };
    response.writeHead(answer.status ?? (answer.body === undefined ? 404 : 200), {
      'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream', 'Cache-Control': 'no-cache', ...answer.headers,
    });
    if (answer.hold) response.write(answer.body ?? '', () => answer.end && setTimeout(() => response.destroy(), 100));
    else response.end(answer.body ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A test that fails does not stop it.
  server.unref();
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    address: `http://127.0.0.1:${port}/`,
    /** The paths of all requests. */
    asked,
    changes,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
