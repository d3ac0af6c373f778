/** Tests the Run tab in a real browser, as a person uses it: forms, launches, outputs, steps, breakpoints, faults. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { end, fixture, openPage, scratch, texts } from './harness.mjs';
import { pixels, readBuffer, readings, writeBuffer } from '../runvalues.js';

after(end);

const LOOPS = fixture('nvidia/kernels/sm_35/loops.cubin');
const SCALE = fixture('air/kernel.bc');
const PIXEL = fixture('dxcontainer/fxc_ps_5_1.dxbc');

/** @typedef {import('playwright-core').Page} Page */

/**
 * Opens the Run tab of an item.
 * @param {string} file
 * @param {string} hash
 * @param {{dark?: boolean, width?: number, height?: number}} [options]
 */
async function openRun(file, hash, options = {}) {
  const opened = await openPage([file], { hash, ...options });
  const { page } = opened;
  await page.locator('.column-first .tab', { hasText: /^Run$/ }).click();
  await page.locator('.run-form button[type=submit]').waitFor();
  await page.locator('.run-row, .run-rows .muted').first().waitFor();
  return opened;
}

/**
 * Fills the row of a buffer.
 * @param {Page} page
 * @param {string} name
 * @param {{type?: string, shape?: string, fill?: string, text?: string}} value
 */
async function buffer(page, name, { type, shape, fill, text }) {
  const row = page.locator('.run-row').filter({ has: page.getByText(name, { exact: true }) });
  if (fill) await row.getByLabel(`Contents of ${name}`).selectOption(fill);
  if (type) await row.getByLabel(`Type of ${name}`).selectOption(type);
  if (shape) await row.getByLabel(`Shape of ${name}`).fill(shape);
  if (text) await row.getByLabel(/^(Values|Seed) of/).fill(text);
}

/**
 * Fills the form of `sum_loop`, whose threads add numbers from their own on, with the distance of the block's size.
 * @param {Page} page
 * @param {string} [shape] of the input
 */
async function fillSum(page, shape = '64') {
  await buffer(page, 'parameter 0', { type: 'i32', shape, fill: 'range' });
  await buffer(page, 'parameter 1', { type: 'i32', shape: '32', fill: 'zeros' });
  await page.getByLabel('parameter 2', { exact: true }).last().fill('64');
}

/** @param {Page} page */
async function run(page) {
  await page.locator('.run-form button[type=submit]').click();
}

/** @param {Page} page */
async function numbers(page) {
  await page.locator('.run-numbers .run-line').first().waitFor();
  const line = await page.locator('.run-numbers .run-line').first().textContent();
  return (line ?? '').trim().split(/\s+/).slice(1).map(Number);
}

/**
 * @param {Page} page
 * @param {RegExp} text
 */
async function position(page, text) {
  await page.locator('.run-position', { hasText: text }).waitFor();
}

test('a cubin: arguments by form, output, steps in both directions, breakpoints', async () => {
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3');
  await fillSum(page);
  await run(page);
  await page.locator('.run-summary', { hasText: '1 block' }).waitFor();
  await page.getByLabel('Buffer', { exact: true }).selectOption({ label: 'parameter 1' });
  assert.deepEqual((await numbers(page)).slice(0, 4), [32, 34, 36, 38]);
  await page.getByLabel('Show as', { exact: true }).selectOption('hex');
  assert.match(await page.locator('.run-numbers .run-line').first().textContent() ?? '', /20 00 00 00 22 00 00 00/);

  // Thread 3 is stepped: the assembly beside follows, and what changed is marked.
  await page.getByLabel('Number of the thread in its block').fill('3');
  await page.getByRole('button', { name: 'Step this thread' }).click();
  await position(page, /^Step 1 of \d+$/);
  await page.locator('.column-second .line.lit').first().waitFor();
  const first = await page.locator('.run-current').textContent();
  await page.locator('.run-steps').focus();
  await page.keyboard.press('.');
  await position(page, /^Step 2 of/);
  assert.notEqual(await page.locator('.run-current').textContent(), first);
  await page.locator('.run-value.changed').first().waitFor();
  await page.keyboard.press(',');
  await position(page, /^Step 1 of/);
  assert.equal(await page.locator('.run-current').textContent(), first);

  // A click on the margin sets a breakpoint; the run goes there, and memory is shown beside.
  const store = page.locator('.column-second .line').filter({ hasText: 'ST.E' }).first();
  await store.locator('.gutter').click();
  await page.locator('.column-second .line.marked').waitFor();
  await page.keyboard.press('m');
  await page.locator('.run-current', { hasText: 'ST.E' }).waitFor();
  await page.locator('.run-access', { hasText: 'writes 4 bytes at 12 of the buffer of parameter 1' }).waitFor();
  // 3 + 35
  assert.deepEqual(await texts(page, '.run-memory mark'), ['26', '00', '00', '00']);
  const last = await page.locator('.run-position').textContent();
  await page.keyboard.press('M');
  assert.equal(await page.locator('.run-position').textContent(), last, 'there is no other breakpoint');
  await store.locator('.gutter').click();
  await page.waitForFunction(() => !document.querySelector('.line.marked'));
  await close();
});

