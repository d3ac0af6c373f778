/** Tests the list of functions: names that can be told apart, columns, families, the filter's language. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { differing, elided } from '../names.js';
import { FamilyRows } from '../families.js';
import { withAhead } from '../ahead.js';
import { parseTerms, selects } from '../terms.js';
import { axe, cubin, end, fixture, IS_STATIC, library, openPage, texts, titled } from './names_harness.mjs';

after(end);

const NAMES = [2, 4, 8].flatMap((bm) => ['float32', 'float16', 'bfloat16'].flatMap((type) => [0, 1].map((nc) => `gemv_transposed_with_a_long_prefix_${type}_bm${bm}_bn1_sm8_sn4_tm4_tn4_nc${nc}_axpby0`)));

/**
 * Returns the visible text of each row: the characters that are neither left out nor clipped.
 * @param {import('playwright-core').Page} page
 */
function visibleNames(page) {
  return page.evaluate(() => [...document.querySelectorAll('.functions .item-name')].map((name) => {
    const edge = name.getBoundingClientRect();
    const range = document.createRange();
    const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    let text = '';
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const data = node.textContent ?? '';
      for (let k = 0; k < data.length; k++) {
        range.setStart(node, k);
        range.setEnd(node, k + 1);
        const box = range.getBoundingClientRect();
        if (box.height > 1 && box.width > 0 && box.right <= edge.right + 0.5) text += data[k];
      }
      if (node.parentElement?.className === 'elided') text += '…';
    }
    return text;
  }));
}

test('names that differ in the middle are shown as different names', async () => {
  const { page, close } = await openPage([library('similar.metallib', NAMES)], { width: 1024 });
  await page.locator('.functions .item-name').nth(NAMES.length - 1).waitFor();
  const shown = await visibleNames(page);
  assert.equal(shown.length, NAMES.length);
  shown.forEach((text, k) => k > 0 && assert.notEqual(text, shown[k - 1], `rows ${k - 1} and ${k}`));
  assert.equal(new Set(shown).size, NAMES.length, shown.join('\n'));
  assert.ok(shown.every((text) => text.startsWith('gemv')), shown.join('\n'));
  // The whole name is in the row for everybody who does not look at it, and below the list.
  assert.deepEqual(await texts(page, '.functions .item-name'), NAMES);
  await page.locator('.functions').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('.full-name', { hasText: NAMES[0] }).waitFor();
  await titled(page, NAMES[0]);
  await close();
});

test('families: the instances of a template under one heading, with their arguments', async () => {
  const { page, close } = await openPage([library('families.metallib', [...NAMES, 'alone'])]);
  await page.locator('.functions .item-name').first().waitFor();
  await page.locator('.chip.group').click();
  await page.locator('.counted', { hasText: '19 functions · 2 families' }).waitFor();
  const head = page.getByRole('treeitem', { name: /gemv_.*18\s*functions/ });
  assert.equal(await head.getAttribute('aria-expanded'), 'false');
  assert.match(await head.textContent() ?? '', /_\*_bm\*_bn1_sm8_sn4_tm4_tn4_nc\*_axpby0/);
  assert.equal(await page.locator('.functions .item-row').count(), 2);
  // By keyboard: open, into the family, back to its heading, close.
  await page.locator('.functions').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.locator('.functions .inside').nth(17).waitFor();
  await page.keyboard.press('ArrowRight');
  await titled(page, NAMES[0]);
  assert.deepEqual(await page.locator('.functions .inside').first().locator('.argument').allTextContents(), ['float32', 'bm2', 'nc0']);
  await page.locator('.full-name', { hasText: NAMES[0] }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => document.querySelectorAll('.functions .item-row').length === 2);
  assert.deepEqual(await axe(page), []);
  // A link to a member opens its family.
  await page.locator('.functions .item-row', { hasText: 'alone' }).click();
  await titled(page, 'alone');
  await page.goBack();
  await titled(page, NAMES[0]);
  await page.locator('.functions .inside.active.shown').waitFor();
  await page.locator('.chip.group').click();
  await page.locator('.counted', { hasText: /^19 functions$/ }).first().waitFor();
  await close();
});

