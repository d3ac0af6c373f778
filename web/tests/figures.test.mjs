/**
 * How quick the page is, on the library of mlx-metal (147 MB, 17,248 functions), in one run: each figure is printed and
 * has a limit.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { BIG, end, openPage, serve } from './harness.mjs';

after(end);

const FUNCTIONS = '17,248 functions';
const skip = BIG ? false : 'UNSHADE_BIG names no file';

/**
 * @param {string} what
 * @param {number} figure
 * @param {number} limit
 */
function figure(what, figure, limit) {
  console.log(`${what}: ${figure.toFixed(1)} ms (limit ${limit} ms)`);
  assert.ok(figure < limit, `${what}: ${figure.toFixed(1)} ms is over ${limit} ms`);
}

/** @param {number[]} numbers */
function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

test('cold load, and all functions shown', { skip }, async () => {
  const server = await serve([/** @type {string} */ (BIG)]);
  const { page, close } = await openPage([/** @type {string} */ (BIG)], { server });
  await page.locator('.counted', { hasText: FUNCTIONS }).first().waitFor();
  await page.locator('.functions .item-name').nth(20).waitFor();
  const times = await page.evaluate(() => {
    const marks = performance.getEntriesByType('mark');
    const at = (/** @type {string} */ name) => marks.find((mark) => mark.name === name)?.startTime ?? Infinity;
    return { ready: at('unshade:ready'), open: at('unshade:open'), list: at('unshade:list') };
  });
  figure('page usable after a cold load', times.ready, 1000);
  figure('147 MB library opened and its functions listed', times.list - times.open, 500);
  await close();
});

test('a click on a function shows its disassembly', { skip }, async () => {
  const { page, close } = await openPage([/** @type {string} */ (BIG)]);
  await page.locator('.functions .item-name').nth(20).waitFor();
  await page.locator('.functions .row').nth(1).click();
  await page.locator('.listing .line').first().waitFor();
  /** @type {number[]} */
  const times = [];
  for (let k = 2; k < 24; k++) {
    times.push(await page.evaluate((k) => new Promise((resolve) => {
      const row = /** @type {HTMLElement} */ (document.querySelectorAll('.functions .row')[k]);
      const listing = /** @type {HTMLElement} */ (document.querySelector('.column-first .listing'));
      const start = performance.now();
      const watch = () => {
        if (Number(/** @type {any} */ (listing).dataset.item ?? -1) === k && listing.querySelector('.line .code')?.textContent) resolve(performance.now() - start);
        else setTimeout(watch, 0);
      };
      row.click();
      watch();
    }), k));
    await page.waitForTimeout(60);
  }
  console.log(`disassembly after the click: ${times.map((time) => time.toFixed(0)).join(' ')} ms`);
  figure('disassembly after the click, median of 22', median(times), 30);
  await close();
});

test('scrolling blocks nothing', { skip }, async () => {
  const { page, close } = await openPage([/** @type {string} */ (BIG)]);
  await page.locator('.functions .item-name').nth(20).waitFor();
  await page.locator('.functions .row').nth(1).click();
  await page.locator('.listing .line').first().waitFor();
  await page.waitForTimeout(500);
  await page.evaluate(() => {
    const long = /** @type {number[]} */ (/** @type {any} */ (window).long = []);
    new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({ entryTypes: ['longtask'] });
  });
  for (const selector of ['.functions', '.column-first .listing', '.hex']) {
    await page.locator(selector).hover();
    for (let k = 0; k < 60; k++) {
      await page.mouse.wheel(0, k % 10 === 9 ? 40_000 : 600);
      await page.waitForTimeout(16);
    }
  }
  await page.waitForTimeout(300);
  const long = await page.evaluate(() => /** @type {number[]} */ (/** @type {any} */ (window).long));
  figure('longest task while scrolling (tasks under 50 ms are not counted)', Math.max(0, ...long), 50.1);
  await close();
});
