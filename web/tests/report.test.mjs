/** Tests `unshade html`: a single file that opens from disk, works like the page, and makes no requests. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Answers } from '../report.js';
import { download, end, fixture, litBytes, openPage, scratch, texts, titled } from './harness.mjs';

after(end);

const TWO = fixture('metallib/vertex_fragment.metallib');

/**
 * Opens a window with a report of these files, which functions may follow.
 * @param {string[]} files
 * @param {string} [hash]
 * @param {RegExp} [faults]
 */
async function openReport(files, hash = '', faults = undefined) {
  const path = join(scratch, `report-${openReport.count++}.html`);
  execFileSync(process.env.UNSHADE ?? 'unshade', ['html', ...files, '-o', path]);
  const opened = await openPage([], { server: { address: pathToFileURL(path).href }, hash, faults, given: false });
  return { ...opened, async close() {
    const own = [opened.address, 'blob:', 'data:'];
    assert.deepEqual(opened.asked.filter((address) => !own.some((start) => address.startsWith(start))), [], 'a report fetches nothing');
    await opened.close();
  } };
}
openReport.count = 0;

test('a report shows functions, listing, facts, structure and bytes', async () => {
  const { page, close } = await openReport([TWO]);
  await titled(page, 'vertex_fragment.metallib');
  const names = await texts(page, '.functions .item-name');
  assert.equal(names.length, 2);
  await page.locator('.filter input').fill(names[1]);
  await page.locator('.counted', { hasText: '1 of 2 functions' }).waitFor();
  await page.locator('.functions .row').first().click();
  await titled(page, names[1]);
  await page.locator('.listing .code', { hasText: 'define' }).first().waitFor();
  await page.locator('.column-first .line.has-bytes').nth(3).click();
  const lit = await litBytes(page);
  const [start, stop] = (/range=([0-9a-f]+)-([0-9a-f]+)/.exec(page.url()) ?? []).slice(1).map((digits) => parseInt(digits, 16));
  assert.deepEqual(lit, [...readFileSync(TWO).subarray(start, stop)].map((byte) => byte.toString(16).padStart(2, '0')).slice(0, lit.length));
  await page.keyboard.press('u');
  await page.locator('.tree-row.active').waitFor();
  await page.keyboard.press('1');
  await page.locator('.column-first .card').first().waitFor();
  await page.locator('.column-first th', { hasText: 'attribute' }).first().waitFor();
  await page.locator('.column-first .tab', { hasText: 'Graph' }).click();
  await page.locator('.column-first .block').first().waitFor();
  await page.keyboard.press('v');
  await page.locator('#status', { hasText: 'Verified' }).waitFor();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog', { name: 'Search all' });
  await dialog.getByLabel('Bytes').check();
  await dialog.getByLabel('Search for').fill('4d 54 4c 42');
  await page.keyboard.press('Enter');
  await dialog.locator('.search-state', { hasText: /^1 match/ }).waitFor();
  await dialog.locator('.result').first().click();
  await dialog.waitFor({ state: 'hidden' });
  assert.deepEqual((await download(page, 'program', 1)).bytes, readFileSync(TWO));
  const module = await download(page, 'module');
  assert.ok(readFileSync(TWO).includes(module.bytes));
  await close();
});

test('a report shows the decompiled C beside the machine code, and what its bits are', async () => {
  const { page, close } = await openReport([fixture('nvidia/calls_sm_35.cubin')], '#file=calls_sm_35.cubin&item=3&pane=c&side=assembly');
  await page.locator('.column-first .t-keyword', { hasText: /^(if|for|return|__global__)$/ }).first().waitFor();
  await page.locator('.column-first .line.has-bytes').nth(2).click();
  await page.locator('.column-second .line.lit').first().hover();
  await page.locator('.bits tr').first().waitFor();
  // The mouse rests, what is below it changes: another instruction is there, and it is its bits that are told.
  const before = await page.locator('.bits-word').textContent();
  await page.mouse.wheel(0, 100);
  await page.waitForFunction((before) => {
    const word = document.querySelector('.bits:not([hidden]) .bits-word')?.textContent;
    return word && word !== before;
  }, before);
  await page.mouse.move(2, 2);
  await page.locator('.bits').waitFor({ state: 'hidden' });
  await close();
});

test('several files and formats, and names that would be HTML', async () => {
  const hostile = join(scratch, '<img src=x onerror=window.taken=1>.dxbc');
  copyFileSync(fixture('dxcontainer/pixel_1_6.dxbc'), hostile);
  const { page, close } = await openReport([fixture('dxcontainer/fxc_ps_5_1.dxbc'), hostile, fixture('nvidia/add_sm_35.cubin')], '', /Content Security Policy/);
  await page.locator('.column-first .line .code', { hasText: 'ps_5_1' }).first().waitFor();
  await page.locator('.tree-row', { hasText: '<img' }).click();
  await page.locator('.where-file', { hasText: '<img' }).waitFor();
  await page.locator('.column-first .line .code', { hasText: /DXIL|define/ }).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).taken), undefined);
  // What somebody puts into the page later is not run either.
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.taken = 1';
    document.body.append(script);
  });
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).taken), undefined);
  await close();
});

test('a report of some functions has those alone, and all about them', async () => {
  const { page, close } = await openReport([fixture('metallib/linker_1_2_8.metallib'), '#0']);
  await page.locator('.counted', { hasText: '1 function' }).first().waitFor();
  assert.equal((await texts(page, '.functions .item-name')).length, 1);
  await page.locator('.functions .row').first().click();
  await page.locator('.column-first .listing .code', { hasText: 'define' }).first().waitFor();
  await page.locator('.column-first .line.has-bytes').nth(3).click();
  await litBytes(page);
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog', { name: 'Search all' });
  await dialog.getByLabel('Search for').fill('define');
  await page.keyboard.press('Enter');
  await dialog.locator('.search-status', { hasText: /^\d+ match.*\(1 listing,/ }).waitFor();
  await dialog.locator('.result-context').first().waitFor();
  await close();
});

test('what is not in a report is said, with the command that makes one of it', async () => {
  const findings = [{ severity: 'note', rule: 'report-size', path: [], message: 'the report is not complete' }];
  const rows = [{ item: 0, name: 'f', kind: 'kernel' }];
  const kept = /** @type {Record<string, any>} */ ({
    'overview 0': { programs: [{ program: 0, space: [0, 70000], path: 'f' }], findings: [] }, 'rows 0 0': { total: 1, columns: [], rows },
  });
  const archive = /** @type {any} */ ({
    index: { findings, files: [], kinds: [], blocks: [] }, has: () => false,
    answer: async (/** @type {string} */ key) => kept[key], bytes: async (/** @type {string} */ key) => (key === 'bytes 0 0 0' ? new Uint8Array(65536).fill(7) : undefined),
  });
  const answers = new Answers(archive);
  const listing = await answers.answer({ query: 'listing', item: 0 });
  assert.match(listing.error.hint, /unshade html FILE FUNCTION/);
  assert.equal((await answers.answer({ query: 'hex', from: 65000, count: 4 })).bytes, '07070707');
  assert.match((await answers.answer({ query: 'hex', from: 65000, count: 4000 })).error.message, /not in the report/);
  assert.deepEqual((await answers.answer({ query: 'overview' })).findings, findings);
  const searched = await answers.answer({ query: 'search', scope: 'listings', text: 'x' });
  assert.deepEqual([searched.total, searched.missing], [0, 'listings that are not in the report were not searched']);
});
