/** Tests the first screen of a program. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { filterOf } from '../families.js';
import { byStem, squarified } from '../treemap.js';
import { axe, BIG, end, fixture, library, openPage, texts, titled } from './names_harness.mjs';

after(end);

test('signatures, sizes, verify, and what to do next', async () => {
  const { page, close } = await openPage([fixture('metallib/vertex_fragment.metallib')], { width: 1100 });
  const view = page.locator('.column-first .facts-view');
  await view.locator('.tile').first().waitFor();
  await view.locator('.verdict', { hasText: 'No problems found' }).waitFor();
  assert.match(await view.locator('.cards').first().textContent() ?? '', /macOS 14\.0[^]*Metal 3\.1/);
  assert.deepEqual(await texts(page, '.next button'), ['Filter functions /', 'Search all f', 'Verify v', 'Compare with another c', 'Download d']);
  assert.deepEqual(await axe(page), []);
  // A part of the file leads to its bytes, a function to itself; both by keyboard.
  const map = view.getByRole('listbox', { name: 'Sizes' });
  await map.focus();
  await page.keyboard.press('Home');
  const labels = await view.locator('.tile').evaluateAll((tiles) => tiles.map((tile) => tile.getAttribute('aria-label') ?? ''));
  assert.ok(labels.some((label) => /^shading::tint: 2\.1 kB, fragment$/.test(label)), labels.join('; '));
  await view.locator('.tile[aria-label^="header:"]').click({ force: true });
  await page.locator('.bytes-where', { hasText: '0x0  88 bytes' }).waitFor();
  const goal = labels.findIndex((label) => label.startsWith('shading::tint'));
  await map.focus();
  for (let k = 0; k < 12; k++) {
    if (await map.getAttribute('aria-activedescendant') === `tile-${goal}`) break;
    await page.keyboard.press(k % 2 ? 'ArrowRight' : 'ArrowDown');
  }
  await view.locator('.tile[aria-label^="shading::tint"]').click();
  await titled(page, 'shading::tint');
  await page.goBack();
  await titled(page, 'vertex_fragment.metallib');
  await view.locator('.sized button', { hasText: 'corner' }).first().click();
  await titled(page, 'corner');
  await close();
});

test('the map by the keyboard alone', async () => {
  const { page, close } = await openPage([library('many.metallib', Array.from({ length: 60 }, (_, k) => `op_${'abcdefgh'[k % 8]}_float${k}`))]);
  await page.locator('.tile').nth(10).waitFor();
  await page.locator('.tree-map').focus();
  await page.keyboard.press('End');
  const last = await page.locator('.tree-map').getAttribute('aria-activedescendant');
  const seen = new Set([last]);
  for (const key of ['ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown', 'Home']) {
    await page.keyboard.press(key);
    seen.add(await page.locator('.tree-map').getAttribute('aria-activedescendant'));
  }
  assert.ok(seen.size >= 3, [...seen].join());
  assert.equal(await page.locator('.tile[aria-selected="true"]').count(), 1);
  assert.match(await page.locator('.tree-map-text').textContent() ?? '', /: \d/);
  // A family leads to its members in the list.
  await page.locator('.tile-family').first().click({ position: { x: 8, y: 6 } });
  await page.waitForFunction(() => /** @type {HTMLInputElement} */ (document.querySelector('#filter')).value.startsWith('/^op_'));
  await page.locator('.counted', { hasText: /^\d+ of 60 functions/ }).waitFor();
  await close();
});

test('the programs of an archive and the chips of a fat binary', async () => {
  const { page, close } = await openPage([fixture('metallib/universal_air.metallib'), fixture('nvidia/calls_sm_35.cubin')]);
  await page.locator('.tile').first().waitFor();
  await page.locator('.verdict', { hasText: /problems|error|warning/ }).waitFor();
  await page.locator('.tree-row', { hasText: 'calls_sm_35' }).click();
  await titled(page, 'calls_sm_35');
  await page.locator('.next button', { hasText: 'Assembly' }).click();
  await page.locator('.column-first .listing .line').first().waitFor();
  await close();
});

test('embedded sources', async () => {
  const { page, close } = await openPage([fixture('metallib/sources_hsrd.metallib')]);
  await page.locator('.card h3', { hasText: 'Embedded sources' }).waitFor();
  await page.locator('.card', { hasText: 'Embedded sources' }).getByRole('button').first().click();
  await page.locator('.column-first .tab').nth(1).waitFor();
  await close();
});

test('damage is said on the first screen', async () => {
  const { page, close } = await openPage([fixture('metallib/vertex_fragment.metallib')], { width: 390, height: 844, dark: true });
  await page.locator('.verdict .finding').first().waitFor();
  await page.locator('.verdict .finding .value').first().click();
  await page.locator('.bytes-where', { hasText: '1 byte' }).waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  assert.deepEqual(await axe(page), []);
  await close();
});

test('the first screen of a large library is quick', { skip: BIG ? false : 'UNSHADE_BIG names no file' }, async () => {
  const { page, close } = await openPage([/** @type {string} */ (BIG)]);
  const start = Date.now();
  await page.locator('.tile').nth(100).waitFor({ state: 'attached' });
  console.log(`map of 17,248 functions: ${Date.now() - start} ms after the page was loaded`);
  await page.locator('.verdict button', { hasText: 'Check' }).waitFor();
  const tiles = await page.locator('.tile').count();
  assert.ok(tiles < 2_500, `${tiles} tiles`);
  await page.locator('.tile-rest').first().waitFor({ state: 'attached' });
  await close();
});

test('areas are in proportion and cover the room', () => {
  const areas = [6, 6, 4, 3, 2, 2, 1].map((size, k) => ({ name: String(k), size, kind: 'x' }));
  const tiles = squarified(areas, { x: 0, y: 0, width: 600, height: 400 });
  assert.equal(tiles.length, 7);
  for (const { area, width, height } of tiles) assert.ok(Math.abs(width * height - area.size * 10_000) < 1e-3, area.name);
  assert.ok(tiles.every(({ x, y, width, height }) => x >= -1e-6 && y >= -1e-6 && x + width <= 600.001 && y + height <= 400.001));
  assert.ok(Math.max(...tiles.map(({ width, height }) => Math.max(width / height, height / width))) < 3);
  assert.deepEqual(squarified([], { x: 0, y: 0, width: 1, height: 1 }), []);
  assert.deepEqual(squarified(areas, { x: 0, y: 0, width: 0, height: 1 }), []);
});

test('families of one word are one area', () => {
  const areas = Array.from({ length: 50 }, (_, k) => ({ name: `${k % 2 ? 'gemv' : 'copy'}_${k}`, size: 1, kind: 'family' }));
  assert.deepEqual(byStem(areas, 'function').map(({ name, size, detail }) => [name, size, detail]), [['copy…', 25, '25 families of functions'], ['gemv…', 25, '25 families of functions']]);
  assert.equal(byStem(areas.slice(0, 3), 'function').length, 3);
  assert.ok(new RegExp(filterOf('f<*>(int *)').slice(1, -1)).test('f<4>(int *)'));
});
