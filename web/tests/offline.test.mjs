/** Tests the installed page: offline, and the change to a new version. */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { end, fixture, IS_STATIC, openPage, scratch, titled } from './harness.mjs';
import { PAGE, serveStatic } from './static.mjs';

after(end);

const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const skip = !IS_STATIC && 'only the static page is installed';

/**
 * Waits until the service worker is active.
 * @param {import('playwright-core').Page} page
 */
async function installed(page) {
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} file
 */
async function choose(page, file) {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Open files…' }).click();
  await (await chooser).setFiles(file);
}

test('after the first visit the page works offline', { skip }, async () => {
  const server = await serveStatic();
  const { page, close } = await openPage([], { server, given: false, offline: true });
  await installed(page);
  await page.context().setOffline(true);
  await server.stop();
  await page.reload();
  // Tables, the decompiler and the examples are there, too.
  await choose(page, CUBIN);
  await titled(page, 'calls_sm_35');
  await page.locator('.functions .row', { hasText: 'calls' }).click();
  await page.locator('.column-first .tab', { hasText: /^C$/ }).click();
  await page.locator('.column-first .t-keyword').first().waitFor();
  await page.goto(`${server.address}?url=examples%2Fcalls_sm_35.cubin`);
  await titled(page, 'calls_sm_35');
  await close();
});

test('the manifest can be installed', { skip }, async () => {
  const server = await serveStatic();
  const { page, close } = await openPage([], { server, given: false });
  const session = await page.context().newCDPSession(page);
  const { errors, url } = await session.send('Page.getAppManifest');
  assert.match(url, /manifest\.webmanifest$/);
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(readFileSync(join(PAGE, 'manifest.webmanifest'), 'utf8'));
  for (const { src, sizes } of manifest.icons) {
    const size = await page.evaluate(async (src) => {
      const image = new Image();
      image.src = src;
      await image.decode();
      return `${image.naturalWidth}x${image.naturalHeight}`;
    }, src);
    if (sizes !== 'any') assert.equal(size, sizes);
  }
  await close();
  await server.stop();
});

test('a new version is offered, loaded whole, and replaces the old one', { skip }, async () => {
  const folder = join(scratch, 'site');
  cpSync(PAGE, folder, { recursive: true });
  const server = await serveStatic({}, folder);
  const { page, close } = await openPage([], { server, given: false, offline: true, faults: /integrity|Failed|digest/ });
  await installed(page);
  await page.reload();
  const read = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const caches = () => page.evaluate(() => window.caches.keys());
  const [first] = await caches();

  // The host has a new file already, but not the list of the new version: the page stays the old one.
  writeFileSync(join(folder, 'welcome.js'), read('welcome.js').replace('Open a compiled GPU program', 'Open something new'));
  await page.reload();
  await page.getByText('Open a compiled GPU program').waitFor();

  // Now the list, with the hash of another file wrong, as in the middle of an update: nothing is offered.
  const { createHash } = await import('node:crypto');
  const hash = (/** @type {string} */ name) => createHash('sha256').update(readFileSync(join(folder, name))).digest('base64');
  const service = read('service.js');
  const listed = service.replace(/\["welcome\.js","[^"]*"\]/, JSON.stringify(['welcome.js', hash('welcome.js')])).replace(/const VERSION = '.*'/, "const VERSION = 'next'");
  writeFileSync(join(folder, 'service.js'), listed.replace(/\["theme\.js","[^"]*"\]/, JSON.stringify(['theme.js', hash('welcome.js')])));
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.getRegistration();
    await registration?.update().catch(() => {});
    while (registration?.installing) await new Promise((resolve) => setTimeout(resolve, 50));
  });
  assert.equal(await page.locator('.notice').count(), 0);
  await page.reload();
  await page.getByText('Open a compiled GPU program').waitFor();

  // The update is complete.
  writeFileSync(join(folder, 'service.js'), listed);
  await page.evaluate(async () => void await (await navigator.serviceWorker.getRegistration())?.update());
  await page.locator('.notice', { hasText: 'A new version' }).waitFor();
  // Another window still shows the old one.
  const other = await page.context().newPage();
  await other.goto(server.address);
  await other.getByText('Open a compiled GPU program').waitFor();
  await page.locator('.notice').getByRole('button', { name: 'Load it' }).click();
  await page.locator('.notice', { hasText: 'Close the other windows' }).waitFor();
  await other.close();
  await page.locator('.notice').getByRole('button', { name: 'Try again' }).click();
  await page.locator('.notice', { hasText: 'A new version' }).getByRole('button', { name: 'Load it' }).click();
  await page.getByText('Open something new').waitFor();
  await page.waitForFunction(async (first) => !(await window.caches.keys()).includes(first), first);
  assert.equal((await caches()).length, 1);
  await close();
  await server.stop();
});
