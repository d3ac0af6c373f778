/** Tests edits: code, names, fields, YAML; undo, redo, differences, download and saving. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { accessible, download, end, fixture, IS_STATIC, openPage, scratch, texts, titled } from './harness.mjs';

after(end);

const CUBIN = fixture('nvidia/calls_sm_35.cubin');
const TWO = fixture('metallib/vertex_fragment.metallib');
const CONTAINER = fixture('dxcontainer/compute.dxbc');

/**
 * Opens the menu of edits and chooses one.
 * @param {import('playwright-core').Page} page
 * @param {string | RegExp} choice
 */
async function edit(page, choice) {
  await page.keyboard.press('e');
  await page.getByRole('dialog', { name: 'Edit' }).getByRole('button', { name: choice }).click();
}

/** @param {import('playwright-core').Page} page */
const banner = (page) => page.locator('.edit-banner');

/**
 * Downloads the edited file.
 * @param {import('playwright-core').Page} page
 */
async function edited(page) {
  const waiting = page.waitForEvent('download');
  await banner(page).getByRole('button', { name: 'Download' }).click();
  const got = await waiting;
  return { name: got.suggestedFilename(), bytes: readFileSync(await got.path()) };
}

test('one instruction is patched, compared, undone, redone and downloaded', async () => {
  const { page, close } = await openPage([CUBIN], { hash: '#file=calls_sm_35.cubin&item=3&pane=assembly' });
  const line = page.locator('.column-first .line', { hasText: 'S2R R0, SR_TID.X' }).first();
  await line.click();
  await edit(page, /^Code of calls/);
  const area = page.getByRole('dialog').locator('textarea');
  // The caret is at the selected line.
  const selected = await area.evaluate((/** @type {HTMLTextAreaElement} */ node) => node.value.slice(node.selectionStart, node.selectionEnd));
  assert.match(selected, /S2R R0, SR_TID\.X/);
  await accessible(page);
  await page.keyboard.type(selected.replace('SR_TID.X', 'SR_TID.WRONG'));
  await page.keyboard.press('Control+Enter');
  const fault = page.locator('.edit-fault').first();
  await fault.waitFor();
  assert.match(await fault.textContent() ?? '', /^\d+:\d+ /);
  await area.evaluate((/** @type {HTMLTextAreaElement} */ node) => {
    node.value = node.value.replace('SR_TID.WRONG', 'SR_TID.Y');
  });
  await page.keyboard.press('Control+Enter');
  await banner(page).getByText('1 edit: changed the code of calls').waitFor();
  await page.locator('.column-first .line', { hasText: 'S2R R0, SR_TID.Y' }).first().waitFor();
  await accessible(page);

  const { name, bytes } = await edited(page);
  const before = readFileSync(CUBIN);
  assert.equal(name, 'calls_sm_35-edited.cubin');
  assert.equal(bytes.length, before.length);
  assert.ok(bytes.filter((byte, at) => byte !== before[at]).length <= 8);

  await banner(page).getByRole('button', { name: 'Differences' }).click();
  await page.locator('.compare .changed', { hasText: 'SR_TID.Y' }).first().waitFor();
  await page.keyboard.press('z');
  await banner(page).getByText('As it was before the edits').waitFor();
  await page.goto(page.url().replace(/pane=compare/, 'pane=assembly'));
  await page.locator('.column-first .line', { hasText: 'S2R R0, SR_TID.X' }).first().waitFor();
  await page.keyboard.press('Z');
  await page.locator('.column-first .line', { hasText: 'S2R R0, SR_TID.Y' }).first().waitFor();
  await close();
});

test('a function is renamed and removed; the file stays as it is', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0' });
  await titled(page, 'corner');
  await edit(page, 'Rename corner');
  await page.getByRole('textbox', { name: 'New name' }).fill('first_vertex');
  await page.keyboard.press('Enter');
  await titled(page, 'first_vertex');
  await page.locator('.listing .code', { hasText: '@first_vertex' }).first().waitFor();
  assert.ok((await texts(page, '.functions .item-name')).includes('first_vertex'));
  await edit(page, 'Remove first_vertex');
  await page.locator('.counted', { hasText: '1 function' }).first().waitFor();
  await banner(page).getByText('2 edits: removed first_vertex').waitFor();
  // Of the versions, only the file and the newest are listed.
  assert.deepEqual(await texts(page, '.files-body .node-name'), ['vertex_fragment.metallib', 'vertex_fragment-edited-2.metallib']);
  await page.keyboard.press('v');
  await page.getByText('Verified: no problems found').waitFor();
  await close();
});

