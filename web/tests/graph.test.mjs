/** Tests the graphs of control flow, calls and data flow, with mouse, touch and keyboard. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';

import { layout } from '../layered.js';
import { end, fixture, IS_STATIC, litBytes, openPage, texts, titled } from './harness.mjs';

after(end);

const LOOPS = fixture('air/reduce.bc');
const GRAPH = { hash: '#file=reduce.bc&pane=graph' };

/** Reads the zoom in percent. @param {import('playwright-core').Page} page */
async function zoomOf(page) {
  return Number.parseFloat(await page.locator('.column-first .graph-zoom').textContent() ?? '');
}

/** Returns what of the picture is outside of the canvas. @param {import('playwright-core').Page} page */
function outside(page) {
  return page.evaluate(() => {
    const canvas = /** @type {Element} */ (document.querySelector('.column-first .graph-canvas')).getBoundingClientRect();
    const boxes = [...document.querySelectorAll('.column-first .blocks > *')].map((node) => node.getBoundingClientRect());
    return boxes.filter((box) => box.left < canvas.left - 1 || box.right > canvas.right + 1 || box.top < canvas.top - 1 || box.bottom > canvas.bottom + 1).length;
  });
}

test('deep, wide and dense graphs are laid out in linear time, without overlaps', () => {
  const seconds = (/** @type {number} */ count) => {
    const edges = [];
    for (let k = 0; k < count - 1; k++) edges.push({ from: k, to: k + 1 }, { from: k, to: count - 1 - (k % 10) });
    const nodes = Array.from({ length: count }, (_, k) => ({ width: 100 + (k % 7) * 20, height: 40 }));
    const start = performance.now();
    const { y, routes } = layout(nodes, edges);
    assert.ok(y.every((top, k) => k === 0 || top > y[k - 1]));
    assert.ok(routes.some(({ far }) => far));
    return (performance.now() - start) / 1000;
  };
  seconds(500);
  const [small, large] = [seconds(2_000), seconds(16_000)];
  // Eight times the nodes: a quadratic algorithm would take 64 times as long.
  assert.ok(large < 30 * Math.max(0.05, small), `${small} s, ${large} s`);
});

test('nodes of a group stay together in every layer', () => {
  const nodes = Array.from({ length: 9 }, () => ({ width: 50, height: 20 }));
  const edges = [1, 2, 3, 4, 5, 6, 7].flatMap((to) => [{ from: 0, to }, { from: to, to: 8 }]);
  const { x } = layout(nodes, edges, nodes.map((_, k) => ([2, 5, 7].includes(k) ? [0] : [])));
  const order = [1, 2, 3, 4, 5, 6, 7].sort((a, b) => x[a] - x[b]).map((k) => ([2, 5, 7].includes(k) ? 'g' : '.')).join('');
  assert.match(order, /^\.*ggg\.*$/);
});

test('Fit shows the whole graph, and blocks are whole at full zoom and headings when small', async () => {
  const { page, close } = await openPage([LOOPS], GRAPH);
  const block = page.locator('.column-first .block');
  await block.nth(2).waitFor();
  const canvas = page.locator('.column-first .graph-canvas');
  assert.equal(await canvas.getAttribute('data-level'), 'lines');
  await page.locator('.column-first').getByRole('button', { name: 'Fit' }).click();
  await page.waitForTimeout(100);
  assert.equal(await outside(page), 0);
  // Every block has as many lines as the listing has.
  if (!IS_STATIC) {
    const isGraph = (/** @type {import('playwright-core').Response} */ response) => response.url().endsWith('api') && response.request().postData()?.includes('"graph"') === true;
    const [graph] = await Promise.all([page.waitForResponse(isGraph), page.reload()]);
    await block.nth(2).waitFor();
    const { blocks } = await graph.json();
    const most = Math.max(...blocks.map((/** @type {any} */ one) => one.lines.length));
    await canvas.focus();
    await page.keyboard.press('0');
    for (let k = 0; k < 3; k++) await page.keyboard.press('+');
    const index = blocks.findIndex((/** @type {any} */ one) => one.lines.length === most);
    await page.locator(`.column-first .block[data-node="${index}"]`).waitFor();
    assert.ok(await page.locator(`.column-first .block[data-node="${index}"] .block-line`).count() >= most);
  }
  await canvas.focus();
  for (let k = 0; k < 12; k++) await page.keyboard.press('-');
  await page.locator('.column-first .graph-canvas[data-level=heading], .column-first .graph-canvas[data-level=outline]').waitFor();
  assert.equal(await page.locator('.column-first .block-line').count(), 0);
  await close();
});

test('loops have frames with their header as label', async () => {
  const { page, close } = await openPage([LOOPS], GRAPH);
  await page.locator('.column-first .loop').first().waitFor({ state: 'attached' });
  assert.match((await texts(page, '.column-first .loop-label')).join(' '), /loop /);
  assert.match(await page.locator('.column-first .graph-summary').textContent() ?? '', /\d+ blocks · \d+ edges · [1-9]\d* loop/);
  await close();
});

