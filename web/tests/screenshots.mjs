/** Takes the screenshots in docs/images from the real page: `cargo xtask web-test --screenshots`. */

import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { BIG, end, fixture, litBytes, openPage } from './harness.mjs';

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });

const metal = BIG ?? fixture('metallib/vertex_fragment.metallib');

/**
 * @typedef {object} Picture
 * @property {string} name
 * @property {string[]} files
 * @property {number} width
 * @property {number} height
 * @property {boolean} [dark]
 * @property {string} hash
 * @property {(page: import('playwright-core').Page) => Promise<void>} prepare
 */

/**
 * Edits the instruction that reads the number of the thread.
 * @param {import('playwright-core').Page} page
 * @param {string} register what it reads instead
 */
async function editThread(page, register) {
  await page.locator('.column-first .line', { hasText: 'S2R R0, SR_TID.X' }).first().click();
  await page.keyboard.press('e');
  await page.getByRole('dialog').getByRole('button', { name: /^Code of/ }).click();
  await page.getByRole('dialog').locator('textarea').waitFor();
  await page.keyboard.type(`        /*0010*/                   S2R R0, ${register};`);
  await page.keyboard.press('Control+Enter');
}

/** @type {Picture[]} */
const PICTURES = [
  {
    name: 'explorer', files: [metal], width: 1240, height: 760,
    hash: `#file=${basename(metal)}`,
    async prepare(page) {
      await page.locator('#filter').fill(BIG ? 'softmax' : '');
      await page.waitForTimeout(400);
      await page.locator('.functions .row').nth(BIG ? 4 : 0).click();
      await page.locator('.column-first .line.has-bytes').first().waitFor();
      await page.locator('.column-first .listing').hover();
      await page.mouse.wheel(0, 200);
      await page.waitForTimeout(200);
      await page.locator('.column-first .line.has-bytes .definition', { hasText: /^%1\d$/ }).first().click();
      await litBytes(page);
    },
  },
  {
    name: 'explorer-graph', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760, dark: true,
    hash: '#file=calls_sm_35.cubin&item=2&pane=graph&side=assembly',
    async prepare(page) {
      await page.locator('.column-first .block').nth(1).click();
      await litBytes(page);
    },
  },
  {
    name: 'explorer-c', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760,
    hash: '#file=calls_sm_35.cubin&item=3&pane=c&side=assembly',
    async prepare(page) {
      await page.locator('.column-first .line.has-bytes').nth(8).click();
      await page.locator('.column-second .line.lit').first().waitFor();
      await litBytes(page);
    },
  },
  {
    name: 'explorer-edit', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760,
    hash: '#file=calls_sm_35.cubin&item=3&pane=assembly',
    async prepare(page) {
      await editThread(page, 'SR_TID.W');
      await page.locator('.edit-fault').first().waitFor();
    },
  },
  {
    name: 'explorer-differences', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760,
    hash: '#file=calls_sm_35.cubin&item=3&pane=assembly',
    async prepare(page) {
      await editThread(page, 'SR_TID.Y');
      await page.locator('.edit-banner').getByRole('button', { name: 'Differences' }).click();
      await page.locator('.compare .changed', { hasText: 'SR_TID.Y' }).first().waitFor();
    },
  },
  {
    name: 'explorer-notes', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760, dark: true,
    hash: '#file=calls_sm_35.cubin&item=3&pane=c&side=assembly',
    async prepare(page) {
      await page.locator('.column-first .line .definition.t-variable', { hasText: 'i1' }).first().click();
      await page.keyboard.press('n');
      await page.keyboard.type('remaining');
      await page.keyboard.press('Enter');
      await page.locator('.column-first .line').getByText('remaining').first().waitFor();
      await page.locator('.column-first .line.has-bytes').nth(3).click();
      await page.keyboard.press(';');
      await page.keyboard.type('the factorial of 0 and 1');
      await page.keyboard.press('Enter');
      await page.locator('.column-first .line').getByText('// the factorial').first().waitFor();
    },
  },
  {
    name: 'explorer-overview', files: [metal], width: 1440, height: 900,
    hash: `#file=${basename(metal)}`,
    async prepare(page) {
      await page.locator('.tree-map .tile').first().waitFor();
    },
  },
  {
    name: 'explorer-search', files: [fixture('metallib/sources_hsrc.metallib'), fixture('metallib/vertex_fragment.metallib')], width: 1240, height: 760,
    hash: '#file=vertex_fragment.metallib&item=0',
    async prepare(page) {
      await page.keyboard.press('f');
      const dialog = page.getByRole('dialog', { name: 'Search all' });
      await dialog.getByLabel('Listings').check();
      await dialog.getByLabel('Search for').fill('insertvalue');
      await page.keyboard.press('Enter');
      await dialog.locator('.result-match').first().waitFor();
    },
  },
  {
    name: 'explorer-run', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1440, height: 900,
    hash: '#file=calls_sm_35.cubin&item=3&pane=run&side=assembly',
    async prepare(page) {
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.locator('.run-summary, .problem').first().waitFor();
      await page.getByRole('button', { name: 'Step this thread' }).click();
      await page.locator('.run-current').first().waitFor();
      for (let k = 0; k < 6; k++) await page.keyboard.press('.');
    },
  },
  {
    name: 'explorer-calls', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760, dark: true,
    hash: '#file=calls_sm_35.cubin&item=3&pane=calls&side=c',
    async prepare(page) {
      await page.locator('.column-first .block').first().waitFor();
    },
  },
  {
    name: 'explorer-flow', files: [fixture('nvidia/calls_sm_35.cubin')], width: 1240, height: 760,
    hash: '#file=calls_sm_35.cubin&item=3&pane=assembly',
    async prepare(page) {
      await page.locator('.column-first .line', { hasText: 'IMAD.U32.U32.HI.X R17' }).first().click();
      await page.keyboard.press('w');
      await page.locator('.column-first .block').nth(1).waitFor();
    },
  },
  {
    name: 'explorer-narrow', files: [fixture('metallib/vertex_fragment.metallib')], width: 360, height: 700,
    hash: '#file=vertex_fragment.metallib&item=0&pane=facts',
    prepare: (page) => page.locator('.column-first .card').first().waitFor(),
  },
];

for (const { name, files, width, height, dark, hash, prepare } of PICTURES) {
  const { page, close } = await openPage(files, { width, height, dark, hash });
  await page.locator('.column-first .tab').first().waitFor();
  await prepare(page);
  await page.mouse.move(width - 2, height - 2);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await close();
}
await end();
