/** Tests the page in a real browser with real files, with mouse and keyboard. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { download, end, fixture, IS_STATIC, lightsUp, litBytes, made, openPage, scratch, serve, texts, titled } from './harness.mjs';

after(end);

const SOURCES = fixture('metallib/sources_hsrc.metallib');
const TWO = fixture('metallib/vertex_fragment.metallib');

test('metallib: open, list, filter, disassemble, bytes', async () => {
  const { page, close } = await openPage([TWO]);
  await titled(page, 'vertex_fragment.metallib');
  await page.locator('.functions .item-name').first().waitFor();
  const names = await texts(page, '.functions .item-name');
  assert.equal(names.length, 2);
  await page.locator('.filter input').fill(names[1]);
  await page.locator('.counted', { hasText: '1 of 2 functions' }).waitFor();
  await page.locator('.functions .row').first().click();
  await titled(page, names[1]);
  await page.locator('.listing .code', { hasText: 'define' }).first().waitFor();

  // Selecting a line highlights its bytes, and they match the file.
  const line = page.locator('.column-first .line.has-bytes').nth(3);
  await line.click();
  const lit = await litBytes(page);
  const range = /range=([0-9a-f]+)-([0-9a-f]+)/.exec(page.url());
  assert.ok(range, page.url());
  const [start, stop] = [parseInt(range[1], 16), parseInt(range[2], 16)];
  const bytes = [...readFileSync(TWO).subarray(start, stop)].map((byte) => byte.toString(16).padStart(2, '0'));
  assert.deepEqual(lit, bytes.slice(0, lit.length));
  assert.ok(await line.evaluate((node) => node.classList.contains('lit')));

  // And vice versa: clicking a byte highlights the line decoded from it.
  await page.locator('.hex-bytes .lit').first().click({ position: { x: 4, y: 8 } });
  await page.locator('.column-first .line.lit').first().waitFor();
  await close();
});

test('a link leads to the definition, highlights uses, and back returns', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0' });
  const reference = page.locator('.column-first .line .reference').first();
  await reference.waitFor();
  const name = await reference.textContent();
  await reference.click();
  await page.locator('.column-first .line.active .definition', { hasText: name ?? '' }).waitFor();
  assert.ok(await page.locator('.column-first .use').count() >= 1);
  const there = page.url();
  await page.goBack();
  await page.waitForFunction((address) => location.href !== address, there);
  await page.goForward();
  await page.waitForFunction((address) => location.href === address, there);
  await close();
});

test('embedded sources have their own panes', async () => {
  const { page, close } = await openPage([SOURCES], { hash: '#file=sources_hsrc.metallib&item=0' });
  const tabs = page.locator('.column-first .tab');
  await tabs.first().waitFor();
  const source = tabs.filter({ hasText: /\.(metal|h)$/ }).first();
  if (await source.count() === 0) {
    await page.goto(page.url().replace(/&item=0/, ''));
    await titled(page, 'sources_hsrc.metallib');
  }
  await source.click();
  await page.locator('.column-first .line .code', { hasText: 'kernel void scale' }).waitFor();
  assert.match(decodeURIComponent(page.url()), /pane=source:/);
  await close();
});

test('a download has the bytes of the file', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0' });
  await page.locator('.listing .line').first().waitFor();
  const whole = readFileSync(TWO);
  const module = await download(page, 'module');
  assert.ok(whole.includes(module.bytes), 'the module stands in the file');
  assert.match(module.name, /^[\w.@-]+$/);
  const program = await download(page, 'program', 1);
  assert.deepEqual(program.bytes, whole);
  const listing = await download(page, 'listing');
  assert.match(listing.bytes.toString(), /define/);
  await close();
});

test('an address restores the view', async () => {
  const server = await serve([TWO]);
  const first = await openPage([TWO], { server, hash: '#file=vertex_fragment.metallib&item=1' });
  await first.page.locator('.column-first .line.has-bytes').nth(5).click();
  await litBytes(first.page);
  await first.page.waitForFunction(() => location.hash.includes('range='));
  const hash = new URL(first.page.url()).hash;
  const title = await first.page.locator('.title').textContent();
  const lit = await texts(first.page, '.column-first .line.lit .code');
  await first.close();
  const second = await openPage([TWO], { server, hash });
  await titled(second.page, title ?? '');
  await second.page.locator('.column-first .line.lit').first().waitFor();
  assert.deepEqual(await texts(second.page, '.column-first .line.lit .code'), lit);
  await second.close();
});

test('keyboard only', async () => {
  const { page, close } = await openPage([TWO]);
  await page.locator('.functions .item-name').first().waitFor();
  const { keyboard } = page;
  const focused = (/** @type {string} */ selector) => page.waitForFunction((selector) => document.activeElement?.matches(selector), selector);
  await keyboard.press('/');
  await focused('#filter');
  await keyboard.press('ArrowDown');
  await focused('.functions');
  await keyboard.press('Enter');
  await page.locator('.listing .line').first().waitFor();
  await keyboard.press('j');
  await page.locator('.column-first .listing[data-item="1"] .line.has-bytes').first().waitFor();
  await keyboard.press('r');
  await focused('.listing');
  for (let k = 0; k < 60 && await page.locator('.column-first .cursor.t-register').count() === 0; k++) {
    await keyboard.press('ArrowDown');
    await keyboard.press('ArrowRight');
  }
  await page.locator('.column-first .cursor.t-register').waitFor();
  await keyboard.press('x');
  await page.getByRole('dialog').locator('.result').first().waitFor();
  await keyboard.press('Escape');
  await focused('.listing');
  await keyboard.press('Enter');
  await page.locator('.column-first .line.active .definition.use').waitFor();
  await keyboard.press('1');
  await page.locator('.column-first .tab[aria-selected=true]', { hasText: 'Facts' }).waitFor();
  await keyboard.press('[');
  await page.locator('.column-first .tab[aria-selected=true]', { hasText: 'Assembly' }).waitFor();
  await keyboard.press('g');
  await keyboard.type('0x40');
  await keyboard.press('Enter');
  await page.locator('.bytes-where', { hasText: '0x40' }).waitFor();
  await keyboard.press('h');
  await focused('.hex');
  await keyboard.press('ArrowRight');
  await page.locator('.bytes-where', { hasText: '0x41' }).waitFor();
  await keyboard.press('u');
  await page.getByRole('treeitem').first().waitFor();
  await keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await keyboard.press('Escape');
  await keyboard.press('y');
  await page.locator('#status', { hasText: /Link copied|clipboard/ }).waitFor();
  await close();
});