test('the wheel zooms towards the pointer, dragging moves, and the map leads elsewhere', async () => {
  const { page, close } = await openPage([LOOPS], { ...GRAPH, width: 900, height: 500 });
  const block = page.locator('.column-first .block').first();
  await block.waitFor();
  const box = /** @type {{x: number, y: number, width: number, height: number}} */ (await block.boundingBox());
  const [x, y] = [box.x + 20, box.y + 10];
  await page.mouse.move(x, y);
  const before = await zoomOf(page);
  await page.mouse.wheel(0, -400);
  await page.waitForFunction((zoom) => Number.parseFloat(document.querySelector('.column-first .graph-zoom')?.textContent ?? '') > zoom * 1.2, before);
  const now = /** @type {{x: number, y: number, width: number, height: number}} */ (await block.boundingBox());
  // What was under the pointer still is.
  const factor = now.width / box.width;
  assert.ok(Math.abs(now.x + 20 * factor - x) < 3 && Math.abs(now.y + 10 * factor - y) < 3, JSON.stringify([box, now]));
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y + 25, { steps: 4 });
  await page.mouse.up();
  const moved = /** @type {{x: number, y: number}} */ (await block.boundingBox());
  assert.ok(Math.abs(moved.x - now.x - 60) < 3 && Math.abs(moved.y - now.y - 25) < 3);
  assert.equal(await page.locator('.column-first .block.active').count(), 0, 'dragging selects nothing');
  const map = page.locator('.column-first .minimap');
  await map.waitFor();
  const at = await page.locator('.column-first .graph-picture > g').getAttribute('transform');
  await map.click({ position: { x: 72, y: 90 } });
  await page.waitForFunction((at) => document.querySelector('.column-first .graph-picture > g')?.getAttribute('transform') !== at, at);
  await close();
});

test('two fingers zoom', async () => {
  const { page, close } = await openPage([LOOPS], { ...GRAPH, width: 390, height: 844 });
  await page.locator('.column-first .block').first().waitFor();
  const before = await zoomOf(page);
  await page.evaluate(() => {
    const canvas = /** @type {HTMLElement} */ (document.querySelector('.column-first .graph-canvas'));
    canvas.setPointerCapture = () => {};
    const box = canvas.getBoundingClientRect();
    const touch = (/** @type {string} */ type, /** @type {number} */ id, /** @type {number} */ x) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: 'touch', clientX: box.left + x, clientY: box.top + 100, bubbles: true }));
    touch('pointerdown', 11, 100);
    touch('pointerdown', 12, 140);
    touch('pointermove', 12, 220);
    touch('pointerup', 11, 100);
    touch('pointerup', 12, 220);
  });
  assert.ok(Math.abs(await zoomOf(page) / before - 3) < 0.1);
  await close();
});

test('the keyboard follows edges and selects bytes', async () => {
  const { page, close } = await openPage([LOOPS], GRAPH);
  await page.locator('.column-first .block').first().waitFor();
  await page.locator('.column-first .graph-canvas').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('.column-first .block.active[data-node="0"]').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.locator('.column-first .block.active:not([data-node="0"])').waitFor();
  await page.keyboard.press('Enter');
  await litBytes(page);
  assert.match(await page.locator('#status').textContent() ?? '', /line/);
  await close();
});

