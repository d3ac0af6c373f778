/** Tests the examples of the static page. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { end, IS_STATIC, openPage, titled } from './harness.mjs';
import { PAGE } from './static.mjs';

after(end);

test('each example has a card with its format, size and contents, and opens', { skip: !IS_STATIC && 'only the static page has examples' }, async () => {
  const examples = JSON.parse(readFileSync(join(PAGE, 'examples/index.json'), 'utf8'));
  assert.ok(examples.length >= 6);
  const { page, close } = await openPage([], { given: false });
  await page.locator('.example').first().waitFor();
  assert.equal(await page.locator('.example').count(), examples.length);
  for (const { name, format, description } of examples) {
    const card = page.locator('.example', { hasText: name });
    const text = await card.textContent();
    assert.ok(text?.includes(format) && text.includes(description) && /\d (bytes|kB)/.test(text), text ?? '');
    await card.click();
    await titled(page, name.replace(/\.\w+$/, ''));
    assert.equal(await page.locator('.problem').count(), 0, name);
    await page.goBack();
    await card.waitFor();
  }
  await close();
});
