/** Tests the page from disk: the folder says what to do, and the page as one file works. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { end, fixture, IS_STATIC, openPage, texts, titled } from './harness.mjs';
import { PAGE } from './static.mjs';

after(end);

const skip = !IS_STATIC && 'only the static page is opened from disk';
/** The page as one file, which `cargo xtask web --single-file` writes beside the folder. */
const SINGLE = join(dirname(PAGE || '.'), 'unshade.html');

test('the folder opened from disk says what to do', { skip }, async () => {
  const { page, close } = await openPage([], { server: { address: pathToFileURL(join(PAGE, 'index.html')).href }, given: false, faults: /CORS|origin|Failed/ });
  await page.getByRole('heading', { name: 'can\'t run from disk' }).waitFor();
  await page.getByText('python3 -m http.server').waitFor();
  await close();
});

test('the page as one file works from disk', { skip: skip || !existsSync(SINGLE) && 'cargo xtask web --single-file' }, async () => {
  const { page, asked, close } = await openPage([], { server: { address: pathToFileURL(SINGLE).href }, given: false });
  for (const [file, language] of [['nvidia/calls_sm_35.cubin', 'C'], ['metallib/vertex_fragment.metallib', 'Metal'], ['dxcontainer/pixel_1_6.dxbc', 'HLSL']]) {
    const chooser = page.waitForEvent('filechooser');
    if (await page.locator('.welcome-panel').count() > 0) {
      await page.getByRole('button', { name: 'Open files…' }).click();
    } else {
      await page.keyboard.press('o');
      await page.getByRole('dialog').getByRole('button', { name: 'Open files…' }).click();
    }
    await (await chooser).setFiles(fixture(file));
    await titled(page, file.split('/').pop() ?? '');
    if (language !== 'HLSL') await page.locator('.functions .row', { hasText: /corner|calls/ }).click();
    await page.locator('.column-first .tab', { hasText: new RegExp(`^${language}$`) }).click();
    await page.locator('.column-first .t-keyword, .column-first .t-type').first().waitFor();
    assert.ok((await texts(page, '.column-first .line .code')).length > 3);
  }
  assert.ok(asked.every((address) => /^(file|blob|data):/.test(address)), asked.join('\n'));
  await close();
});