/** Formats, with the expected beginning of their assembly. */
const FORMATS = /** @type {[string, string, RegExp][]} */ ([
  ['DXIL', 'dxcontainer/pixel_1_6.dxbc', /ps_6_0|DXIL/],
  ['DXBC', 'dxcontainer/fxc_ps_5_1.dxbc', /ps_5_1/],
  ['cubin', 'nvidia/add_sm_35.cubin', /MOV|EXIT|S2R/],
  ['cubin of a chip whose tables are loaded', 'nvidia/volta/shared_sm_75.cubin', /LDS|ULDC|S2R/],
]);
for (const [format, name, words] of FORMATS) {
  test(`${format}: facts, listing, bytes, structure`, async () => {
    const { page, close } = await openPage([fixture(name)]);
    await page.locator('.column-first .tab').first().waitFor();
    const assembly = page.locator('.column-first .tab', { hasText: 'Assembly' });
    if (await assembly.count() === 0) await page.locator('.functions .row').first().click();
    await assembly.click();
    await page.locator('.column-first .line .code', { hasText: words }).first().waitFor();
    // Some listings begin with comments, which have no bytes.
    await page.locator('.column-first .listing').hover();
    for (let k = 0; k < 40 && await page.locator('.column-first .line.has-bytes').count() === 0; k++) {
      await page.mouse.wheel(0, 300);
      await page.waitForTimeout(100);
    }
    await page.locator('.column-first .line.has-bytes').first().click();
    await litBytes(page);
    await page.keyboard.press('u');
    await page.getByRole('treeitem').nth(2).waitFor();
    await page.locator('.tree-row.active').waitFor();
    await close();
  });
}

