/**
 * Ten tasks by a stop-watch, as a person does them: with a pause before each action and time for each key. Each is printed
 * with its number of clicks and keys, and has to take less than 15 seconds.
 */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { BIG, end, fixture, IS_STATIC, made, openPage, scratch, titled } from './harness.mjs';

after(end);

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Locator} Locator */

/** Milliseconds of a person before an action, and for a key of a text. */
const PAUSE = 350;
const KEY = 70;
const LIMIT = 15;

/** Acts like a person, and counts. */
class Person {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.clicks = 0;
    this.keys = 0;
    this.start = performance.now();
  }

  /** @param {Locator} target */
  async click(target) {
    await this.page.waitForTimeout(PAUSE);
    await target.click();
    this.clicks++;
  }

  /** @param {string} key */
  async press(key) {
    await this.page.waitForTimeout(PAUSE);
    await this.page.keyboard.press(key);
    this.keys++;
  }

  /** @param {string} text */
  async type(text) {
    await this.page.waitForTimeout(PAUSE);
    await this.page.keyboard.type(text, { delay: KEY });
    this.keys += text.length;
  }

  /** @param {string} task */
  done(task) {
    const seconds = (performance.now() - this.start) / 1000;
    console.log(`${IS_STATIC ? 'static page' : 'local server'}: ${task}: ${this.clicks} clicks, ${this.keys} keys, ${seconds.toFixed(1)} s`);
    assert.ok(seconds < LIMIT, `${task}: ${seconds.toFixed(1)} s`);
  }
}

const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const TWO = fixture('metallib/vertex_fragment.metallib');

test('1: find a function by a part of its name', async () => {
  const big = BIG ?? TWO;
  const { page, close } = await openPage([big]);
  await page.locator('.functions .item-name').first().waitFor();
  const person = new Person(page);
  await person.press('/');
  await person.type(BIG ? 'softmax float16' : 'tint');
  await page.locator('.counted', { hasText: ' of ' }).first().waitFor();
  await person.press('Enter');
  await page.locator('.column-first .listing .line').first().waitFor();
  person.done('find a function by a part of its name');
  await close();
});

test('2: who calls a function', async () => {
  const { page, close } = await openPage([CUBIN]);
  await page.locator('.functions .item-name').first().waitFor();
  const person = new Person(page);
  await person.press('/');
  await person.type('calls:fact');
  await page.locator('.counted', { hasText: '1 of 4' }).first().waitFor();
  await person.press('Enter');
  await titled(page, 'calls');
  person.done('who calls a function');
  await close();
});

test('3: where a value is defined', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0&pane=assembly' });
  const reference = page.locator('.column-first .line .reference.t-register').last();
  await reference.waitFor();
  const name = await reference.textContent() ?? '';
  const person = new Person(page);
  await person.click(reference);
  await page.locator('.column-first .line.active .definition', { hasText: name }).waitFor();
  person.done('where a value is defined');
  await close();
});

test('4: which bytes an instruction is', async () => {
  const { page, close } = await openPage([CUBIN], { hash: '#file=calls_sm_35.cubin&item=3&pane=assembly' });
  const line = page.locator('.column-first .line', { hasText: 'LD.E R4, [R2]' }).first();
  await line.waitFor();
  const person = new Person(page);
  await person.click(line);
  await page.locator('.hex-bytes .lit').first().waitFor();
  await page.locator('.bytes-where', { hasText: '8 bytes' }).waitFor();
  person.done('which bytes an instruction is');
  await close();
});

test('5: C beside SASS, line for line', async () => {
  const { page, close } = await openPage([CUBIN]);
  await page.locator('.functions .item-name').first().waitFor();
  const person = new Person(page);
  await person.click(page.locator('.functions .row', { hasText: /^.?calls/ }).last());
  await titled(page, 'calls');
  await person.click(page.locator('.column-second .tab', { hasText: /^C$/ }));
  const line = page.locator('.column-second .line.has-bytes').nth(5);
  await line.waitFor();
  await person.click(line);
  await page.locator('.column-first .line.lit').first().waitFor();
  person.done('C beside SASS, line for line');
  await close();
});

