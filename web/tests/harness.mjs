/**
 * Shared by the page tests: the server (or the folder with the static page), the browser, and windows whose console
 * messages are checked.
 *
 * UNSHADE         the program; `unshade explore --no-open FILE…` prints the address
 * UNSHADE_PAGE    instead, a folder with the static page created by `cargo xtask web`
 * UNSHADE_WEB     a folder whose page files replace those in the program: tests changes of the page without a build
 * UNSHADE_BIG     the library of mlx-metal, for measurements
 * UNSHADE_TIMEOUT milliseconds that the page may take for a step, instead of two minutes
 * CHROMIUM        the browser
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = process.env.UNSHADE;
const PAGE = process.env.UNSHADE_PAGE;
const WEB = process.env.UNSHADE_WEB;
/** Whether the static page is tested. */
export const IS_STATIC = PAGE !== undefined;

/** A folder for files created by tests. */
export const scratch = mkdtempSync(join(tmpdir(), 'unshade-web-'));

/** @param {string} name of a fixture, such as `metallib/constants.metallib` */
export function fixture(name) {
  return join(ROOT, 'tests/fixtures', name);
}

/** The file of 147 MB, if it is available. */
export const BIG = process.env.UNSHADE_BIG && existsSync(process.env.UNSHADE_BIG) ? process.env.UNSHADE_BIG : undefined;

/**
 * Creates a modified copy of a file.
 * @param {string} name
 * @param {string} of
 * @param {(bytes: Buffer) => Buffer} change
 */
export function made(name, of, change) {
  const path = join(scratch, name);
  writeFileSync(path, change(readFileSync(of)));
  return path;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
/** @type {(() => Promise<void> | void)[]} */
const endings = [() => browser.close(), () => rmSync(scratch, { recursive: true, force: true })];

/** Stops servers and the browser. */
export async function end() {
  for (const ending of endings.reverse()) await ending();
}

/**
 * Starts the server for these files.
 * @param {string[]} files
 * @returns {Promise<{address: string, stop: () => Promise<void>}>}
 */
export async function serve(files) {
  if (PAGE) return { address: await staticServer(PAGE), stop: async () => {} };
  if (!PROGRAM) throw new Error('UNSHADE says which program to test');
  const child = spawn(PROGRAM, ['explore', '--no-open', ...files], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await ended;
  };
  endings.push(stop);
  let said = '';
  const address = await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        said += `${line}\n`;
        const found = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(line);
        if (found) resolve(found[0]);
      });
    }
    ended.then(() => reject(new Error(`unshade explore ended: ${said}`)));
  });
  return { address, stop };
}

const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.json': 'application/json',
});
/** @type {string | undefined} */
let staticAddress;

