/** The panel shown when no file is open: how to open one, or which file the address needs. */

import { baseName, h, size } from './dom.js';
import { chooseFiles } from './drop.js';
import { isPacked, packedFile } from './packed.js';
import { recentFiles, reopen } from './recent.js';
import { nothing, problem } from './rows.js';

/** @typedef {import('./drop.js').Opened} Opened */

/** @typedef {{name: string, format: string, description: string, size: number}} Example */

/**
 * Returns the examples shipped with the page, if any.
 * @returns {Promise<Example[]>}
 */
export async function examples() {
  try {
    return JSON.parse(await (await exampleFile('index.json')).text());
  } catch {
    return [];
  }
}

/**
 * @param {string} name
 * @returns {Promise<Opened>}
 */
async function example(name) {
  return { name, file: new File([await exampleFile(name)], name) };
}

/**
 * @param {string} name
 * @returns {Promise<Blob>}
 */
async function exampleFile(name) {
  if (isPacked()) return new Blob([await packedFile(`examples/${name}`)]);
  const response = await fetch(`examples/${encodeURIComponent(name)}`);
  if (!response.ok) throw new Error(`${name} could not be fetched`);
  return response.blob();
}

/**
 * Creates the two buttons that open files.
 * @param {(files: Opened[]) => void} onfiles
 * @param {() => void} [before]
 */
export function openButtons(onfiles, before = () => {}) {
  const button = (/** @type {string} */ look, /** @type {string} */ text, /** @type {boolean} */ folder) => h('button', {
    type: 'button', class: look, onclick: () => {
      before();
      chooseFiles(folder, onfiles);
    },
  }, text);
  return h('div', { class: 'open-buttons' }, button('primary', 'Open files…', false), button('quiet', 'A folder…', true));
}

/**
 * Creates the list of recently opened files.
 * @param {(files: Opened[]) => void} onfiles
 * @param {(error: unknown) => void} onerror
 */
export function recentList(onfiles, onerror) {
  const host = h('div', {});
  recentFiles().then((files) => {
    if (files.length === 0) return;
    host.append(h('h3', {}, 'Recently opened'), h('ul', { class: 'recent' }, ...files.map((recent) => h('li', {}, recent.handle
      ? h('button', { type: 'button', class: 'link', onclick: () => reopen(recent).then((file) => onfiles([file])).catch(onerror) }, recent.name)
      : h('span', { class: 'muted' }, recent.name)))));
  });
  return host;
}

/**
 * Creates a card for each example: its format and size, and what it shows.
 * @param {Example[]} examples
 * @param {(files: Opened[]) => void} onfiles
 * @param {(error: unknown) => void} onerror
 */
function gallery(examples, onfiles, onerror) {
  return h('section', { class: 'examples', 'aria-label': 'Examples' }, h('h3', {}, 'Or try an example'),
    h('ul', { class: 'gallery' }, ...examples.map(({ name, format, description, size: bytes }) => h('li', {},
      h('button', { type: 'button', class: 'example', onclick: () => example(name).then((file) => onfiles([file])).catch(onerror) },
        h('span', { class: 'example-format' }, h('strong', {}, format), h('span', { class: 'muted' }, size(bytes))),
        h('span', {}, description), h('span', { class: 'muted mono example-name' }, name))))));
}

/**
 * @param {object} options
 * @param {string | null} options.wanted the file named in the address
 * @param {boolean} options.opens whether the page can open files
 * @param {import('./protocol.js').FileEntry[]} options.files
 * @param {Example[]} options.examples
 * @param {unknown} options.error
 * @param {(files: Opened[]) => void} options.onfiles
 * @param {(name: string) => void} options.onchoose
 * @param {(error: unknown) => void} options.onerror
 */
export function welcomePanel({ wanted, opens, files, examples, error, onfiles, onchoose, onerror }) {
  const title = wanted === null ? 'Open a compiled GPU program' : `This link refers to ${baseName(wanted)}`;
  const description = wanted === null ? 'Metal libraries, DirectX containers, CUDA fat binaries and cubins, and files that contain them.'
    : opens ? 'Open that file to follow the link.' : 'The file is not among those of this page.';
  return h('div', { class: 'welcome-panel' }, h('h2', {}, title), h('p', { class: 'muted' }, description),
    error !== undefined && problem(error),
    opens && openButtons(onfiles),
    opens && h('p', { class: 'muted' }, 'Or drop or paste files here. They stay on this computer.'),
    files.length > 0 && h('ul', { class: 'recent' }, ...files.slice(0, 50).map(({ name }) =>
      h('li', {}, h('button', { type: 'button', class: 'link', onclick: () => onchoose(name) }, name)))),
    !opens && files.length === 0 && error === undefined && nothing('No files here.', h('code', {}, 'unshade explore FILE')),
    examples.length > 0 && gallery(examples, onfiles, onerror),
    opens && recentList(onfiles, onerror));
}
