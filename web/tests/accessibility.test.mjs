/**
 * Accessibility in every state of the page: axe in light and dark, forced colours, small windows, fingers, less motion,
 * the keyboard, and messages that end.
 *
 * A new state is a row of `STATES`.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';

import { end, fixture, IS_STATIC, litBytes, made, openPage, titled } from './harness.mjs';
import { serveStatic } from './static.mjs';

after(end);

const TWO = fixture('metallib/vertex_fragment.metallib');
const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const SOURCES = fixture('metallib/sources_hsrc.metallib');
const DAMAGED = made('damaged.metallib', TWO, (bytes) => bytes.subarray(0, bytes.length - 900));
const NOISE = made('noise.bin', TWO, () => Buffer.from(Array.from({ length: 5000 }, (_, k) => (k * 7919) & 0xff)));
const FILES = [TWO, CUBIN, SOURCES, DAMAGED, NOISE];
const AXE = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** @typedef {import('playwright-core').Page} Page */

/**
 * @typedef {object} State
 * @property {string} name
 * @property {string} [hash] the address that it starts from; the current view if absent
 * @property {boolean} [narrow] whether the window is narrow
 * @property {boolean} [side] whether the sidebar is needed, which is a drawer in narrow windows
 * @property {(page: Page) => Promise<void>} [enter]
 * @property {(page: Page) => Promise<void>} [leave]
 */

const escape = (/** @type {Page} */ page) => page.keyboard.press('Escape');
const line = (/** @type {Page} */ page) => page.locator('.column-first .line.has-bytes').nth(2);
/** @param {string} key @param {string | RegExp} [name] of the dialog */
const dialog = (key, name) => ({
  enter: async (/** @type {Page} */ page) => {
    await page.keyboard.press(key);
    await page.getByRole('dialog', name ? { name } : {}).waitFor();
  },
  leave: escape,
});