test('the bits of an instruction are explained', async () => {
  const { page, close } = await openPage([fixture('nvidia/add_sm_35.cubin')], { hash: '#file=add_sm_35.cubin&item=0' });
  const line = page.locator('.column-first .line.has-bytes', { hasText: /IADD|MOV|IMAD|LD/ }).first();
  await line.hover();
  await page.locator('.bits tr').first().waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.bits').waitFor({ state: 'hidden' });
  await close();
});

test('the graph has the blocks of the function and leads to their bytes', async () => {
  const { page, close } = await openPage([fixture('nvidia/switches_sm_50.cubin'), fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=calls_sm_35.cubin&item=0&pane=graph' });
  await page.locator('.column-first .block').first().waitFor();
  await page.locator('.column-first .block').first().click();
  await litBytes(page);
  await close();
});

test('a damaged file: readable contents and diagnostics', async () => {
  const half = made('damaged.metallib', TWO, (bytes) => bytes.subarray(0, bytes.length - 900));
  const flipped = made('flipped.metallib', TWO, (bytes) => {
    const copy = Buffer.from(bytes);
    // Inside the module of the first function, so that its hash no longer matches.
    copy[0x600] ^= 0xff;
    return copy;
  });
  const noise = made('noise.bin', TWO, () => Buffer.from(Array.from({ length: 5000 }, (_, k) => (k * 7919) & 0xff)));
  const { page, close } = await openPage([half, flipped, noise]);
  await page.locator('#diagnostics-toggle', { hasText: /[1-9]\d* diagnostic/ }).waitFor();
  await page.locator('#diagnostics-toggle').click();
  await page.locator('.finding').first().waitFor();
  await page.locator('.tree-row', { hasText: 'flipped.metallib' }).click();
  await titled(page, 'flipped.metallib');
  await page.keyboard.press('v');
  await page.locator('#status', { hasText: /Verified: [1-9]\d* error/ }).waitFor();
  await page.locator('.finding.error').first().waitFor();
  await page.locator('.tree-row', { hasText: 'noise.bin' }).click();
  await page.locator('.nothing, .problem', { hasText: /No GPU program|not/ }).first().waitFor();
  await close();
});

test('names in a file can not inject HTML', async () => {
  const hostile = join(scratch, '<img src=x onerror=alert(1)>.metallib');
  const name = '<img src=x onerror="window.taken=1"><script>window.taken=1</script>';
  const list = JSON.parse(execFileSync(process.env.UNSHADE_TOOL ?? process.env.UNSHADE ?? 'unshade', ['list', '--json', TWO], { encoding: 'utf8' }));
  const first = JSON.stringify(list).match(/"name":"([^"]+)"/)?.[1] ?? '';
  execFileSync(process.env.UNSHADE_TOOL ?? process.env.UNSHADE ?? 'unshade', ['edit', TWO, '--rename', `${first}=${name}`, '-o', hostile]);
  const { page, close } = await openPage([hostile]);
  await page.locator('.functions .item-name', { hasText: '<img' }).first().click();
  await titled(page, '<img src=x');
  await page.locator('.column-first .tab', { hasText: 'Assembly' }).waitFor();
  for (const tab of await page.locator('.column-first .tab').all()) {
    await tab.click();
    await page.waitForTimeout(100);
  }
  assert.equal(await page.locator('img, body script').count(), 0);
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).taken), undefined);
  await close();
});

