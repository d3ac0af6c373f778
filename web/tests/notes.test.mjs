/** Tests notes: names and comments in decompiled text, kept by hash, exported, imported, read by `decompile --types`. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { accessible, end, fixture, IS_STATIC, made, openPage, scratch, serve, texts } from './harness.mjs';

after(end);

const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const VIEW = '#file=calls_sm_35.cubin&item=3&pane=c&side=assembly';

/**
 * Selects the first variable that is declared in the decompiled text, and returns its name.
 * @param {import('playwright-core').Page} page
 */
async function variable(page) {
  const name = page.locator('.column-first .line .definition.t-variable').first();
  await name.click();
  return await name.textContent() ?? '';
}

/** @param {import('playwright-core').Page} page */
const code = (page) => page.locator('.column-first .listing .code');

test('a variable is renamed everywhere, kept for the same bytes, and undone', async () => {
  const server = await serve([CUBIN, made('same.cubin', CUBIN, (bytes) => bytes), made('other.cubin', CUBIN, (bytes) => {
    bytes[9] = 7;
    return bytes;
  })]);
  const { page, close } = await openPage([CUBIN, join(scratch, 'same.cubin'), join(scratch, 'other.cubin')], { server, hash: VIEW });
  const old = await variable(page);
  const uses = await page.locator('.column-first .use').count();
  await page.keyboard.press('n');
  const input = page.getByRole('textbox', { name: 'New name' });
  assert.equal(await input.inputValue(), old);
  await accessible(page);
  for (const [bad, reason] of [['2x', 'does not begin with a digit'], ['float', 'word of the language'], ['calls', 'used in this text already']]) {
    await input.fill(bad);
    await page.keyboard.press('Enter');
    await page.getByText(reason).waitFor();
  }
  await input.fill('row_sum');
  await page.keyboard.press('Enter');
  await code(page).getByText('row_sum', { exact: true }).first().waitFor();
  assert.equal(await code(page).getByText('row_sum', { exact: true }).count(), uses);
  assert.equal(await code(page).getByText(old, { exact: true }).count(), 0);

  // The same bytes under another name have the note, other bytes do not.
  await page.goto(page.url().replace('file=calls_sm_35.cubin', 'file=same.cubin'));
  await code(page).getByText('row_sum', { exact: true }).first().waitFor();
  await page.goto(page.url().replace('file=same.cubin', 'file=other.cubin'));
  await code(page).getByText(old, { exact: true }).first().waitFor();
  assert.equal(await code(page).getByText('row_sum').count(), 0);
  await page.goto(page.url().replace('file=other.cubin', 'file=calls_sm_35.cubin'));
  await code(page).getByText('row_sum', { exact: true }).first().click();
  await page.keyboard.press('n');
  await page.getByRole('textbox', { name: 'New name' }).fill(old);
  await page.keyboard.press('Enter');
  await code(page).getByText(old, { exact: true }).first().waitFor();
  await close();
});

test('a comment is shown at its instruction in all listings', async () => {
  const { page, close } = await openPage([CUBIN], { hash: VIEW });
  const line = page.locator('.column-first .line.has-bytes').nth(1);
  await line.click();
  await page.keyboard.press(';');
  await page.getByRole('textbox', { name: 'Comment' }).fill('over\u202etiles <b>');
  await page.keyboard.press('Enter');
  const comment = '// overtiles <b>';
  await code(page).getByText(comment).first().waitFor();
  await page.locator('.column-second .listing .code').getByText(comment).first().waitFor();
  await close();
});

test('notes are exported, read by the decompiler, removed and imported', async () => {
  const { page, close } = await openPage([CUBIN], { hash: VIEW });
  const old = await variable(page);
  await page.keyboard.press('n');
  await page.getByRole('textbox', { name: 'New name' }).fill('row_sum');
  await page.keyboard.press('Enter');
  await code(page).getByText('row_sum', { exact: true }).first().waitFor();
  await page.locator('.column-first .line.has-bytes').nth(1).click();
  await page.keyboard.press(';');
  await page.getByRole('textbox', { name: 'Comment' }).fill('mine');
  await page.keyboard.press('Enter');
  await code(page).getByText('// mine').first().waitFor();
  const shown = await texts(page, '.column-first .listing .code');

  await page.keyboard.press('N');
  await page.locator('.notes-pairs').getByText('row_sum').waitFor();
  await accessible(page);
  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const got = await waiting;
  assert.equal(got.suggestedFilename(), 'calls_sm_35.cubin.notes.json');
  const text = readFileSync(await got.path(), 'utf8');
  const path = join(scratch, 'calls.notes.json');
  writeFileSync(path, text);
  if (!IS_STATIC && process.env.UNSHADE) {
    const decompiled = execFileSync(process.env.UNSHADE, ['decompile', CUBIN, '-f', 'calls', '--types', path], { encoding: 'utf8' });
    for (const line of shown.filter((line) => /row_sum|\/\/ mine/.test(line))) assert.ok(decompiled.includes(line.trim()), line);
  }

  await page.getByRole('button', { name: 'Remove all' }).click();
  await page.getByText('None yet').waitFor();
  const give = async (/** @type {string} */ content) => {
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Import…' }).click();
    await (await chooser).setFiles({ name: 'n.json', mimeType: 'application/json', buffer: Buffer.from(content) });
  };
  // Files that lie.
  await give('[]');
  await page.getByText('not one of notes').waitFor();
  await give(text.replace(/"sha256": "[0-9a-f]{8}/, '"sha256": "00000000'));
  await page.getByText('on another file').waitFor();
  await give(text.replace('"row_sum"', '"a b"'));
  await page.getByText('1 note imported; 1 entry left out').waitFor();
  await give(text);
  await page.getByText('2 notes imported').waitFor();
  await page.keyboard.press('Escape');
  await code(page).getByText('row_sum', { exact: true }).first().waitFor();
  assert.deepEqual(await texts(page, '.column-first .listing .code'), shown);
  assert.notEqual(old, 'row_sum');
  await close();
});
