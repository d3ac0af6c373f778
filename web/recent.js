/**
 * Files that were opened of late. Where the browser gives a page a handle of a file, the handle is kept, and the file is
 * one click away (the browser asks first); of the others the name is kept, as a reminder.
 */

import { keep, kept } from './theme.js';

const KEY = 'unshade.recent';
const STORE = 'handles';
const MOST = 8;

/** @typedef {{name: string, handle?: FileSystemFileHandle}} Recent */

/**
 * Asks the database; without one nothing is kept but names.
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} ask
 * @returns {Promise<T | undefined>}
 */
function handles(mode, ask) {
  return new Promise((resolve) => {
    let opening;
    try {
      opening = indexedDB.open('unshade', 1);
    } catch {
      return resolve(undefined);
    }
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => resolve(undefined);
    opening.onsuccess = () => {
      const asked = ask(opening.result.transaction(STORE, mode).objectStore(STORE));
      asked.onsuccess = () => {
        opening.result.close();
        resolve(asked.result);
      };
      asked.onerror = () => resolve(undefined);
    };
  });
}

/** @returns {string[]} names, the last first */
function names() {
  try {
    const names = JSON.parse(kept(KEY) ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string').slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** @returns {Promise<Recent[]>} the last first */
export async function recentFiles() {
  const known = names();
  if (known.length === 0) return [];
  return Promise.all(known.map(async (name) => ({ name, handle: await handles('readonly', (store) => store.get(name)) })));
}

/**
 * @param {string} name
 * @param {FileSystemFileHandle} [handle]
 */
export async function remember(name, handle) {
  const before = names();
  const now = [name, ...before.filter((other) => other !== name)].slice(0, MOST);
  keep(KEY, JSON.stringify(now));
  if (handle) await handles('readwrite', (store) => store.put(handle, name));
  for (const old of before.filter((other) => !now.includes(other))) await handles('readwrite', (store) => store.delete(old));
}

/**
 * The file of a handle, after the browser asked whether the page may read it.
 * @param {Recent} recent
 * @returns {Promise<import('./drop.js').Opened>}
 */
export async function reopen({ name, handle }) {
  if (!handle) throw new Error(`${name} has to be opened again.`);
  const asked = await /** @type {any} */ (handle).requestPermission?.({ mode: 'read' }) ?? 'granted';
  if (asked !== 'granted') throw new Error(`The browser does not let this page read ${name}.`);
  return { name, file: await handle.getFile(), handle };
}