test('search streams results and opens them', async () => {
  const { page, close } = await openPage([TWO]);
  await page.locator('.functions .row').first().waitFor();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog', { name: 'Search all' });
  await dialog.getByLabel('Listings').check();
  await dialog.getByLabel('Search for').fill('ret ');
  await page.keyboard.press('Enter');
  await dialog.locator('.search-state', { hasText: /[1-9]\d* match/ }).waitFor();
  await dialog.locator('.result-match').first().click();
  await page.locator('.column-first .line.active', { hasText: 'ret' }).waitFor();
  await page.keyboard.press('f');
  await dialog.getByLabel('Bytes').check();
  await dialog.getByLabel('Search for').fill('4d 54 4c 42');
  await page.keyboard.press('Enter');
  await dialog.locator('.search-state', { hasText: /^1 match/ }).waitFor();
  await dialog.locator('.result-match').first().click();
  await lightsUp(page, '4d 54 4c 42');
  await close();
});

test('two functions side by side', async () => {
  const { page, close } = await openPage([TWO], { hash: '#file=vertex_fragment.metallib&item=0' });
  await page.locator('.listing .line').first().waitFor();
  await page.keyboard.press('c');
  await page.locator('.functions .row').nth(1).click();
  await page.waitForFunction(() => location.hash.includes('item=1'));
  await page.keyboard.press('c');
  await page.locator('.compare-row .changed').first().waitFor();
  await close();
});

test('decompiled C has colours and links, and its lines highlight their instructions', async () => {
  const { page, close } = await openPage([fixture('nvidia/calls_sm_35.cubin')], { hash: '#file=calls_sm_35.cubin&item=3&pane=c&side=assembly' });
  await page.locator('.column-first .t-keyword').first().waitFor();
  await page.locator('.column-first .t-type').first().waitFor();
  const line = page.locator('.column-first .line.has-bytes').nth(3);
  await line.click();
  await litBytes(page);
  await page.locator('.column-second .line.lit').first().waitFor();
  assert.ok(await line.evaluate((node) => node.classList.contains('lit')));
  // And vice versa: an instruction highlights its line of C.
  const address = /\/\*[0-9a-f]{4}\*\//.exec(await page.locator('.column-second .line.lit').first().textContent() ?? '')?.[0] ?? '';
  await page.locator('.column-first .line').first().click();
  await page.waitForFunction(() => !document.querySelector('.line.lit'));
  await page.locator('.column-second .line', { hasText: address }).click();
  await page.locator('.column-first .line.lit').first().waitFor();
  // A use links to the declaration.
  const use = page.locator('.column-first .reference.t-variable').first();
  const name = await use.textContent() ?? '';
  await use.click();
  await page.locator('.column-first .line.active .use', { hasText: name }).first().waitFor();
  await close();
});

for (const name of ['compute.dxbc', 'fxc_ps_5_1.dxbc']) {
  test(`decompiled HLSL beside the assembly: ${name}`, async () => {
    const hash = `#file=${name}&pane=hlsl&side=assembly&line=40`;
    const { page, close } = await openPage([fixture(`dxcontainer/${name}`)], { hash });
    await page.locator('.column-first .t-type').first().waitFor();
    const line = page.locator('.column-first .line.has-bytes').first();
    await line.click();
    await litBytes(page);
    await page.locator('.column-second .line.lit').first().waitFor();
    assert.ok(await line.evaluate((node) => node.classList.contains('lit')));
    await close();
  });
}

test('decompiled Metal beside the assembly', async () => {
  const hash = '#file=vertex_fragment.metallib&item=0&pane=metal&side=assembly';
  const { page, close } = await openPage([TWO], { hash });
  await page.locator('.column-first .t-keyword', { hasText: /^vertex$/ }).waitFor();
  await page.locator('.column-first .t-attribute', { hasText: 'metal_stdlib' }).waitFor();
  const line = page.locator('.column-first .line.has-bytes').first();
  await line.click();
  await litBytes(page);
  await page.locator('.column-second .line.lit').first().waitFor();
  assert.ok(await line.evaluate((node) => node.classList.contains('lit')));
  // And vice versa.
  await page.locator('.column-first .line').first().click();
  await page.waitForFunction(() => !document.querySelector('.line.lit'));
  await page.locator('.column-second .line', { hasText: 'ret ' }).click();
  await page.locator('.column-first .line.lit', { hasText: 'return' }).waitFor();
  await close();
});