/** @type {State[]} */
const STATES = [
  { name: 'a library', side: true, hash: '#file=vertex_fragment.metallib', enter: (page) => page.locator('.functions .row').first().waitFor() },
  { name: 'filtered', side: true, enter: (page) => page.locator('#filter').fill('tint') },
  { name: 'no matches', side: true, enter: async (page) => {
    await page.locator('#filter').fill('nothing of this name');
    await page.locator('.list-message .nothing').waitFor();
  }, leave: (page) => page.getByRole('button', { name: 'Show all' }).click() },
  { name: 'assembly', hash: '#file=vertex_fragment.metallib&item=0&pane=assembly', enter: (page) => line(page).waitFor() },
  { name: 'a selected line', enter: async (page) => {
    await line(page).click();
    await litBytes(page);
  } },
  { name: 'a name and its uses', enter: (page) => page.locator('.column-first .definition').first().click() },
  { name: 'the structure', enter: async (page) => {
    await page.keyboard.press('u');
    await page.getByRole('treeitem').nth(2).waitFor();
  }, leave: (page) => page.keyboard.press('u') },
  { name: 'raw', hash: '#file=vertex_fragment.metallib&item=0&pane=raw', enter: (page) => page.locator('.column-first .tab[aria-selected=true]', { hasText: 'Raw' }).waitFor() },
  { name: 'Metal', hash: '#file=vertex_fragment.metallib&item=0&pane=metal&side=assembly', enter: (page) => page.locator('.column-first .t-attribute', { hasText: 'metal_stdlib' }).waitFor() },
  { name: 'facts', hash: '#file=vertex_fragment.metallib&item=0&pane=facts', enter: (page) => page.locator('.column-first .card').first().waitFor() },
  { name: 'graph', hash: '#file=vertex_fragment.metallib&item=0&pane=graph', enter: (page) => page.locator('.column-first .block').first().waitFor() },
  { name: 'a selected block', enter: (page) => page.locator('.column-first .block').first().click() },
  { name: 'a source', hash: '#file=sources_hsrc.metallib&item=0', enter: async (page) => {
    const tab = page.locator('.column-first .tab').filter({ hasText: /\.(metal|h)$/ }).first();
    await tab.click();
    await page.locator('.column-first .line .code', { hasText: 'kernel void scale' }).waitFor();
  } },
  { name: 'CUDA assembly', hash: '#file=calls_sm_35.cubin&item=3&pane=assembly', enter: (page) => line(page).waitFor() },
  { name: 'the bits of an instruction', enter: async (page) => {
    await line(page).click();
    await litBytes(page);
    // Scrolling closes them, and so does a mouse that leaves the line.
    await page.mouse.move(1, 1);
    await page.waitForTimeout(300);
    await page.keyboard.press('i');
    await page.locator('.bits tr').first().waitFor();
  }, leave: escape },
  { name: 'C', hash: '#file=calls_sm_35.cubin&item=3&pane=c', enter: (page) => page.locator('.column-first .line .code', { hasText: '__global__' }).waitFor() },
  { name: 'diagnostics of a damaged file', hash: '#file=damaged.metallib', enter: async (page) => {
    await page.locator('#diagnostics-toggle', { hasText: /[1-9]/ }).click();
    await page.locator('.finding').first().waitFor();
  }, leave: (page) => page.locator('#diagnostics-toggle').click() },
  { name: 'no program in a file', hash: '#file=noise.bin', enter: (page) => page.locator('.nothing, .problem').first().waitFor() },
  { name: 'an item that does not exist', hash: '#file=vertex_fragment.metallib&item=99', enter: (page) => page.locator('.problem').first().waitFor() },
  { name: 'search', hash: '#file=vertex_fragment.metallib', ...dialog('f', 'Search all') },
  { name: 'results of a search', enter: async (page) => {
    await page.keyboard.press('f');
    await page.getByLabel('Search for').fill('ret ');
    await page.keyboard.press('Enter');
    await page.locator('.result').first().waitFor();
  }, leave: (page) => page.getByRole('dialog').getByRole('button', { name: 'Close' }).click() },
  { name: 'keys', ...dialog('?', 'Keyboard shortcuts') },
  { name: 'downloads', ...dialog('d', 'Download') },
  { name: 'open', ...dialog('o', 'Open') },
  { name: 'go to', ...dialog('g', 'Go to') },
  { name: 'a comparison', hash: '#file=vertex_fragment.metallib&item=1&pane=compare&against=vertex_fragment.metallib%7C0%7C0', enter: (page) => page.locator('.compare-row .changed').first().waitFor() },
  { name: 'a file that is not open', hash: '#file=elsewhere.metallib', enter: (page) => page.locator('.welcome-panel', { hasText: 'elsewhere' }).waitFor() },
  { name: 'narrow: a function', narrow: true, hash: '#file=vertex_fragment.metallib&item=0&pane=assembly', enter: (page) => line(page).waitFor() },
  { name: 'narrow: the drawer', narrow: true, side: true, enter: (page) => page.locator('#side').waitFor() },
  { name: 'narrow: machine code', narrow: true, hash: '#file=calls_sm_35.cubin&item=3&pane=assembly', enter: (page) => line(page).waitFor() },
];

/**
 * Returns what axe complains about.
 * @param {Page} page
 * @param {string} view
 */
async function complaints(page, view) {
  await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), AXE).catch(() => page.addScriptTag({ content: AXE }));
  const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
  return violations.map((/** @type {any} */ { id, impact, nodes }) => `${view}: ${id} (${impact}): ${nodes.slice(0, 3)
    .map((/** @type {any} */ node) => `${node.html.slice(0, 160)} ${node.failureSummary?.replace(/\s+/g, ' ').slice(0, 200)}`).join(' | ')}`);
}

/**
 * Opens all files, with the address empty.
 * @param {Parameters<typeof openPage>[1]} [options]
 */
async function start(options) {
  const opened = await openPage(FILES, options);
  await titled(opened.page, 'vertex_fragment');
  return opened;
}

