/** Tests how the static page survives crashes and endless requests of its worker. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { end, fixture, IS_STATIC, openPage, texts, titled } from './harness.mjs';
import { serveStatic } from './static.mjs';

after(end);

const TWO = fixture('metallib/vertex_fragment.metallib');
const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const skip = !IS_STATIC && 'only the static page has a worker';

/**
 * Serves the page with a module that runs some code before each request.
 * @param {string} code with the variable `request`, a string
 */
function serveModule(code) {
  return serveStatic({
    'unshade_web.js': (original) => `${original}
const handle = Workspace.prototype.handle;
Workspace.prototype.handle = function (request) {
  ${code}
  return handle.call(this, request);
};
`,
  });
}

const TRAP = "throw new WebAssembly.RuntimeError('unreachable');";

test('a crash: the worker is restarted, files are opened again, the view stays', { skip }, async () => {
  // The first worker crashes on the second function's listing, the next one doesn't.
  const server = await serveModule(`const seen = new XMLHttpRequest();
    if (request.includes('"listing"') && request.includes('"item":1')) {
      seen.open('GET', 'once', false);
      seen.send();
      if (seen.responseText === 'first') ${TRAP}
    }`);
  let asked = 0;
  server.changes.once = () => (asked++ === 0 ? 'first' : 'later');
  const { page, close } = await openPage([TWO, CUBIN], { server });
  await titled(page, 'vertex_fragment');
  await page.locator('.functions .row').nth(1).click();
  await page.locator('.notice', { hasText: 'crashed because of a bug and was restarted. 2 files were opened again' }).waitFor();
  // The request was repeated, so that nothing is missing.
  await page.locator('.column-first .listing[data-item="1"] .line.has-bytes').first().waitFor();
  assert.equal(asked, 2);
  assert.equal(await page.locator('.problem').count(), 0);
  assert.match(page.url(), /item=1/);
  // All files are there, under the same numbers.
  await page.locator('.tree-row', { hasText: 'calls_sm_35' }).click();
  await titled(page, 'calls_sm_35');
  await page.locator('.functions .row').first().click();
  await page.locator('.column-first .line', { hasText: /MOV|EXIT/ }).first().waitFor();
  await page.getByRole('button', { name: 'Close the notice' }).click();
  assert.equal(await page.locator('.notice').count(), 0);
  await close();
  await server.stop();
});

test('a request that crashes again is not repeated for ever', { skip }, async () => {
  const server = await serveModule(`if (request.includes('"listing"') && request.includes('"item":1')) {
      const counter = new XMLHttpRequest();
      counter.open('GET', 'crash', false);
      counter.send();
      ${TRAP}
    }`);
  let crashes = 0;
  server.changes.crash = () => String(++crashes);
  const { page, close } = await openPage([TWO], { server });
  await titled(page, 'vertex_fragment');
  const rows = page.locator('.functions .row');
  await rows.nth(1).click();
  await page.locator('.column-first .problem', { hasText: 'crashed on this request because of a bug' }).waitFor();
  assert.equal(crashes, 2);
  // Everything else works, and the request is refused without running.
  await rows.nth(0).click();
  await page.locator('.column-first .listing[data-item="0"] .line.has-bytes').first().waitFor();
  await rows.nth(1).click();
  await page.locator('.column-first .problem', { hasText: 'not tried again' }).waitFor();
  assert.equal(crashes, 2);
  await close();
  await server.stop();
});

test('a crash of the decompiler restarts the worker, too', { skip }, async () => {
  let crashes = 0;
  const server = await serveStatic({
    'unshade_web_decompiler.js': (original) => String(original).replace('export function decompile(', `export function decompile() {
      const counter = new XMLHttpRequest();
      counter.open('GET', 'crash', false);
      counter.send();
      ${TRAP}
    }
    export function before(`),
    crash: () => String(++crashes),
  });
  const { page, close } = await openPage([CUBIN], { server, hash: '#file=calls_sm_35.cubin&item=3&pane=c' });
  await page.locator('.column-first .problem', { hasText: 'crashed on this request' }).waitFor();
  assert.equal(crashes, 2);
  await page.locator('.column-first .tab', { hasText: 'Assembly' }).click();
  await page.locator('.column-first .line.has-bytes').first().waitFor();
  await close();
  await server.stop();
});

test('a request that never ends is stopped', { skip }, async () => {
  const server = await serveModule("if (request.includes('\"graph\"')) for (;;);");
  const { page, close } = await openPage([TWO], { server });
  await page.locator('.functions .row').first().click();
  await page.locator('.column-first .line.has-bytes').first().waitFor();
  await page.locator('.column-first .tab', { hasText: 'Graph' }).click();
  await page.locator('.waiting').getByRole('button', { name: 'Cancel' }).click();
  await page.locator('.column-first .nothing', { hasText: 'Stopped.' }).waitFor();
  await page.locator('.functions .row').nth(1).click();
  await page.locator('.column-first .tab', { hasText: 'Assembly' }).click();
  await page.locator('.column-first .listing[data-item="1"] .line.has-bytes').first().waitFor();
  assert.ok((await texts(page, '.column-first .line .code')).length > 0);
  await close();
  await server.stop();
});

test('a module that does not start is reported', { skip }, async () => {
  const server = await serveStatic({ 'unshade_web_bg.wasm': () => ({ status: 404 }) });
  const { page, close } = await openPage([TWO], { server, faults: /404/ });
  await page.locator('#status.fault').waitFor();
  await close();
  await server.stop();
});