test('an instruction that left nothing in decompiled Metal', async () => {
  const hash = '#file=reduce.bc&pane=metal&side=assembly';
  const { page, close } = await openPage([fixture('air/reduce.bc')], { hash });
  await page.locator('.column-first .t-keyword', { hasText: /^if$/ }).first().waitFor();
  await page.locator('.column-second .line', { hasText: 'br label' }).first().click();
  await page.locator('.column-first .listing-note', { hasText: 'No line is from the selected instruction' }).waitFor();
  await page.locator('.column-first .line.has-bytes').first().click();
  await page.waitForFunction(() => document.querySelector('.column-first .listing-note')?.textContent === '');
  await close();
});

test('names in the graph of LLVM link to their definition', async () => {
  const { page, close } = await openPage([fixture('air/reduce.bc')], { hash: '#file=reduce.bc&pane=graph&side=assembly' });
  await page.locator('.column-first .block').nth(1).waitFor();
  const word = page.locator('.column-first .block-line .reference.t-register').first();
  const name = await word.textContent();
  await word.click();
  await page.locator('.column-first .block-line .use').first().waitFor();
  assert.ok((await texts(page, '.column-first .block-line .use')).every((text) => text === name));
  await page.locator('.column-first .block-line .reference.t-label').first().click();
  await page.locator('.column-first .block.active').waitFor();
  await litBytes(page);
  await page.locator('.column-second .line.lit').first().waitFor();
  await close();
});

test('download YAML and a zip of all modules', async () => {
  const { page, close } = await openPage([TWO]);
  await page.locator('.functions .row').first().waitFor();
  const yaml = await download(page, 'yaml');
  assert.match(yaml.bytes.toString(), /^--- !/);
  const zip = await download(page, 'zip');
  assert.equal(zip.bytes.subarray(0, 4).toString('latin1'), 'PK\u0003\u0004');
  for (const name of ['corner.air', 'tint.air']) assert.ok(zip.bytes.includes(name), name);
  await close();
});

test('filters: kind, source, regular expression', async () => {
  const { page, close } = await openPage([TWO, SOURCES]);
  await page.locator('.functions .row').nth(1).waitFor();
  await page.locator('.chip', { hasText: 'vertex 1' }).click();
  await page.locator('.counted', { hasText: '1 of 2 functions' }).waitFor();
  await page.locator('.chip', { hasText: 'vertex 1' }).click();
  await page.locator('.filter input').fill('/^shading::t.nt$/');
  await page.locator('.counted', { hasText: '1 of 2 functions' }).waitFor();
  await page.locator('.filter input').fill('nothing of this name');
  await page.locator('.list-message', { hasText: 'No matches.' }).getByRole('button', { name: 'Show all' }).click();
  await page.locator('.counted', { hasText: /^2 functions/ }).first().waitFor();
  await page.locator('.sort').selectOption({ label: 'bytes ↓' });
  await page.waitForFunction(() => document.querySelector('.functions .item-name')?.textContent === 'shading::tint');
  await close();
});