test('a cubin: source lines beside, and steps over them', async () => {
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3&side=c');
  await fillSum(page);
  await page.getByRole('button', { name: 'Step this thread' }).click();
  await position(page, /^Step 1 of/);
  await page.getByRole('button', { name: 'Step over a source line' }).click();
  await page.locator('.column-second .line.lit').first().waitFor();
  const line = await page.locator('.column-second .line.lit .code').first().textContent();
  await page.getByRole('button', { name: 'Step over a source line' }).click();
  await page.waitForFunction((line) => {
    const lit = document.querySelector('.column-second .line.lit .code');
    return lit && lit.textContent !== line;
  }, line);
  await page.getByRole('button', { name: 'Back by a source line' }).click();
  await page.locator('.column-second .line.lit').first().waitFor();
  await close();
});

test('a fault leads to its instruction and its thread', async () => {
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3');
  await fillSum(page, '16');
  await run(page);
  const problem = page.locator('.run-outcome .problem');
  await problem.filter({ hasText: 'after the end of the buffer of parameter 0' }).waitFor();
  await problem.getByRole('button', { name: 'Go to the instruction' }).click();
  await page.locator('.column-second .line.lit', { hasText: 'LD.E' }).waitFor();
  await problem.getByRole('button', { name: /^Step thread 16$/ }).click();
  await page.locator('.run-current.fault', { hasText: 'after the end of the buffer' }).waitFor();
  await page.locator('.run-steps').focus();
  await page.keyboard.press(',');
  await page.waitForFunction(() => !document.querySelector('.run-current.fault'));
  await close();
});

test('a launch that never ends reaches its limit, and can be stopped', async () => {
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=1');
  await buffer(page, 'parameter 0', { type: 'u32', shape: '32', fill: 'zeros' });
  await page.getByLabel(/^Seconds/).fill('0.3');
  await run(page);
  await page.locator('.run-outcome .problem', { hasText: 'did not end within 0.3 seconds' }).waitFor();
  await page.getByLabel(/^Seconds/).fill('60');
  await run(page);
  await page.locator('.run-go .muted', { hasText: 'Running' }).waitFor();
  // The page goes on meanwhile.
  await page.locator('.column-second .tab', { hasText: 'Facts' }).click();
  await page.locator('.column-second .card').first().waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.locator('.run-outcome', { hasText: 'Stopped.' }).waitFor();
  // And another launch works.
  await buffer(page, 'parameter 0', { fill: 'values', text: '6' });
  await page.getByLabel(/^Seconds/).fill('10');
  await run(page);
  await page.locator('.run-summary').waitFor();
  assert.deepEqual((await numbers(page)).slice(0, 2), [8, 8]);
  await close();
});