/** @param {string} folder */
async function staticServer(folder) {
  if (staticAddress) return staticAddress;
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)).replace(/\/$/, '/index.html');
    try {
      const body = readFileSync(join(folder, path));
      response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => void server.close());
  staticAddress = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`;
  return staticAddress;
}

/**
 * Opens a window with these files.
 * @param {string[]} files
 * @param {{width?: number, height?: number, dark?: boolean, offline?: boolean, touch?: boolean, forced?: boolean, still?: boolean, hash?: string, server?: {address: string}, faults?: RegExp, given?: boolean}} [options]
 *   offline: whether the static page may install its service worker; touch: fingers instead of a mouse; forced: the system's colours; still: less motion; faults: console messages that
 *   the test provokes; given: whether the static page gets the files
 */
export async function openPage(files, { width = 1400, height = 860, dark = false, offline = false, touch = false, forced = false, still = false, hash = '', server, faults, given = true } = {}) {
  const { address } = server ?? await serve(files);
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', acceptDownloads: true,
    ...(touch ? { hasTouch: true, isMobile: true } : {}), forcedColors: forced ? 'active' : 'none', reducedMotion: still ? 'reduce' : 'no-preference',
    serviceWorkers: offline ? 'allow' : 'block' });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']).catch(() => {});
  // Playwright can answer the file chooser of an input, but not the picker for handles; the test for handles replaces it.
  await context.addInitScript(() => void delete (/** @type {any} */ (window).showOpenFilePicker));
  if (WEB && !PAGE) await context.route(`${address}**`, (route) => fromFolder(route, WEB));
  const page = await context.newPage();
  // Only the measurements check speed; other tests use generous timeouts for busy machines.
  page.setDefaultTimeout(Number(process.env.UNSHADE_TIMEOUT ?? 120_000));
  /** @type {string[]} */
  const complaints = [];
  /** @type {string[]} */
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !faults?.test(message.text()) && !message.text().includes('blocked by Playwright')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  await page.goto(address + hash);
  if (PAGE && given) await giveFiles(page, files);
  return {
    page, address,
    /** All requests of the page. */
    asked,
    /** Closes the window; unexpected console messages fail the test. */
    async close() {
      await context.close();
      if (complaints.length) throw new Error(`the page complained:\n${complaints.join('\n')}`);
    },
  };
}

/**
 * Answers a request for a file of the page with the one in a folder.
 * @param {import('playwright-core').Route} route
 * @param {string} folder
 */
async function fromFolder(route, folder) {
  const name = new URL(route.request().url()).pathname.split('/').pop() || 'index.html';
  const path = join(folder, name);
  if (route.request().method() !== 'GET' || !existsSync(path)) return route.fallback();
  const body = readFileSync(path, 'utf8').replace('data-transport="worker"', 'data-transport="server"')
    .replace("connect-src 'self' https:", "connect-src 'self'").replace(/^.* data-static.*\n/gm, '');
  return route.fulfill({ contentType: TYPES[extname(name)], body });
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string[]} files
 */
async function giveFiles(page, files) {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Open files…' }).click();
  await (await chooser).setFiles(files);
}

/**
 * Waits until the page shows this title.
 * @param {import('playwright-core').Page} page
 * @param {string | RegExp} title
 */
export async function titled(page, title) {
  await page.locator('.title', { hasText: title }).waitFor();
}

/**
 * Returns the texts of the elements that match a selector.
 * @param {import('playwright-core').Page} page
 * @param {string} selector
 */
export function texts(page, selector) {
  return page.locator(selector).allTextContents();
}

/**
 * Waits for highlighted bytes, and returns their text.
 * @param {import('playwright-core').Page} page
 */
export async function litBytes(page) {
  await page.locator('.hex-bytes .lit').first().waitFor();
  return (await texts(page, '.hex-bytes .lit')).join(' ').trim().split(/\s+/);
}

/**
 * Waits until exactly these bytes are highlighted.
 * @param {import('playwright-core').Page} page
 * @param {string} bytes
 */
export async function lightsUp(page, bytes) {
  await page.waitForFunction((bytes) => {
    const lit = [...document.querySelectorAll('.hex-bytes .lit')].map((node) => node.textContent).join(' ');
    return lit.trim().split(/\s+/).join(' ') === bytes;
  }, bytes);
}

/**
 * Downloads an entry of the download dialog.
 * @param {import('playwright-core').Page} page
 * @param {string} what
 * @param {number} [group] 0 for the current view, 1 for the whole program
 */
export async function download(page, what, group = 0) {
  await page.keyboard.press('d');
  const waiting = page.waitForEvent('download');
  await page.locator('.downloads').nth(group).locator(`[data-what=${what}]`).click();
  const got = await waiting;
  return { name: got.suggestedFilename(), bytes: readFileSync(await got.path()) };
}

const AXE = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/**
 * Fails if axe finds a serious violation in what the page shows now.
 * @param {import('playwright-core').Page} page
 */
export async function accessible(page) {
  await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), AXE).catch(() => page.addScriptTag({ content: AXE }));
  const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.filter((/** @type {any} */ { impact }) => ['serious', 'critical'].includes(impact)).map((/** @type {any} */ { id, nodes }) => `${id}: ${nodes.map((/** @type {any} */ node) => node.html).join('\n')}`);
  if (found.length) throw new Error(found.join('\n'));
}