test('two files side by side, and what is copied', async () => {
  const { page, close } = await openPage([TWO, fixture('metallib/linker_1_2_8.metallib')]);
  await titled(page, 'vertex_fragment.metallib');
  await page.keyboard.press('c');
  await page.locator('.tree-row', { hasText: 'linker_1_2_8' }).click();
  await titled(page, 'linker_1_2_8');
  await page.keyboard.press('c');
  await page.locator('.changes tr', { hasText: 'version' }).first().waitFor();
  await page.keyboard.press('c');
  await page.locator('.functions .row').first().click();
  await page.locator('.listing .line').first().waitFor();
  await page.keyboard.press('Shift+Y');
  await page.locator('#status', { hasText: 'Assembly copied' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /define [^]*\n}\n/);
  await page.keyboard.press('y');
  await page.locator('#status', { hasText: 'Link copied' }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
  await close();
});

test('files are dropped, pasted, chosen as a folder, and opened again later', async () => {
  const { page, close } = await openPage([], { given: false });
  const bytes = [...readFileSync(TWO)];
  /** Passes a file to the page as the system does. @param {string} type @param {string} name */
  const give = (type, name) => page.evaluate(({ type, name, bytes }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(bytes)], name));
    document.body.dispatchEvent(type === 'paste' ? new ClipboardEvent(type, { clipboardData: transfer, bubbles: true })
      : new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, { type, name, bytes });
  await page.getByRole('button', { name: 'Open files…' }).waitFor();
  await give('dragenter', 'dropped.metallib');
  await page.locator('.drop-shade').waitFor();
  await give('drop', 'dropped.metallib');
  await titled(page, 'dropped.metallib');
  await give('paste', 'pasted.metallib');
  await titled(page, 'pasted.metallib');

  // A dropped folder is read recursively.
  await page.evaluate((bytes) => {
    const file = (/** @type {string} */ name) => ({ isFile: true, isDirectory: false, name, file: (/** @type {(file: File) => void} */ take) => take(new File([new Uint8Array(bytes)], name)) });
    const folder = (/** @type {string} */ name, /** @type {any[]} */ inside) => ({ isFile: false, isDirectory: true, name, createReader: () => {
      const left = [...inside];
      return { readEntries: (/** @type {(some: any[]) => void} */ take) => take(left.splice(0, 1)) };
    } });
    const event = new DragEvent('drop', { bubbles: true, cancelable: true });
    const items = [{ webkitGetAsEntry: () => folder('shaders', [file('one.metallib'), folder('more', [file('two.metallib')])]) }];
    Object.defineProperty(event, 'dataTransfer', { value: { types: ['Files'], items, files: [] } });
    document.body.dispatchEvent(event);
  }, bytes);
  await titled(page, 'one.metallib');
  await page.locator('.tree-row', { hasText: 'two.metallib' }).waitFor();

  const folder = join(scratch, 'folder');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'chosen.metallib'), readFileSync(TWO));
  await page.keyboard.press('o');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('dialog').getByRole('button', { name: 'A folder…' }).click();
  await (await chooser).setFiles(folder);
  await titled(page, 'chosen.metallib');

  // The local server keeps them while it runs.
  if (!IS_STATIC) {
    await page.reload();
    await titled(page, 'chosen.metallib');
    await page.locator('.tree-row', { hasText: 'two.metallib' }).click();
    await titled(page, 'two.metallib');
    assert.deepEqual((await download(page, 'program')).bytes, readFileSync(TWO));
    return close();
  }

  // With file handles, a file can be reopened with one click, even in a later visit.
  await page.evaluate(async (bytes) => {
    const handle = await (await navigator.storage.getDirectory()).getFileHandle('kept.metallib', { create: true });
    const stream = await handle.createWritable();
    await stream.write(new Uint8Array(bytes));
    await stream.close();
    /** @type {any} */ (window).showOpenFilePicker = async () => [handle];
  }, bytes);
  await page.keyboard.press('o');
  await page.getByRole('dialog').getByRole('button', { name: 'Open files…' }).click();
  await titled(page, 'kept.metallib');
  await page.waitForFunction(() => new Promise((resolve) => {
    const opening = indexedDB.open('unshade', 1);
    opening.onsuccess = () => {
      const asked = opening.result.transaction('handles').objectStore('handles').count('kept.metallib');
      asked.onsuccess = () => {
        opening.result.close();
        resolve(asked.result === 1);
      };
    };
  }));
  await page.goto(page.url().replace(/#.*/, ''));
  await page.reload();
  await page.locator('.recent li', { hasText: 'dropped.metallib' }).waitFor();
  await page.locator('.recent').getByRole('button', { name: 'kept.metallib' }).click();
  await titled(page, 'kept.metallib');
  await close();
});