test('wrong values are reported at their field', async () => {
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3');
  await fillSum(page, 'many');
  await run(page);
  await page.locator('.run-hint', { hasText: 'A shape is a number' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
  await fillSum(page, '99999999');
  await run(page);
  await page.locator('.run-hint', { hasText: 'at most 16777216 bytes' }).waitFor();
  await fillSum(page, '9999999999x9999999999x9999999999');
  await run(page);
  await page.locator('.run-hint', { hasText: /no size|at most/ }).waitFor();
  await fillSum(page);
  await page.getByLabel('parameter 2', { exact: true }).last().fill('x');
  await run(page);
  await page.locator('.run-hint', { hasText: 'neither a number nor a buffer' }).waitFor();
  await page.getByLabel('parameter 2', { exact: true }).last().fill('64');
  await page.getByLabel(/^Block:/).fill('4096');
  await run(page);
  await page.locator('.run-fault', { hasText: '1 to 1024 threads' }).waitFor();
  await close();
});

test('Metal: types from metadata, a picture, values of instructions', async () => {
  const { page, close } = await openRun(SCALE, '#file=kernel.bc&item=0&side=metal');
  assert.match(await page.locator('.run-type').first().textContent() ?? '', /device float\*/);
  const [data] = await texts(page, '.run-name');
  await buffer(page, data, { shape: '8x4', fill: 'range' });
  await page.locator('.run-row').nth(1).locator('input').first().fill('2.5');
  await run(page);
  await page.locator('.run-summary', { hasText: '32 threads' }).waitFor();
  assert.deepEqual((await numbers(page)).slice(0, 4), [0, 2.5, 5, 7.5]);
  await page.getByLabel('Show as', { exact: true }).selectOption('picture');
  await page.locator('.run-picture[aria-label="8 by 4 pixels"]').waitFor();
  const [dark, light] = await page.locator('.run-picture').evaluate((canvas) => {
    const context = /** @type {HTMLCanvasElement} */ (canvas).getContext('2d');
    const data = context?.getImageData(0, 0, 8, 4).data ?? [];
    return [data[0], data[data.length - 4]];
  });
  assert.deepEqual([dark, light], [0, 255]);
  await page.getByLabel('Number of the thread in its block').fill('2');
  await page.getByRole('button', { name: 'Step this thread' }).click();
  await page.getByRole('button', { name: 'Last step' }).click();
  await page.locator('.run-access', { hasText: 'writes 4 bytes at 8 of data' }).waitFor();
  await page.locator('.run-value', { hasText: '%product' }).filter({ hasText: '5.0' }).waitFor();
  await page.locator('.column-second .line.lit', { hasText: 'data' }).waitFor();
  await close();
});

test('DirectX: a pixel shader on invented and given inputs', async () => {
  const { page, close } = await openRun(PIXEL, '#file=fxc_ps_5_1.dxbc');
  await run(page);
  await page.locator('.run-summary', { hasText: 'ps_5_1' }).waitFor();
  await page.locator('.run-output table td', { hasText: /^SV_TARGET/ }).first().waitFor();
  await page.getByRole('button', { name: 'Step this thread' }).click();
  await position(page, /^Step 1 of/);
  await page.locator('.column-second .line.lit').first().waitFor();
  // The memory of a step is beside it.
  const access = page.locator('.run-access', { hasText: /^reads 16 bytes at 0 of texel \(/ });
  for (let step = 2; await access.count() === 0 && step < 12; step++) {
    await page.keyboard.press('.');
    await position(page, new RegExp(`^Step ${step} of`));
  }
  assert.equal(await access.count(), 1);
  await page.getByLabel(/^Count/).fill('99');
  await run(page);
  await page.locator('.run-fault', { hasText: '1 to 32' }).waitFor();
  await close();
});

test('a buffer from a file', async () => {
  const path = join(scratch, 'numbers.bin');
  writeFileSync(path, Buffer.from(new Int32Array(64).fill(7).buffer));
  const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3');
  await fillSum(page);
  await buffer(page, 'parameter 0', { fill: 'file' });
  await page.getByLabel('File for parameter 0').setInputFiles(path);
  await page.locator('.run-hint', { hasText: 'numbers.bin' }).waitFor();
  await run(page);
  await page.locator('.run-summary').waitFor();
  await page.getByLabel('Buffer', { exact: true }).selectOption({ label: 'parameter 1' });
  assert.deepEqual((await numbers(page)).slice(0, 2), [14, 14]);
  await close();
});

test('Run is offered for what can be run', async () => {
  const { page, close } = await openPage([fixture('metallib/vertex_fragment.metallib')], { hash: '#file=vertex_fragment.metallib&item=0' });
  await page.locator('.listing .line').first().waitFor();
  await page.locator('.column-first .tab', { hasText: 'Graph' }).waitFor();
  assert.equal(await page.locator('.tab', { hasText: /^Run$/ }).count(), 0);
  await page.keyboard.press('.');
  await page.locator('#status', { hasText: 'Run it first' }).waitFor();
  await close();
});

test('what is not modelled is said before a launch', async () => {
  const { page, close } = await openRun(fixture('metallib/linker_1_2_8.metallib'), '#file=linker_1_2_8.metallib&item=0');
  await page.locator('.run-fault', { hasText: "can't be run here: texture2d" }).waitFor();
  assert.ok(await page.locator('.run-form button[type=submit]').isDisabled());
  await page.getByRole('button', { name: 'Step this thread' }).click();
  await page.locator('.run-fault', { hasText: 'textures, samplers and tables are not modelled' }).waitFor();
  await close();
});

test('Run has no serious accessibility problems', async () => {
  const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  /** @type {string[]} */
  const faults = [];
  for (const dark of [false, true]) {
    const { page, close } = await openRun(LOOPS, '#file=loops.cubin&item=3', { dark });
    const check = async (/** @type {string} */ view) => {
      await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), axe).catch(() => page.addScriptTag({ content: axe }));
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
      for (const { id, impact, nodes } of violations) {
        if (['serious', 'critical'].includes(impact)) faults.push(`${view}, ${dark ? 'dark' : 'light'}: ${id}: ${nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.html.slice(0, 120)} ${node.failureSummary?.replace(/\s+/g, ' ').slice(0, 200)}`).join(' | ')}`);
      }
    };
    await check('form');
    await fillSum(page);
    await page.getByRole('button', { name: 'Step this thread' }).click();
    await position(page, /^Step 1 of/);
    await page.getByRole('button', { name: 'Last step' }).click();
    await page.locator('.column-second .line .gutter').nth(8).click();
    await check('steps');
    await page.getByLabel('Show as', { exact: true }).selectOption('picture');
    await check('picture');
    await fillSum(page, '16');
    await run(page);
    await page.locator('.run-outcome .problem').waitFor();
    await check('fault');
    await close();
  }
  assert.deepEqual(faults, []);
});

test('values are read and written as unshade run has them', () => {
  assert.deepEqual(readBuffer('f32[32]=range'), { type: 'f32', shape: '32', fill: 'range', text: '' });
  assert.deepEqual(writeBuffer({ type: 'u8', shape: '4 x 4', fill: 'random', text: '7' }), { text: 'u8[16]=random:7' });
  assert.deepEqual(writeBuffer({ type: 'bytes', shape: '64', fill: 'zeros', text: '' }), { text: 'buf:64' });
  assert.deepEqual(writeBuffer({ type: 'i32', shape: '4', fill: 'values', text: '1 2, 3' }), { text: 'i32[4]=1,2,3' });
  assert.ok('fault' in writeBuffer({ type: 'i32', shape: '-1', fill: 'zeros', text: '' }));
  assert.equal(readings('0x3f800000'), '1');
  assert.equal(readings('0x00000020'), '32');
  assert.equal(readings('0x000000000000004d'), '77');
  assert.equal(readings('77.0'), '');
  const bytes = new Uint8Array(new Float32Array([0, 1, 2, 3]).buffer);
  assert.deepEqual([...pixels(bytes, 'f32', 0, 2)?.data ?? []].filter((_, index) => index % 4 === 0), [0, 85, 170, 255]);
});