test('columns: as many as there is room for, each sorts', async () => {
  const { page, close } = await openPage([fixture('nvidia/calls_sm_35.cubin')], { width: 1400 });
  await page.locator('.functions .item-name').first().waitFor();
  const headings = () => texts(page, '.headings .heading');
  const narrow = await headings();
  assert.ok(narrow.includes('bytes'), narrow.join());
  // The splitter makes room.
  await page.getByRole('separator', { name: /sidebar/i }).first().focus();
  for (let k = 0; k < 18; k++) await page.keyboard.press('ArrowRight');
  await page.waitForFunction((count) => document.querySelectorAll('.headings .heading').length > count + 1, narrow.length);
  assert.ok((await headings()).includes('registers'));
  const sizes = async () => (await page.locator('.functions .item-row').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.item-cell')].map((cell) => cell.textContent ?? ''))));
  const column = (await headings()).indexOf('bytes') - 1;
  const numbers = async () => (await sizes()).map((cells) => Number(cells[column].replaceAll(',', '')));
  await page.getByRole('button', { name: 'Sort by bytes' }).click();
  await page.getByRole('button', { name: 'Sort by bytes, now descending' }).waitFor();
  await page.waitForFunction(() => document.querySelector('.functions .item-name')?.textContent !== '…');
  const down = await numbers();
  assert.deepEqual(down, [...down].sort((one, other) => other - one));
  await page.getByRole('button', { name: 'Sort by bytes' }).click();
  await page.getByRole('button', { name: 'Sort by bytes, now ascending' }).waitFor();
  await page.waitForFunction((largest) => Number([...document.querySelectorAll('.functions .item-row')].at(-1)?.querySelector('.item-cell:last-child')?.textContent?.replaceAll(',', '') ?? 0) >= 0 && largest > 0, down[0]);
  await page.getByRole('button', { name: 'Sort by name' }).click();
  await page.getByRole('button', { name: 'Sort by name, now ascending' }).waitFor();
  assert.deepEqual(await axe(page), []);
  await close();
});

test('the number of instructions is counted when it is asked for', async () => {
  const { page, close } = await openPage([fixture('metallib/vertex_fragment.metallib')], { width: 1900 });
  await page.locator('.functions .item-name').first().waitFor();
  const sort = page.getByLabel('Sort order of functions');
  // A column without cells takes no room.
  assert.ok(!(await texts(page, '.headings .heading')).includes('instructions'));
  await sort.selectOption('instructions up');
  await page.getByRole('button', { name: 'Sort by instructions, now ascending' }).waitFor();
  assert.deepEqual(await texts(page, '.functions .item-name'), ['shading::tint', 'corner']);
  const cells = () => page.locator('.functions .item-row').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.item-cell')].map((cell) => cell.textContent)));
  assert.deepEqual((await cells()).map((row) => row.filter((cell) => cell === '2' || cell === '3')), [['2'], ['3']]);
  await page.locator('#filter').fill('instructions>2');
  await page.locator('.counted', { hasText: '1 of 2' }).first().waitFor();
  assert.deepEqual(await texts(page, '.functions .item-name'), ['corner']);
  await close();
});

test('the language of the filter', async () => {
  const { page, close } = await openPage([library('filtered.metallib', [...NAMES, 'copy_float32', 'Copy_int8'])]);
  await page.locator('.functions .item-name').first().waitFor();
  const filter = page.locator('#filter');
  for (const [terms, count] of /** @type {[string, string][]} */ ([
    ['gemv bm4', '6 of'], ['bm4 !float16', '2 of'], ['COPY', '2 of'], ['/^copy_.*\\d$/', '2 of'], ['"prefix_float32"', '6 of'],
    ['size>1', '20 functions'], ['size>4k kind:kernel', '0 of'], ['kind:vertex copy', '2 of'], ['calls:nothing', '0 of'], ['!calls:nothing', '20 functions'],
  ])) {
    await filter.fill(terms);
    await page.locator('.counted', { hasText: count }).first().waitFor();
  }
  // Nothing has these letters in a row: names that have them in this order, the closest first.
  await filter.fill('cpyflt');
  await page.locator('.filter-note', { hasText: 'Similar names' }).waitFor();
  assert.equal((await texts(page, '.functions .item-name'))[0], 'copy_float32');
  // What can't be understood is said at the field; the list stays.
  await filter.fill('siz>4k');
  await page.locator('.filter-note.fault', { hasText: 'the list has no column `siz`. Expected: metal, air, size' }).waitFor();
  assert.equal(await filter.getAttribute('aria-invalid'), 'true');
  assert.ok(await page.locator('.functions .item-row').count() > 0);
  assert.deepEqual(await axe(page), []);
  await filter.fill('copy');
  await page.locator('.functions mark', { hasText: /^copy$/i }).first().waitFor();
  assert.equal(await filter.getAttribute('aria-invalid'), null);
  // The language is explained where it is needed.
  await page.getByRole('button', { name: 'What a filter can say' }).click();
  await page.locator('.filter-hint', { hasText: 'calls:' }).waitFor();
  await close();
});

test('what is typed while a file is opened is kept', { skip: IS_STATIC }, async () => {
  const { page, close } = await openPage([fixture('metallib/vertex_fragment.metallib'), fixture('metallib/sources_hsrd.metallib')]);
  await page.locator('.functions .item-name').first().waitFor();
  /** @type {(nothing?: undefined) => void} */
  let release = () => {};
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route('**/api', async (route) => {
    if (route.request().postData()?.includes('"overview"')) await held;
    await route.continue().catch(() => {});
  });
  await page.locator('.tree-row', { hasText: 'sources_hsrd' }).click();
  await page.locator('.waiting', { hasText: 'Opening' }).waitFor();
  await page.locator('#filter').fill('zzz');
  release();
  await titled(page, 'sources_hsrd');
  await page.locator('.counted', { hasText: /^0 of/ }).waitFor();
  assert.equal(await page.locator('#filter').inputValue(), 'zzz');
  await close();
});

test('hostile names: long ones, NUL, right-to-left text', async () => {
  const names = [`${'long'.repeat(16_000)}_a`, 'a\u0000b', '\u202egnp.exe', '\u05d0\u05d1\u05d2 12 \u05d3', 'plain'];
  const { page, close } = await openPage([library('hostile.metallib', names)]);
  await page.locator('.functions .item-name').nth(4).waitFor();
  const shown = await texts(page, '.functions .item-name');
  assert.ok(shown[0].length < 20_000, `${shown[0].length} characters`);
  assert.ok(shown[2].startsWith('\\u{202e}'), shown[2]);
  // An escape is one box, which is not broken.
  assert.equal(await page.locator('.functions .escape').first().evaluate((node) => getComputedStyle(node).display), 'inline-block');
  // Letters stay in the order of the file, and cells stay after the name.
  const order = await page.locator('.functions .item-name').nth(3).evaluate((name) => {
    const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    const node = /** @type {Text} */ (walker.nextNode());
    const range = document.createRange();
    return [...node.data].map((_, k) => {
      range.setStart(node, k);
      range.setEnd(node, k + 1);
      return range.getBoundingClientRect().left;
    });
  });
  assert.deepEqual(order, [...order].sort((one, other) => one - other));
  // The page stays quick.
  const start = Date.now();
  await page.locator('.functions .row').nth(0).click();
  await page.locator('.column-first .line').first().waitFor();
  await page.locator('.full-name', { hasText: /cut after/ }).waitFor();
  await page.locator('.functions').focus();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => document.querySelector('.column-first .listing')?.getAttribute('data-item') === '1');
  assert.ok(Date.now() - start < 15_000, `${Date.now() - start} ms`);
  await close();
});