test('examples open directly', { skip: !IS_STATIC }, async () => {
  const { page, close } = await openPage([], { given: false });
  await page.locator('.example', { hasText: 'calls_sm_35' }).click();
  await page.locator('.functions .row').first().click();
  await page.locator('.column-first .line').first().waitFor();
  await close();
});

test('works at a width of 360 pixels', async () => {
  const { page, close } = await openPage([TWO], { width: 360, height: 740 });
  await titled(page, 'vertex_fragment');
  await page.locator('#drawer').click();
  await page.locator('.functions .row').first().click();
  await page.locator('.column-first .line').first().waitFor();
  await page.locator('#side').waitFor({ state: 'hidden' });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `the page is ${wide} wide`);
  await close();
});

test('no serious accessibility problems', async () => {
  const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
  /** @type {string[]} */
  const faults = [];
  for (const dark of [false, true]) {
    const { page, close } = await openPage([TWO, fixture('nvidia/calls_sm_35.cubin')], { dark, hash: '#file=vertex_fragment.metallib&item=0' });
    await page.locator('.listing .line').first().waitFor();
    const check = async (/** @type {string} */ view) => {
      await page.evaluate((source) => void (/** @type {any} */ (window).axe ?? (0, eval)(source)), axe).catch(() => page.addScriptTag({ content: axe }));
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ['violations'] }));
      for (const { id, impact, nodes } of violations) {
        if (['serious', 'critical'].includes(impact)) faults.push(`${view}, ${dark ? 'dark' : 'light'}: ${id}: ${nodes.slice(0, 3).map((/** @type {any} */ node) => `${node.html.slice(0, 120)} ${node.failureSummary?.replace(/\s+/g, ' ').slice(0, 200)}`).join(' | ')}`);
      }
    };
    await check('assembly');
    await page.locator('.column-first .line.has-bytes').nth(2).click();
    await page.keyboard.press('u');
    await page.getByRole('treeitem').nth(2).waitFor();
    await check('selection and structure');
    await page.keyboard.press('1');
    await page.locator('.column-first .card').first().waitFor();
    await check('facts');
    await page.locator('.column-first .tab', { hasText: 'Graph' }).click();
    await page.locator('.column-first .block').first().waitFor();
    await check('graph');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await check('keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('f');
    await page.getByRole('dialog').waitFor();
    await check('search');
    await close();
  }
  assert.deepEqual(faults, []);
});

test('slow operations show progress and can be cancelled and retried', { skip: IS_STATIC }, async () => {
  const { page, close } = await openPage([TWO, SOURCES]);
  await page.locator('.functions .row').first().waitFor();
  /** @type {(nothing?: undefined) => void} */
  let release = () => {};
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await page.route('**/api', async (route) => {
    if (route.request().postData()?.includes('"overview"')) await held;
    await route.continue().catch(() => {});
  });
  await page.locator('.tree-row', { hasText: 'sources_hsrc' }).click();
  await page.locator('.waiting', { hasText: 'Opening sources_hsrc' }).getByRole('button', { name: 'Cancel' }).click();
  await page.locator('.nothing', { hasText: 'Stopped.' }).waitFor();
  release();
  await page.unroute('**/api');
  await page.getByRole('button', { name: 'Try again' }).click();
  await titled(page, 'sources_hsrc');
  await page.locator('.functions .item-name', { hasText: 'scale' }).waitFor();
  await close();
});

test('a stopped server is reported', { skip: IS_STATIC }, async () => {
  const server = await serve([TWO]);
  const { page, close } = await openPage([TWO], { server, faults: /ERR_CONNECTION|Failed to load/ });
  await page.locator('.functions .row').first().waitFor();
  await server.stop();
  await page.locator('.functions .row').first().click();
  await page.locator('.problem', { hasText: 'does not respond' }).first().waitFor();
  await close();
});
