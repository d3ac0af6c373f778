/** Tests comparisons of listings and of whole programs, with mouse and keyboard. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import './without-page.mjs';
import { pair, rowsOf } from '../compare.js';
import { end, fixture, made, openPage, scratch, texts, titled } from './harness.mjs';

after(end);

const SHADER = fixture('nvidia/volta/shared_sm_75.cubin');
const TWO = fixture('metallib/vertex_fragment.metallib');
const PROGRAM = process.env.UNSHADE;

/**
 * Returns a copy of a cubin whose machine code was changed as text.
 * @param {string} name
 * @param {(text: string) => string} change
 */
function edited(name, change) {
  const listing = execFileSync(/** @type {string} */ (PROGRAM), ['dis', SHADER, '--no-pager'], { encoding: 'utf8' });
  const path = join(scratch, name);
  writeFileSync(`${path}.sass`, change(listing));
  execFileSync(/** @type {string} */ (PROGRAM), ['asm', `${path}.sass`, '--into', SHADER, '-o', path]);
  return path;
}

/** Renames all registers. @param {string} text */
const renamed = (text) => text.replace(/\bR(\d+)\b/g, (_, number) => `R${Number(number) + 16}`);

/**
 * Compares the first items of two files, as a person does.
 * @param {import('playwright-core').Page} page
 * @param {string} one
 * @param {string} other
 * @param {boolean} [items]
 */
async function compare(page, one, other, items = true) {
  for (const name of [one, other]) {
    await page.locator('.tree-row', { hasText: name }).click();
    await titled(page, name);
    if (items) {
      await page.locator('.functions .row').first().click();
      await page.locator('.column-first .line').first().waitFor();
    }
    await page.keyboard.press('c');
  }
  await page.locator('.column-first .tab[aria-selected=true]', { hasText: 'Compare' }).waitFor();
}

test('lines are rows: paired, renamed, and unified', () => {
  const line = (/** @type {Partial<import('../protocol.js').HunkLine>} */ line) => /** @type {import('../protocol.js').HunkLine} */ ({ side: 'both', tokens: [['text', 'x']], ...line });
  const hunk = { left_from: 4, right_from: 7, lines: [
    line({}), line({ side: 'left', paired: true, marks: [0] }), line({ side: 'right', paired: true, marks: [0] }), line({ before: [['text', 'y']], marks: [0] }), line({ side: 'left' }),
  ] };
  assert.deepEqual(pair(hunk).map(({ kind }) => kind), ['same', 'changed', 'renamed', 'removed']);
  assert.deepEqual(pair(hunk).map(({ left, right }) => [left?.number, right?.number]), [[4, 7], [5, 8], [6, 9], [7, undefined]]);
  assert.equal(rowsOf([hunk], false, true).length, 5, 'a changed line has two rows');
  const only = { left_from: 0, right_from: 0, lines: [line({}), line({ before: [['text', 'y']] })] };
  assert.equal(rowsOf([only], false, false).length, 0);
  assert.equal(rowsOf([only], true, false).length, 2);
});

test('renamed registers are no difference, and can be shown', { skip: !PROGRAM }, async () => {
  const other = edited('renamed.cubin', renamed);
  const { page, close } = await openPage([SHADER, other]);
  await compare(page, 'shared_sm_75', 'renamed.cubin');
  await page.locator('.compare .nothing', { hasText: 'Only the names of registers or values differ' }).waitFor();
  assert.match(await page.locator('.compare-summary').textContent() ?? '', /^\d+ only renamed$/);
  await page.locator('.compare').getByRole('checkbox').check();
  await page.locator('.compare-row.renamed .differs', { hasText: /^R\d+/ }).first().waitFor();
  await close();
});

test('a real change is marked token by token, among renamed lines; n and p lead to it', { skip: !PROGRAM }, async () => {
  const other = edited('changed.cubin', (text) => renamed(text).replace(/(LDS[^;]*\[)([^\]]*)\]/, '$1$2+0x10]'));
  const { page, close } = await openPage([SHADER, other]);
  await compare(page, 'shared_sm_75', 'changed.cubin');
  await page.locator('.compare-row .half.changed .differs').first().waitFor();
  assert.match(await page.locator('.compare-summary').textContent() ?? '', /1 changed · \d+ only renamed/);
  const marks = (await texts(page, '.compare-row .half.changed:not(.left) .differs')).join(' ');
  assert.match(marks, /0x10/);
  await page.locator('.compare-rows').focus();
  await page.keyboard.press('n');
  await page.locator('.compare-row.active .half.changed').first().waitFor();
  await page.locator('#status', { hasText: 'Difference 1 of 1' }).waitFor();
  await page.keyboard.press('n');
  await page.locator('#status', { hasText: 'last difference' }).waitFor();
  await page.locator('.ruler-mark').first().waitFor();
  // On a narrow pane each line has a row of its own.
  await page.setViewportSize({ width: 560, height: 800 });
  await page.locator('.compare.unified').waitFor();
  assert.deepEqual(await page.locator('.compare-row:has(.half.changed) .half:visible .sign').allTextContents(), ['−', '+']);
  await close();
});

test('programs: functions that differ, ranked; a renamed function is paired with its old self', async () => {
  const other = made('other.metallib', TWO, (bytes) => {
    const text = bytes.toString('latin1').replaceAll('corner', 'korner');
    return Buffer.from(text, 'latin1');
  });
  const { page, close } = await openPage([TWO, other]);
  await compare(page, 'vertex_fragment', 'other.metallib', false);
  const row = page.locator('.change-row', { hasText: 'corner → korner' });
  await row.waitFor();
  await page.locator('.change-list [role=status]', { hasText: /1 difference, 1 the same/ }).waitFor();
  await row.click();
  await titled(page, 'korner');
  await page.locator('.compare-row .half.changed .differs', { hasText: 'korner' }).first().waitFor();
  await page.goBack();
  await page.locator('.change-row').first().waitFor();
  await close();
});

test('comparisons are accessible', { skip: !PROGRAM }, async () => {
  const other = edited('axe.cubin', (text) => renamed(text).replace(/(LDS[^;]*\[)([^\]]*)\]/, '$1$2+0x10]'));
  const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  for (const [width, height, dark] of /** @type {[number, number, boolean][]} */ ([[1440, 900, false], [1440, 900, true], [390, 844, true]])) {
    const { page, close } = await openPage([SHADER, other], { width, height, dark });
    const hashes = ['#file=axe.cubin&item=0&pane=compare&against=shared_sm_75.cubin%7C0%7C0', '#file=axe.cubin&pane=compare&against=shared_sm_75.cubin%7C0%7C'];
    for (const [hash, ready] of [[hashes[0], '.half.changed .differs'], [hashes[1], '.change-row']]) {
      await page.locator('.title').waitFor();
      await page.evaluate((hash) => { location.hash = hash; }, hash);
      await page.locator(ready).first().waitFor();
      await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), axe).catch(() => page.addScriptTag({ content: axe }));
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(violations.filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact)).map((/** @type {any} */ one) => `${one.id}: ${one.nodes.map((/** @type {any} */ node) => node.html).slice(0, 3).join(' ')}`), [], `${hash} at ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }
    await close();
  }
});