test('a name of a megabyte', async () => {
  const { page, close } = await openPage([cubin('long.cubin', `_Z${'long'.repeat(262_144)}`)]);
  const start = Date.now();
  await page.locator('.functions .item-name', { hasText: '_Zlong' }).first().click();
  await page.locator('.column-first .line').first().waitFor();
  await titled(page, '_Zlong');
  await page.locator('.functions').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.locator('.full-name', { hasText: /cut after/ }).waitFor();
  assert.ok(Date.now() - start < 20_000, `${Date.now() - start} ms`);
  const long = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((node) => node.childElementCount === 0 && (node.textContent?.length ?? 0) > 100_000).map((node) => node.className));
  assert.deepEqual(long, []);
  await close();
});

test('a single press shows the function at once; a key that is held down passes over functions', async () => {
  const { page, close } = await openPage([library('held.metallib', NAMES)]);
  await page.locator('.functions .item-name').first().waitFor();
  await page.locator('.functions').focus();
  await page.evaluate(() => {
    const seen = /** @type {any} */ (window);
    seen.shown = [];
    new MutationObserver(() => seen.shown.push(document.querySelector('.title')?.textContent)).observe(/** @type {Element} */ (document.querySelector('.title')), { childList: true, characterData: true, subtree: true });
  });
  await page.keyboard.press('ArrowDown');
  await titled(page, NAMES[0]);
  // Playwright repeats a key that is pressed again before it is released.
  for (let k = 0; k < 10; k++) await page.keyboard.down('ArrowDown');
  await page.keyboard.up('ArrowDown');
  await titled(page, NAMES[10]);
  const passed = await page.evaluate(() => /** @type {any} */ (window).shown.length);
  assert.ok(passed < 9, `${passed} functions were shown`);
  await close();
});

