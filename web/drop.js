/**
 * Opening files: by file chooser, drag and drop, or paste; folders too. Where the browser provides file handles, they
 * are returned, so that a file can be reopened (`recent.js`).
 */

import { h } from './dom.js';

/** Maximum number of files taken from a folder. */
const MAX_FILES = 500;

/** @typedef {{file: File, name: string, handle?: FileSystemFileHandle}} Opened */

/**
 * Listens for files dropped or pasted anywhere on the page.
 * @param {(files: Opened[]) => void} onfiles
 */
export function listenForFiles(onfiles) {
  let depth = 0;
  const shade = h('div', { class: 'drop-shade', 'aria-hidden': 'true' }, h('p', {}, 'Drop to open'));
  const over = (/** @type {boolean} */ on) => {
    if (on) document.body.append(shade);
    else shade.remove();
  };
  document.addEventListener('dragenter', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    depth++;
    over(true);
  });
  document.addEventListener('dragleave', () => {
    depth = Math.max(0, depth - 1);
    if (depth === 0) over(false);
  });
  document.addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
  document.addEventListener('drop', async (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    depth = 0;
    over(false);
    onfiles(await dropped(event.dataTransfer));
  });
  document.addEventListener('paste', (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) onfiles(files.map((file) => ({ file, name: file.name })));
  });
}

/**
 * Returns the dropped files, including those in folders.
 * @param {DataTransfer} transfer
 * @returns {Promise<Opened[]>}
 */
async function dropped(transfer) {
  // Take the entries before the first await: after it the list is empty.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry !== null && entry !== undefined);
  const handles = await Promise.all([...transfer.items].map((item) => /** @type {any} */ (item).getAsFileSystemHandle?.().catch(() => undefined)));
  const handleOf = (/** @type {string} */ name) => handles.find((handle) => handle?.kind === 'file' && handle.name === name);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ file, name: file.name }));
  /** @type {Opened[]} */
  const files = [];
  /** @type {[FileSystemEntry, string][]} */
  const waiting = entries.map((entry) => [entry, '']);
  for (let next = waiting.shift(); next && files.length < MAX_FILES; next = waiting.shift()) {
    const [entry, folder] = next;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
      files.push({ file, name: folder + entry.name, handle: folder === '' ? handleOf(entry.name) : undefined });
    } else {
      const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
      for (;;) {
        /** @type {FileSystemEntry[]} */
        const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (batch.length === 0) break;
        waiting.push(.../** @type {[FileSystemEntry, string][]} */ (batch.map((child) => [child, `${folder}${entry.name}/`])));
      }
    }
  }
  return files;
}

/**
 * Opens the browser's file chooser.
 * @param {boolean} folder
 * @param {(files: Opened[]) => void} onfiles
 */
export async function chooseFiles(folder, onfiles) {
  const pick = /** @type {any} */ (window).showOpenFilePicker;
  if (!folder && pick) {
    try {
      /** @type {FileSystemFileHandle[]} */
      const handles = await pick({ multiple: true });
      return onfiles(await Promise.all(handles.slice(0, MAX_FILES).map(async (handle) => ({ file: await handle.getFile(), name: handle.name, handle }))));
    } catch (error) {
      // Cancelled; or pages in frames may not use this chooser, so use an input instead.
      if (/** @type {any} */ (error)?.name === 'AbortError') return;
    }
  }
  const input = h('input', { type: 'file', multiple: true, class: 'visually-hidden', 'aria-label': 'Files to open' });
  if (folder) input.webkitdirectory = true;
  input.addEventListener('change', () => {
    onfiles([...(input.files ?? [])].slice(0, MAX_FILES).map((file) => ({ file, name: file.webkitRelativePath || file.name })));
    input.remove();
  });
  input.addEventListener('cancel', () => input.remove());
  document.body.append(input);
  input.click();
}