/**
 * Goes through all states.
 * @param {Page} page
 * @param {(view: string) => Promise<void>} look
 */
async function walk(page, look) {
  const size = page.viewportSize();
  for (const { name, hash, narrow, side, enter, leave } of STATES) {
    if (size && size.width > 759) await page.setViewportSize(narrow ? { width: 390, height: 844 } : size);
    if (hash !== undefined) await page.evaluate((hash) => void (location.hash = hash), hash);
    try {
      if (side && await page.locator('#drawer').isVisible() && !await page.locator('#side').isVisible()) await page.locator('#drawer').click();
      await enter?.(page);
    } catch (error) {
      throw new Error(`${name}: ${error}`);
    }
    await look(name);
    await leave?.(page);
    if (await page.locator('.drawer-open').count() > 0) await page.locator('#drawer').click();
  }
}

for (const dark of [false, true]) {
  test(`axe in every state, ${dark ? 'dark' : 'light'}`, async () => {
    const { page, close } = await start({ dark });
    /** @type {string[]} */
    const faults = [];
    await walk(page, async (name) => void faults.push(...await complaints(page, name)));
    await close();
    assert.deepEqual(faults, []);
  });

  test(`axe in the empty page, ${dark ? 'dark' : 'light'}`, async () => {
    const { page, close } = await openPage([], { dark, given: false });
    await page.locator('.welcome-panel').waitFor();
    const faults = await complaints(page, 'welcome');
    await close();
    assert.deepEqual(faults, []);
  });
}

for (const dark of [false, true]) {
  test(`axe in states of the static page, ${dark ? 'dark' : 'light'}`, { skip: !IS_STATIC && 'only the static page has them' }, async () => {
    /** @type {string[]} */
    const faults = [];
    const server = await serveStatic({
      'slow.metallib': () => ({ body: 'MTLB', headers: { 'Content-Length': '5000' }, hold: true }),
      'unshade_web.js': (original) => `${original}
        const { handle } = Workspace.prototype;
        Workspace.prototype.handle = function (request) {
          if (request.includes('"graph"')) throw new WebAssembly.RuntimeError('unreachable');
          return handle.call(this, request);
        };`,
    });
    const { page, address, close } = await openPage([], { server, given: false, dark, faults: /404/ });
    await page.locator('.example').first().waitFor();
    faults.push(...await complaints(page, 'gallery'));
    for (const [name, url, ready] of [
      ['a question', 'https://files.example/a.metallib', '.linked-origin'], ['a failed link', 'none.metallib', '.welcome-panel .problem'], ['a link in progress', 'slow.metallib', '.waiting progress'],
    ]) {
      await page.goto(`${address}?url=${encodeURIComponent(url)}`);
      await page.locator(ready).waitFor();
      faults.push(...await complaints(page, name));
    }
    await page.goto(`${address}?url=examples%2Fvertex_fragment.metallib#file=vertex_fragment.metallib&item=0&pane=graph`);
    await page.locator('.notice').waitFor();
    await page.locator('.problem', { hasText: 'crashed' }).waitFor();
    faults.push(...await complaints(page, 'after a crash'));
    await close();
    await server.stop();
    assert.deepEqual(faults, []);
  });
}

test('fingers get rows of 40 pixels, and lists stay in step', async () => {
  const { page, close } = await start({ width: 390, height: 844, touch: true });
  await page.locator('#drawer').tap();
  const row = page.locator('.functions .row').first();
  assert.equal((await row.boundingBox())?.height, 40);
  const small = await page.evaluate(() => [...document.querySelectorAll('button, select, input')]
    .filter((node) => node.getClientRects().length > 0 && !node.closest('.bits'))
    .map((node) => ({ box: node.getBoundingClientRect(), html: node.outerHTML.slice(0, 90) }))
    .filter(({ box }) => box.height < 24 || box.width < 24).map(({ html, box }) => `${box.width}×${box.height} ${html}`));
  assert.deepEqual(small, []);
  await row.tap();
  await line(page).waitFor();
  const [first, second] = [await page.locator('.column-first .line').first().boundingBox(), await page.locator('.column-first .line').nth(1).boundingBox()];
  assert.equal(first?.height, 28);
  assert.equal((second?.y ?? 0) - (first?.y ?? 0), 28);
  await close();
});