test('parts of names', () => {
  const parts = (/** @type {string} */ name, /** @type {string[]} */ near, /** @type {string[]} */ far = []) => differing(name, near, far).map(({ text, rank }) => `${text}:${rank}`).join(' ');
  assert.equal(parts('gemv_f16_bm4_x', ['gemv_f16_bm8_x']), 'gemv_f16_bm:0 4:2 _x:0');
  assert.equal(parts('gemv_f16_bm4_x', ['gemv_f16_bm8_x'], ['gemv_f32_bm4_x']), 'gemv_f:0 16:1 _bm:0 4:2 _x:0');
  assert.equal(parts('same', ['same']), 'same:2');
  assert.equal(parts('a', ['b']), 'a:2');
  assert.equal(parts('a\\u{202e}b', ['a\\u{202d}b']), 'a:0 \\u{202e}:2 b:0');
  assert.equal(parts('', ['x']), ':2');

  const shown = (/** @type {import('../names.js').Part[]} */ some, /** @type {number} */ room) => elided(some, room, () => 1).map(({ text, hidden }) => (hidden ? '…' : text)).join('');
  const long = [{ text: 'gemv_with_prefix_', rank: 0 }, { text: 'f16', rank: 1 }, { text: '_bm1_', rank: 1 }, { text: '4', rank: 2 }, { text: '_suffix', rank: 0 }];
  assert.equal(shown(long, 40), 'gemv_with_prefix_f16_bm1_4_suffix');
  assert.equal(shown(long, 30), 'gemv_with_pre…f16_bm1_4_suffix');
  assert.equal(shown(long, 16), 'gemv…f16_bm1_4_…');
  assert.equal(shown(long, 8), 'gemv…4…');
  assert.equal(shown([{ text: 'a\\u{202e}\\u{202e}b', rank: 0 }, { text: 'xxxxxxxx', rank: 2 }], 8), 'a\\u{202e}\\u{202e}bxxxxxxxx');
});

test('rows of families', () => {
  const rows = new FamilyRows();
  const family = (/** @type {string} */ name, /** @type {number} */ from, /** @type {number} */ count) => ({ name, from, count, size: 0, parameters: [] });
  assert.equal(rows.at(0), undefined);
  assert.equal(rows.show(0), -1);
  rows.set([family('a*', 0, 3), family('b', 3, 1), family('c*', 4, 2)]);
  assert.equal(rows.total, 3);
  assert.equal(rows.at(1)?.index, 3);
  assert.equal(rows.show(5), 4);
  assert.deepEqual([rows.total, rows.at(4)?.index, rows.at(3)?.index], [5, 5, 4]);
  rows.toggle(0);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6, 7].map((row) => rows.at(row)?.index), [undefined, 0, 1, 2, 3, undefined, 4, 5]);
  // Open families stay open in another answer.
  rows.set([family('c*', 0, 2)]);
  assert.equal(rows.total, 3);
});

test('what is asked ahead is asked once', async () => {
  /** @type {string[]} */
  const asked = [];
  /** @type {any} */
  const api = { call: async (/** @type {any} */ request) => (asked.push(request.query), request.query === 'bad' ? Promise.reject(new Error('no')) : request.n) };
  const ahead = withAhead(api);
  ahead.ahead([{ query: 'a', n: 1 }, { query: 'bad' }]);
  assert.equal(await ahead.call({ n: 1, query: 'a', none: undefined }), 1);
  assert.equal(await ahead.call({ n: 1, query: 'a' }), 1);
  await assert.rejects(ahead.call({ query: 'bad' }), /no/);
  assert.deepEqual(asked, ['a', 'bad', 'a']);
});

test('filters of reports', () => {
  const columns = [{ key: 'size', label: 'bytes', align: 'right' }, { key: 'chip', label: 'chip', align: 'left' }];
  const row = { item: 1, name: 'ns::Gemv_f32', kind: 'kernel', cells: { size: '4,000', chip: 'sm_70' } };
  const is = (/** @type {string} */ filter) => {
    const parsed = parseTerms(filter, columns, [row], new Set());
    return 'error' in parsed ? parsed.error.message : selects(parsed.terms, row);
  };
  for (const filter of ['', 'gemv', 'ns::gemv', '!half f32', '/^ns.*2$/', '~gf2', 'size>=4k', 'bytes<4.1kB', 'chip:70', 'chip=SM_70', '!has:source', '"v_f"']) assert.equal(is(filter), true, filter);
  for (const filter of ['half', '!gemv', 'size>4k', 'chip=sm_7', 'has:source', 'kind:vertex']) assert.equal(is(filter), false, filter);
  assert.equal(is('siz>4'), 'the list has no column `siz`');
  assert.equal(is('calls:x'), 'calls are not in the report');
  assert.equal(is('! a'), 'nothing follows `!` in the filter');
});
