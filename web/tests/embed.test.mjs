/** Tests the messages between the page and one that embeds it, with the example in docs/embedding.md. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';

import { end, fixture, IS_STATIC, openPage } from './harness.mjs';
import { serveStatic } from './static.mjs';

after(end);

const TWO = readFileSync(fixture('metallib/vertex_fragment.metallib'));
const EXAMPLE = /```html\n([^]*?)```/.exec(readFileSync(new URL('../../docs/embedding.md', import.meta.url), 'utf8'))?.[1] ?? '';
const skip = !IS_STATIC && 'only the static page is embedded';

/**
 * Opens a page of another origin that embeds the Explorer.
 * @param {string} html with the address of the example
 */
async function embed(html) {
  const explorer = await serveStatic();
  const host = await serveStatic({
    'host.html': () => html.replaceAll('https://explorer.example/', explorer.address), 'default.metallib': () => TWO, 'other.html': () => '<!doctype html><title>other</title>',
  });
  const { page, close } = await openPage([], { server: { address: `${host.address}host.html` }, given: false, faults: /404/ });
  return { page, frame: page.frameLocator('iframe').first(), explorer, host, close: async () => {
    await close();
    await explorer.stop();
    await host.stop();
  } };
}

/** A page that records what it receives, and sends what the test wants. */
const RECORDER = `<!doctype html><title>recorder</title><iframe src="https://explorer.example/" width="1000" height="600"></iframe>
<script>
  window.messages = [];
  addEventListener('message', (event) => window.messages.push({ ...event.data, from: event.origin }));
</script>`;

test('the example of the documentation: open, select, events', { skip }, async () => {
  const { page, frame, close } = await embed(EXAMPLE);
  await frame.locator('.title', { hasText: 'shading::tint' }).waitFor();
  await frame.locator('.column-first .line.has-bytes').first().waitFor();
  await page.locator('#where', { hasText: 'default.metallib, item 1, assembly' }).waitFor();
  // What the user does is reported, too.
  await frame.locator('.column-first .tab', { hasText: 'Facts' }).click();
  await page.locator('#where', { hasText: 'default.metallib, item 1, facts' }).waitFor();
  await close();
});

test('requests that fail are answered', { skip }, async () => {
  const { page, close } = await embed(RECORDER);
  const got = (/** @type {any} */ wanted) => page.waitForFunction((wanted) => /** @type {any} */ (window).messages.find((/** @type {any} */ message) => Object.entries(wanted).every(([key, value]) => message[key] === value)), wanted).then((handle) => handle.jsonValue());
  const send = (/** @type {any} */ message) => page.evaluate((message) => /** @type {any} */ (document.querySelector('iframe')).contentWindow.postMessage(message, '*'), message);
  await got({ type: 'ready' });
  for (const [id, message, says] of /** @type {[number, any, RegExp][]} */ ([
    [1, { unshade: 2, type: 'open' }, /version 1/],
    [2, { unshade: 1, type: 'close' }, /no message "close"/],
    [3, { unshade: 1, type: 'open', name: 'a', bytes: 'text' }, /bytes/],
    [4, { unshade: 1, type: 'open', name: 5 }, /name/],
    [5, { unshade: 1, type: 'select', file: 'private.metallib' }, /No file/],
  ])) {
    await send({ ...message, id });
    assert.match((await got({ type: 'error', id })).message, says);
  }
  // Something else that a page may send is ignored.
  await send('text');
  await send(null);
  await send({ type: 'open' });
  await page.evaluate((bytes) => /** @type {any} */ (document.querySelector('iframe')).contentWindow.postMessage({ unshade: 1, type: 'open', id: 6, name: 'noise.bin', bytes: new Uint8Array(bytes) }, '*'), [...Buffer.alloc(100, 7)]);
  assert.deepEqual((await got({ type: 'opened', id: 6 })).programs, []);
  for (const [id, message, says] of /** @type {[number, any, RegExp][]} */ ([
    [7, { item: -1 }, /`item` is not a number/], [8, { range: [9, 3] }, /range/], [9, { name: 'none' }, /none|no such|program/i],
  ])) {
    await send({ unshade: 1, type: 'select', file: 'noise.bin', id, ...message });
    assert.match((await got({ type: 'error', id })).message, says);
  }
  await close();
});

test('only the embedding window is heard, and it learns nothing of files of the user', { skip }, async () => {
  const { page, frame, host, close } = await embed(RECORDER);
  await page.waitForFunction(() => /** @type {any} */ (window).messages.some((/** @type {any} */ message) => message.type === 'ready'));
  // Another frame of the same page.
  await page.evaluate(async (address) => {
    const other = document.createElement('iframe');
    other.src = address;
    document.body.append(other);
    await new Promise((resolve) => other.addEventListener('load', resolve));
    /** @type {any} */ (other.contentWindow).eval(`parent.frames[0].postMessage({ unshade: 1, type: 'open', name: 'forged', bytes: new Uint8Array(9) }, '*')`);
  }, `${host.address}other.html`);
  const chooser = page.waitForEvent('filechooser');
  await frame.getByRole('button', { name: 'Open files…' }).click();
  await (await chooser).setFiles(fixture('metallib/vertex_fragment.metallib'));
  await frame.locator('.functions .row').first().click();
  await frame.locator('.column-first .line.has-bytes').first().waitFor();
  assert.equal(await frame.locator('.tree-row', { hasText: 'forged' }).count(), 0);
  assert.deepEqual(await page.evaluate(() => /** @type {any} */ (window).messages.map((/** @type {any} */ message) => message.type)), ['ready']);
  await close();
});
