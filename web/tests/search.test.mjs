/** Tests the search: its dialog, the grouping of results, and spans that several workers search. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Found } from '../found.js';
import { Queue } from '../steps.js';
import { BIG, end, fixture, IS_STATIC, openPage, texts } from './harness.mjs';

after(end);

const TWO = fixture('metallib/vertex_fragment.metallib');

/** @param {number} line @param {number} [item] @param {string[]} [before] @param {string[]} [after] */
function match(line, item = 0, before = [], after = []) {
  return { program: 0, item, pane: 'assembly', line, column: 0, length: 1, text: `line ${line}`, before, after };
}

/** @param {any[]} matches @param {number} [searched] @param {string | null} [cursor] */
function part(matches, searched = 0, cursor = null) {
  const items = [...new Set(matches.map(({ item }) => item))].map((item) => ({ program: 0, item, name: `f${item}`, kind: 'kernel' }));
  return { matches, items, searched, total: 200, cursor };
}

/** @param {Found} found */
function shown(found) {
  return found.rows.map((row) => (row.kind === 'group' ? `${row.group.name} ${row.group.count}` : row.kind === 'match' ? `=${row.match.line}` : row.kind === 'context' ? `~${row.line}` : '⋯'));
}

test('lines around matches are there once, and the match wins', () => {
  const found = new Found();
  found.add(part([match(3, 0, ['2'], ['4']), match(4, 0, ['3'], ['5'])]), 100);
  assert.deepEqual(shown(found), ['f0 2', '~2', '=3', '=4', '~5']);
  // The lines of another part continue the group.
  found.add(part([match(6, 0, ['5'], ['7']), match(20, 0, ['19'], []), match(0, 1, [], ['1'])]), 100);
  assert.deepEqual(shown(found), ['f0 4', '~2', '=3', '=4', '~5', '=6', '~7', '⋯', '~19', '=20', 'f1 1', '=0', '~1']);
});

test('groups fold, also while results arrive', () => {
  const found = new Found();
  found.add(part([match(3, 0, ['2'], ['4'])]), 100);
  found.toggle(found.groups[0]);
  found.add(part([match(9, 0, ['8'], ['10']), match(1, 1)]), 100);
  assert.deepEqual(shown(found), ['f0 2', 'f1 1', '=1']);
  found.toggle(found.groups[0]);
  assert.deepEqual(shown(found), ['f0 2', '~2', '=3', '~4', '⋯', '~8', '=9', '~10', 'f1 1', '=1']);
  found.toggleAll(false);
  assert.deepEqual(shown(found), ['f0 2', 'f1 1']);
  assert.deepEqual([found.stop(0, 1), found.stop(2, 1)], [0, -1]);
  found.toggleAll(true);
  assert.deepEqual([found.stop(1, 1), found.stop(3, 1), found.stop(7, 1)], [2, 6, 8]);
  const few = new Found();
  few.add(part([match(1), match(2), match(3)]), 2);
  assert.equal(few.matches.length, 2);
});

test('spans are passed on in order, whichever worker is first', () => {
  /** @type {any[]} */
  const parts = [];
  const queue = new Queue(10, 200, (got) => {
    parts.push([got.matches.map(({ line }) => line), got.searched, got.cursor]);
  });
  assert.deepEqual([queue.take(), queue.take(), queue.take(), queue.take()], [[10, 74], [74, 138], [138, 200], undefined]);
  queue.put(74, part([match(2)], 64));
  queue.put(10, part([match(0)], 30, 'more'));
  queue.put(10, part([match(1)], 64));
  queue.put(138, part([match(3)], 62));
  assert.deepEqual(parts, [[[], 74, ''], [[0], 104, ''], [[1, 2], 138, ''], [[3], 200, null]]);
});

test('a receiver that has enough ends all workers', () => {
  const queue = new Queue(0, 1000, () => false);
  const [start] = /** @type {[number, number]} */ (queue.take());
  queue.put(start, part([match(0)], 64));
  assert.ok(queue.isEnded);
  assert.equal(queue.take(), undefined);
});

/** @param {import('playwright-core').Page} page @param {string} scope @param {string} text */
async function search(page, scope, text) {
  await page.locator('.functions .row').first().waitFor();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog', { name: 'Search all' });
  await dialog.getByLabel(scope, { exact: true }).check();
  await dialog.getByLabel('Search for').fill(text);
  await page.keyboard.press('Enter');
  await dialog.locator('.search-status', { hasText: /match/ }).waitFor();
  return dialog;
}