test('addresses of machine code take little room in narrow windows', async () => {
  const { page, close } = await start({ width: 390, height: 844, hash: '' });
  await page.evaluate(() => void (location.hash = '#file=calls_sm_35.cubin&item=3&pane=assembly'));
  await line(page).waitFor();
  const start_ = await line(page).locator('.t-keyword').first().boundingBox();
  assert.ok(start_ && start_.x < 130, `the instruction begins at ${start_?.x}`);
  // A wide window aligns them.
  await page.setViewportSize({ width: 1000, height: 700 });
  await page.waitForFunction(() => /^ {8}\/\*/.test(document.querySelectorAll('.column-first .line.has-bytes .code')[2]?.textContent ?? ''));
  await close();
});

/** Where scrolling in two directions is part of the content. */
const TWO_DIMENSIONAL = '.rows, .hex, .graph-canvas, .declaration, .table-scroll, .tabs';

test('reflow: no scrolling in two directions at 320 × 256 pixels', async () => {
  const { page, close } = await start({ width: 320, height: 256, still: true });
  /** @type {string[]} */
  const faults = [];
  await walk(page, async (name) => {
    const found = await page.evaluate((allowed) => {
      const wide = document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
      for (const node of document.querySelectorAll('*')) {
        const { overflowX } = getComputedStyle(node);
        if (node.matches(allowed) || node.closest(allowed) || node.getClientRects().length === 0) continue;
        if (node.scrollWidth > node.clientWidth + 1 && ['auto', 'scroll'].includes(overflowX)) wide.push(`${node.className} scrolls sideways: ${node.scrollWidth} in ${node.clientWidth}`);
      }
      for (const node of document.querySelectorAll('button, input, select, a')) {
        const box = node.getBoundingClientRect();
        if (box.width === 0 || node.closest(allowed) || getComputedStyle(node).visibility === 'hidden' || node.closest('.visually-hidden')) continue;
        if (box.right > innerWidth + 1 || box.left < -1) wide.push(`outside: ${node.outerHTML.slice(0, 80)}`);
      }
      return wide;
    }, TWO_DIMENSIONAL);
    faults.push(...found.map((fault) => `${name}: ${fault}`));
  });
  // The text of a function has room.
  await page.evaluate(() => void (location.hash = '#file=vertex_fragment.metallib&item=0&pane=assembly'));
  await line(page).scrollIntoViewIfNeeded();
  const box = await page.locator('.column-first .listing').boundingBox();
  assert.ok(box && box.height >= 100, `the listing is ${box?.height} high`);
  await close();
  assert.deepEqual(faults, []);
});