test('6: compare two builds', async () => {
  const other = made('second.cubin', CUBIN, (bytes) => {
    bytes[0x650] ^= 4;
    return bytes;
  });
  const { page, close } = await openPage([CUBIN, other]);
  await page.locator('.functions .item-name').first().waitFor();
  const person = new Person(page);
  await person.press('c');
  await person.click(page.getByRole('treeitem', { name: 'second.cubin' }));
  await titled(page, 'second.cubin');
  await person.press('c');
  await page.locator('.change-row').first().waitFor();
  await person.click(page.locator('.change-row').first());
  await page.locator('.compare .changed').first().waitFor();
  person.done('compare two builds');
  await close();
});

test('7: rename a variable, and export the notes', async () => {
  const { page, close } = await openPage([CUBIN], { hash: '#file=calls_sm_35.cubin&item=3&pane=c' });
  const name = page.locator('.column-first .line .definition.t-variable').nth(4);
  await name.waitFor();
  const person = new Person(page);
  await person.click(name);
  await person.press('n');
  await person.type('row_sum');
  await person.press('Enter');
  await page.locator('.column-first .line').getByText('row_sum').first().waitFor();
  await person.press('N');
  const waiting = page.waitForEvent('download');
  await person.click(page.getByRole('button', { name: 'Export' }));
  await waiting;
  person.done('rename a variable, and export the notes');
  await close();
});

test('8: patch an instruction, and save', async () => {
  const folder = join(scratch, 'patched');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'calls.cubin');
  copyFileSync(CUBIN, path);
  const { page, close } = await openPage([path], { hash: '#file=calls.cubin&item=3&pane=assembly' });
  const line = page.locator('.column-first .line', { hasText: 'MOV32I R3, 0x4' }).first();
  await line.waitFor();
  const person = new Person(page);
  await person.click(line);
  await person.press('e');
  await person.press('Enter');
  await page.getByRole('dialog').locator('textarea').waitFor();
  await person.type('        /*0018*/ MOV32I R3, 0x8;');
  await person.press('Control+Enter');
  await page.locator('.edit-banner').getByText('1 edit').waitFor();
  if (IS_STATIC) {
    const waiting = page.waitForEvent('download');
    await person.click(page.locator('.edit-banner').getByRole('button', { name: 'Download' }));
    await waiting;
  } else {
    await person.click(page.locator('.edit-banner').getByRole('button', { name: 'Save…' }));
    await person.press('Enter');
    await page.getByText('Saved as').waitFor();
    assert.ok(existsSync(join(folder, 'calls-edited.cubin')));
  }
  person.done('patch an instruction, and save');
  await close();
});

test('9: run a kernel on data, and see what it wrote', async () => {
  const { page, close } = await openPage([fixture('metallib/sources_hsrc.metallib')], { hash: '#file=sources_hsrc.metallib&item=0&pane=assembly' });
  await page.locator('.column-first .listing .line').first().waitFor();
  const person = new Person(page);
  await person.click(page.locator('.column-first .tab', { hasText: /^Run$/ }));
  await person.click(page.locator('.run-form button[type=submit]'));
  await page.locator('.run-summary').first().waitFor();
  person.done('run a kernel on data, and see what it wrote');
  await close();
});

test('10: share a link', async () => {
  const { page, close } = await openPage([CUBIN], { hash: '#file=calls_sm_35.cubin&item=3&pane=assembly' });
  const line = page.locator('.column-first .line', { hasText: 'LD.E R4, [R2]' }).first();
  await line.waitFor();
  const person = new Person(page);
  await person.click(line);
  await person.press('y');
  await page.getByText('Link copied').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /item=3.*range=/);
  person.done('share a link');
  await close();
});