test('a name that is taken is refused in the dialog', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=1' });
  await titled(page, 'shading::tint');
  await edit(page, 'Rename shading::tint');
  await page.getByRole('textbox', { name: 'New name' }).fill('corner');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('another function is already named').waitFor();
  await page.keyboard.press('Escape');
  assert.ok(await banner(page).isHidden());
  await close();
});

test('a field is changed in the structure, and the digest is renewed', async () => {
  const { page, close } = await openPage([CONTAINER], { hash: '#file=compute.dxbc&range=18-1c' });
  await titled(page, 'compute.dxbc');
  await page.locator('.hex-bytes .lit').first().waitFor();
  await edit(page, / at 0x18–0x1c/);
  const number = page.getByRole('textbox', { name: 'Number' });
  const size = Number(await number.inputValue());
  assert.equal(size, readFileSync(CONTAINER).readUInt32LE(0x18));
  await number.fill('no');
  await page.getByText('No number of 4 bytes').waitFor();
  await accessible(page);
  await number.fill('0x1234');
  assert.equal(await page.getByRole('textbox', { name: 'Bytes' }).inputValue(), '34 12 00 00');
  await page.keyboard.press('Enter');
  await banner(page).getByText('The digest is renewed').waitFor();
  assert.equal((await edited(page)).bytes.readUInt32LE(0x18), 0x1234);
  await close();
});

test('a program is changed as YAML', async () => {
  const { page, close } = await openPage([CONTAINER]);
  await titled(page, 'compute.dxbc');
  await edit(page, /as YAML/);
  const area = page.getByRole('dialog').locator('textarea');
  await area.evaluate((/** @type {HTMLTextAreaElement} */ node) => {
    node.value += '\n- [';
  });
  await page.keyboard.press('Control+Enter');
  await page.locator('.edit-faults .problem').waitFor();
  await area.evaluate((/** @type {HTMLTextAreaElement} */ node) => {
    node.value = node.value.replace('\n- [', '').replace(/MinorVersion: +0|Minor: +0/, (text) => text.replace('0', '1'));
  });
  await page.keyboard.press('Control+Enter');
  await banner(page).getByText('changed the YAML').waitFor();
  await close();
});

test('an edited file is saved beside the original, never over a file', { skip: IS_STATIC && 'the static page downloads' }, async () => {
  const folder = join(scratch, 'saved');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'calls.cubin');
  copyFileSync(CUBIN, path);
  const { page, close } = await openPage([path], { hash: '#file=calls.cubin&range=9-a' });
  await titled(page, 'calls.cubin');
  await page.locator('.hex-bytes .lit').first().waitFor();
  await edit(page, / at 0x9–0xa/);
  await page.getByRole('textbox', { name: 'Number' }).fill('7');
  await page.keyboard.press('Enter');
  await banner(page).getByRole('button', { name: 'Save…' }).click();
  const name = page.getByRole('textbox', { name: 'File name' });
  assert.equal(await name.inputValue(), 'calls-edited.cubin');
  for (const bad of ['calls.cubin', '../up.cubin', '/tmp/x', '..']) {
    await name.fill(bad);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').locator('.problem').waitFor();
  }
  await name.fill('mine.cubin');
  await page.keyboard.press('Enter');
  await page.getByText('Saved as').waitFor();
  assert.equal(readFileSync(join(folder, 'mine.cubin'))[9], 7);
  assert.deepEqual(readFileSync(path), readFileSync(CUBIN));
  assert.ok(!existsSync(join(scratch, 'up.cubin')));
  await close();
});

test('a download of the program has the edit', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0' });
  await titled(page, 'corner');
  await edit(page, 'Strip reflection');
  await banner(page).getByText('stripped reflection').waitFor();
  const { bytes } = await download(page, 'program', 1);
  assert.ok(bytes.length <= readFileSync(TWO).length);
  await close();
});