test('results are grouped by function, with the lines around them, and work by keyboard', async () => {
  const { page, close } = await openPage([TWO]);
  const dialog = await search(page, 'Listings', 'ret ');
  assert.match(await dialog.locator('.search-status').textContent() ?? '', /^\d+ matches in 2 functions \(2 listings, \d+\.\d s\)\.$/);
  assert.deepEqual(await texts(page, '.result-group .result-name'), ['corner', 'shading::tint']);
  assert.deepEqual([...new Set(await texts(page, '.results mark'))], ['ret ']);
  assert.ok(await dialog.locator('.result-context').count() >= 2);
  // ↓ passes over the lines around a match; ← goes to the function and folds it.
  await dialog.getByLabel('Search for').focus();
  await page.keyboard.press('ArrowDown');
  await dialog.locator('.result-match.active').waitFor();
  await page.keyboard.press('ArrowLeft');
  await dialog.locator('.result-group.active[aria-expanded=true]').waitFor();
  await page.keyboard.press('ArrowLeft');
  await dialog.locator('.result-group.active[aria-expanded=false]').waitFor();
  await page.keyboard.press('j');
  await dialog.locator('.result-group.active', { hasText: 'shading::tint' }).waitFor();
  await page.keyboard.press('j');
  const line = Number((await dialog.locator('.result-match.active .result-where').textContent())?.replaceAll(',', ''));
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'hidden' });
  await page.locator('.column-first .line.active', { hasText: 'ret ' }).waitFor();
  assert.match(page.url(), new RegExp(`item=1&.*line=${line}&`));
  // The dialog comes back as it was.
  await page.keyboard.press('f');
  await dialog.locator('.result-match.active').waitFor();
  assert.match(await dialog.locator('.search-status').textContent() ?? '', /^\d+ matches/);
  await dialog.getByRole('button', { name: 'Fold all' }).click();
  assert.equal(await dialog.locator('.result-match').count(), 0);
  await dialog.getByRole('button', { name: 'Unfold all' }).click();
  await dialog.locator('.result-context').first().waitFor();
  await close();
});

test('letters of any size, or exact; names, PTX and faults', async () => {
  const { page, close } = await openPage([fixture('nvidia/add.ptx')]);
  const dialog = await search(page, 'Listings', 'ST.GLOBAL');
  assert.deepEqual([...new Set(await texts(page, '.results mark'))], ['st.global']);
  await dialog.getByLabel('Match case').check();
  await dialog.getByRole('button', { name: 'Find' }).click();
  await dialog.locator('.search-status', { hasText: 'No matches' }).waitFor();
  await dialog.getByLabel('Regular expression').check();
  await dialog.getByLabel('Search for').fill('st[.');
  await page.keyboard.press('Enter');
  await dialog.locator('.problem', { hasText: 'regular expression' }).waitFor();
  await dialog.getByLabel('Search for').fill('st[.]\\w+');
  await page.keyboard.press('Enter');
  await dialog.locator('.result-match mark').first().waitFor();
  assert.equal(await dialog.locator('.problem').count(), 0);
  await close();
});

test('a search through all listings of a large library', { skip: BIG ? false : 'UNSHADE_BIG names no file' }, async () => {
  const { page, close } = await openPage([/** @type {string} */ (BIG)]);
  await page.locator('.functions .item-name').nth(20).waitFor();
  const started = Date.now();
  const dialog = await search(page, 'Listings', 'a text that is nowhere');
  const seconds = (Date.now() - started) / 1000;
  const limit = IS_STATIC ? 15 : 5;
  console.log(`${IS_STATIC ? 'static page' : 'local server'}: search in all listings, without a match: ${seconds.toFixed(1)} s (limit ${limit} s)`);
  assert.match(await dialog.locator('.search-status').textContent() ?? '', /^No matches \(17,248 listings/);
  assert.ok(seconds < limit, `${seconds} s`);
  // It can be stopped, and results are there before the end.
  await dialog.getByLabel('Search for').fill('gg1_copybool_bool_');
  await page.keyboard.press('Enter');
  await dialog.locator('.result-match').first().waitFor();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await dialog.locator('.search-status', { hasText: 'stopped after' }).waitFor();
  await close();
});