test('a graph is saved as SVG and PNG, whole and by itself', async () => {
  const { page, close } = await openPage([LOOPS], { ...GRAPH, dark: true });
  await page.locator('.column-first .block').first().waitFor();
  for (const [name, check] of /** @type {[string, (bytes: Buffer) => void][]} */ ([
    ['SVG', (bytes) => {
      const text = bytes.toString();
      assert.match(text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="\d+"/);
      assert.ok(!/class=|var\(|<style|href/.test(text), 'colours are in attributes');
      assert.match(text, /loop /);
      assert.match(text, />phi<|>phi /);
    }],
    ['PNG', (bytes) => {
      assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
      assert.ok(bytes.readUInt32BE(16) > 200 && bytes.length > 5_000);
    }],
  ])) {
    const waiting = page.waitForEvent('download');
    await page.locator('.column-first').getByRole('button', { name, exact: true }).click();
    const saved = await waiting;
    assert.ok(saved.suggestedFilename().endsWith(`.${name.toLowerCase()}`));
    check(readFileSync(await saved.path()));
  }
  // The picture is well-formed.
  await close();
});

test('inner functions have their names in the graph of the kernel, and a graph of their own', async () => {
  const { page, close } = await openPage([fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=calls_sm_35.cubin&item=3&pane=graph' });
  await page.locator('.column-first .block').first().waitFor();
  const select = page.getByLabel('Go to a function inside');
  await select.first().selectOption({ label: 'fact(int)' });
  await page.locator('.column-first .block.active .block-label', { hasText: 'fact(int)' }).waitFor();
  await page.goto(page.url().replace('item=3', 'item=2'));
  await titled(page, 'fact(int)');
  await page.locator('.column-first .block-label', { hasText: '0x0130' }).first().waitFor();
  await close();
});

test('the listing of an inner function opens at its label', async () => {
  const { page, close } = await openPage([fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=calls_sm_35.cubin&item=2&pane=assembly' });
  const label = page.locator('.column-first .line', { hasText: /^\d*_Z4facti:$/ });
  await label.waitFor();
  await page.waitForFunction(() => (document.querySelector('.column-first .listing')?.scrollTop ?? 0) > 100);
  const box = /** @type {{y: number}} */ (await label.boundingBox());
  const host = /** @type {{y: number}} */ (await page.locator('.column-first .listing').boundingBox());
  assert.ok(Math.abs(box.y - host.y) < 25);
  await close();
});

test('the graph of calls: who calls whom, near and far, and opening a function', async () => {
  const { page, close } = await openPage([fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=calls_sm_35.cubin&item=3&pane=calls' });
  const names = () => texts(page, '.column-first .block-label');
  await page.locator('.column-first .block-label', { hasText: 'fact(int)' }).waitFor();
  assert.ok((await names()).includes('calls'));
  await page.locator('.column-first .graph-canvas').focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('#status', { hasText: /called by/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => !location.hash.includes('item=3'));
  // The whole program has all of them.
  await page.goto(page.url().replace(/&item=\d+/, '').replace(/pane=\w+/, 'pane=calls'));
  await page.waitForFunction(() => document.querySelectorAll('.column-first .block').length === 4);
  assert.deepEqual((await names()).toSorted(), ['calls', 'fact(int)', 'poly(float, float, float)', 'poly2(float, float, float)']);
  await close();
});

test('the graph of calls of a token program: an interface reaches all its classes', async () => {
  const { page, close } = await openPage([fixture('dxcontainer/fxc_ifacef_od.dxbc')], { hash: '#file=fxc_ifacef_od.dxbc&item=4&pane=calls' });
  await page.waitForFunction(() => document.querySelectorAll('.column-first .block').length === 5);
  assert.deepEqual((await texts(page, '.column-first .block-label')).toSorted(), ['fb0', 'fb1', 'fb2', 'fb3', 'main']);
  await close();
});

test('the data flow of a value, from the keyboard, in LLVM and in machine code', async () => {
  const { page, close } = await openPage([LOOPS, fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=reduce.bc&pane=assembly' });
  const register = page.locator('.column-first .line.has-bytes .reference.t-register').first();
  await register.click();
  await page.locator('.column-first .line.active .definition.use').waitFor();
  await page.keyboard.press('w');
  await page.locator('.column-first .tab[aria-selected=true]', { hasText: 'Data flow' }).waitFor();
  await page.locator('.column-first .block.active').waitFor();
  await page.locator('.column-first .graph-summary', { hasText: /from \d+ lines? · to \d+ line/ }).waitFor();
  assert.ok(await page.locator('.column-first .block').count() > 1);
  await page.goBack();
  await page.locator('.column-first .listing .line').first().waitFor();
  await page.goto(`${page.url().replace(/#.*/, '')}#file=calls_sm_35.cubin&item=3&pane=assembly`);
  await page.locator('.column-first .line', { hasText: 'ISCADD' }).first().click();
  await page.keyboard.press('w');
  await page.locator('.column-first .block .block-line', { hasText: 'ISCADD' }).first().waitFor();
  await page.locator('.column-first .edge-label', { hasText: /^R\d/ }).first().waitFor();
  // A step further from the line that is opened.
  await page.locator('.column-first .graph-canvas').focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.column-first .block.active')?.getAttribute('data-node') === '0');
  await close();
});

test('graphs are accessible in all themes and reflow', async () => {
  const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  for (const [width, height, dark] of /** @type {[number, number, boolean][]} */ ([[1440, 900, false], [390, 844, true], [360, 256, false]])) {
    const { page, close } = await openPage([LOOPS, fixture('nvidia/calls_sm_35.cubin')], { width, height, dark, hash: '#file=reduce.bc&pane=graph' });
    for (const hash of ['#file=reduce.bc&pane=graph', '#file=calls_sm_35.cubin&item=3&pane=calls', '#file=calls_sm_35.cubin&item=3&pane=flow&line=5']) {
      await page.evaluate((hash) => { location.hash = hash; }, hash);
      await page.locator('.column-first .block').first().waitFor();
      await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), axe).catch(() => page.addScriptTag({ content: axe }));
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(violations.filter((/** @type {any} */ one) => ['serious', 'critical'].includes(one.impact)).map((/** @type {any} */ one) => `${one.id}: ${one.nodes[0].html}`), [], `${hash} at ${width}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }
    await close();
  }
});
