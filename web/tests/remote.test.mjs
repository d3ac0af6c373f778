/** Tests links that name a file: `?url=`. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';

import { end, fixture, IS_STATIC, openPage, titled } from './harness.mjs';
import { serveStatic } from './static.mjs';

after(end);

const TWO = readFileSync(fixture('metallib/vertex_fragment.metallib'));
const skip = !IS_STATIC && 'only the static page fetches files';
const OTHER = 'https://files.example/libraries/remote%20one.metallib';

/**
 * Opens the page with a link to a file.
 * @param {string} url
 * @param {{hash?: string, changes?: Parameters<typeof serveStatic>[0], faults?: RegExp, answer?: (route: import('playwright-core').Route) => Promise<void>}} [options]
 *   answer: how the other server answers
 */
async function follow(url, { hash = '', changes = {}, faults, answer } = {}) {
  const server = await serveStatic(changes);
  const opened = await openPage([], { server, given: false, faults });
  /** @type {import('playwright-core').Request[]} */
  const elsewhere = [];
  await opened.page.context().route(/^https:/, (route) => {
    elsewhere.push(route.request());
    return answer ? answer(route) : route.abort();
  });
  await opened.page.goto(`${server.address}?url=${encodeURIComponent(url)}${hash}`);
  return { ...opened, server, elsewhere, close: async () => {
    await opened.close();
    await server.stop();
  } };
}

test('a file of the same origin opens at once, at the place in the link', { skip }, async () => {
  const { page, close } = await follow('examples/vertex_fragment.metallib', { hash: '#file=vertex_fragment.metallib&item=1' });
  await page.locator('.column-first .listing[data-item="1"] .line.has-bytes').first().waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  // The address still leads there.
  assert.match(page.url(), /\?url=examples.*#file=vertex_fragment\.metallib&item=1/);
  await page.reload();
  await page.locator('.column-first .listing[data-item="1"] .line.has-bytes').first().waitFor();
  await close();
});

test('a file of another origin is fetched only after asking, without credentials and referrer', { skip }, async () => {
  const { page, elsewhere, close } = await follow(OTHER, { answer: (route) => route.fulfill({ body: TWO, headers: { 'Access-Control-Allow-Origin': '*' } }) });
  const dialog = page.getByRole('dialog', { name: 'Fetch a file from another server?' });
  await dialog.getByText('https://files.example', { exact: true }).waitFor();
  assert.equal(elsewhere.length, 0);
  await dialog.getByRole('button', { name: 'Fetch the file' }).click();
  await titled(page, 'remote one.metallib');
  const [request] = elsewhere;
  const headers = await request.allHeaders();
  assert.equal(elsewhere.length, 1);
  assert.equal(headers.cookie, undefined);
  assert.equal(headers.referer, undefined);
  await close();
});

test('declining fetches nothing', { skip }, async () => {
  const { page, elsewhere, close } = await follow(OTHER);
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#status', { hasText: 'was not fetched' }).waitFor();
  await page.getByRole('button', { name: 'Open files…' }).waitFor();
  assert.equal(elsewhere.length, 0);
  await close();
});

/** Links that fail: the name, the address, how the page's or the other server answers, what the page says. */
const FAILURES = /** @type {[string, string, {changes?: Parameters<typeof serveStatic>[0], answer?: (route: import('playwright-core').Route) => Promise<void>}, RegExp][]} */ ([
  ['no such file', 'examples/none.metallib', {}, /status 404.*no such file/s],
  ['not allowed by the server', OTHER, { answer: (route) => route.fulfill({ body: TWO, headers: { 'Access-Control-Allow-Origin': 'https://someone.example' } }) }, /files\.example.*CORS/s],
  ['an unreachable server', OTHER, { answer: (route) => route.abort('connectionrefused') }, /can't be fetched.*does not respond/s],
  ['a redirect of the same origin, which could lead elsewhere', 'moved.metallib', { changes: { 'moved.metallib': () => ({ status: 302, headers: { Location: 'https://elsewhere.example/' } }) } }, /moved\.metallib redirects.*final address/s],
  ['a redirect', OTHER, { answer: (route) => route.fulfill({ status: 302, headers: { Location: 'https://elsewhere.example/', 'Access-Control-Allow-Origin': '*' } }) }, /redirects|can't be fetched/],
  ['a web page', 'index.html', {}, /is a web page/],
  ['too large', 'large.metallib', { changes: { 'large.metallib': () => ({ body: 'x', headers: { 'Content-Length': '999999999' }, hold: true }) } }, /at most 537 MB/],
  ['empty', 'empty.metallib', { changes: { 'empty.metallib': () => '' } }, /is empty/],
  ['cut short', 'short.metallib', { changes: { 'short.metallib': () => ({ body: 'MTLB', headers: { 'Content-Length': '5000' }, hold: true, end: true }) } }, /connection ended/],
  ['another scheme', 'ftp://files.example/a.metallib', {}, /ftp:.*https/s],
  ['an insecure server', 'http://files.example/a.metallib', {}, /http:.*https/s],
  ['no script', 'javascript:window.taken=1', {}, /javascript:/],
  ['credentials', 'https://me:secret@files.example/a.metallib', {}, /password/],
  ['not an address', 'https://', {}, /no valid address/],
]);
for (const [name, url, options, says] of FAILURES) {
  test(`a link that fails: ${name}`, { skip }, async () => {
    const { page, close } = await follow(url, { ...options, faults: /./ });
    if (url === OTHER) await page.getByRole('dialog').getByRole('button', { name: 'Fetch the file' }).click();
    await page.locator('.welcome-panel .problem', { hasText: says }).waitFor();
    await page.getByRole('button', { name: 'Open files…' }).waitFor();
    assert.equal(await page.evaluate(() => /** @type {any} */ (window).taken), undefined);
    await close();
  });
}

test('a file without a GPU program says so', { skip }, async () => {
  const { page, close } = await follow('noise.bin', { changes: { 'noise.bin': () => Buffer.alloc(5000, 7) } });
  await page.locator('.nothing', { hasText: 'No GPU program' }).waitFor();
  await close();
});

test('a slow file shows its progress and can be cancelled', { skip }, async () => {
  const { page, close } = await follow('slow.metallib', { changes: { 'slow.metallib': () => ({ body: TWO.subarray(0, 2000), headers: { 'Content-Length': String(TWO.length) }, hold: true }) } });
  await page.locator('.waiting', { hasText: '2.0 kB of 5.7 kB' }).getByRole('button', { name: 'Cancel' }).click();
  await page.locator('#status', { hasText: 'was not fetched' }).waitFor();
  await close();
});

test('the local server does not fetch files of links', { skip: IS_STATIC }, async () => {
  const { page, address, close } = await openPage([fixture('metallib/vertex_fragment.metallib')]);
  await page.goto(`${address}?url=${encodeURIComponent(OTHER)}`);
  await page.locator('#status.fault', { hasText: 'static page only' }).waitFor();
  await titled(page, 'vertex_fragment');
  await close();
});