test('forced colours: selection, focus, badges and edges are visible', async () => {
  const { page, close } = await start({ forced: true, hash: '' });
  await page.evaluate(() => void (location.hash = '#file=calls_sm_35.cubin&item=3&pane=graph&side=assembly'));
  await page.locator('.column-first .block').first().click();
  await page.locator('.column-second .line.lit').first().waitFor();
  const colours = await page.evaluate(() => {
    const probe = document.createElement('div');
    document.body.append(probe);
    const named = (/** @type {string} */ name) => {
      probe.style.forcedColorAdjust = 'none';
      probe.style.color = name;
      return getComputedStyle(probe).color;
    };
    const of = (/** @type {string} */ selector, /** @type {string} */ property) => {
      const node = document.querySelector(selector);
      return node ? getComputedStyle(node).getPropertyValue(property) : `no ${selector}`;
    };
    const colours = {
      canvas: named('Canvas'), text: named('CanvasText'), highlight: named('Highlight'),
      edge: of('.column-first .edge', 'stroke'), block: of('.column-first .block:not(.active) rect', 'stroke'), active: of('.column-first .block.active rect', 'stroke'),
      label: of('.column-first .block:not(.active) .block-label', 'fill'),
      line: of('.column-second .line.lit', 'background-color'), byte: of('.hex .lit', 'background-color'),
      row: of('.functions .row.active', 'background-color'), badge: of('.functions .badge', 'border-top-style'),
      tab: of('.column-first .tab[aria-selected="true"]', 'border-bottom-color'), other: of('.column-first .tab[aria-selected="false"]', 'border-bottom-color'),
    };
    probe.remove();
    return colours;
  });
  for (const name of /** @type {const} */ (['edge', 'block', 'label'])) assert.equal(colours[name], colours.text, name);
  for (const name of /** @type {const} */ (['active', 'line', 'byte', 'row', 'tab'])) assert.equal(colours[name], colours.highlight, name);
  assert.equal(colours.other, colours.canvas);
  assert.equal(colours.badge, 'solid');
  await page.locator('.functions').focus();
  await page.keyboard.press('j');
  const outline = await page.locator('.functions').evaluate((node) => getComputedStyle(node).outlineStyle);
  assert.equal(outline, 'solid');
  await close();
});

test('less motion: nothing moves by itself', async () => {
  const { page, close } = await start({ still: true });
  await page.keyboard.press('u');
  await page.getByRole('treeitem').nth(2).waitFor();
  const moving = await page.evaluate(() => [...document.querySelectorAll('*')].filter((node) => {
    const { transitionDuration, animationName } = getComputedStyle(node);
    return animationName !== 'none' || transitionDuration.split(', ').some((time) => time !== '0s');
  }).map((node) => node.className));
  assert.deepEqual(moving, []);
  await close();
});

test('panes are resized with the keyboard, and keep their sizes', async () => {
  const { page, close, address } = await start();
  await page.locator('.functions .row').first().click();
  await line(page).waitFor();
  for (const [label, keys, part] of /** @type {[string, string[], string][]} */ ([
    ['Width of the sidebar', ['ArrowRight', 'ArrowLeft'], '#side'], ['Height of the bytes', ['ArrowUp', 'ArrowDown'], '.bytes'],
  ])) {
    const bar = page.getByRole('separator', { name: label });
    const size = async () => {
      const box = await page.locator(part).boundingBox();
      return Math.round((part === '#side' ? box?.width : box?.height) ?? 0);
    };
    await bar.focus();
    const before = await size();
    assert.equal(await bar.getAttribute('aria-valuenow'), String(before));
    await page.keyboard.press(keys[0]);
    assert.equal(await size(), before + 16);
    await page.keyboard.press(keys[1]);
    assert.equal(await size(), before);
    await page.keyboard.press('End');
    assert.ok(await size() > before);
    assert.equal(await bar.getAttribute('aria-valuenow'), String(await size()));
    await page.keyboard.press('Home');
    assert.equal(String(await size()), await bar.getAttribute('aria-valuemin'));
  }
  if (!IS_STATIC) {
    await page.goto(address);
    await page.locator('.functions .row').first().waitFor();
    assert.equal(Math.round((await page.locator('#side').boundingBox())?.width ?? 0), 200);
  }
  await close();
});

test('messages end, errors stay, and what is in progress ends with its result', async () => {
  const { page, close } = await start();
  await page.locator('.functions .row').first().click();
  await line(page).waitFor();
  const status = page.locator('#status');
  await page.keyboard.press('y');
  await status.filter({ hasText: 'Link copied' }).waitFor();
  await page.waitForFunction(() => document.getElementById('status')?.textContent === '', undefined, { timeout: 12_000 });
  await page.keyboard.press('v');
  await status.filter({ hasText: 'Verified' }).waitFor();
  assert.ok(!(await status.textContent())?.includes('…'));
  await close();
});
