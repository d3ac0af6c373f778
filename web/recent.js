/**
 * Recently opened files. Where the browser provides file handles, they are stored, and a file can be reopened with
 * one click (after the browser asks). Otherwise only the name is stored, as a reminder.
 */

import { keep, kept } from './theme.js';

const KEY = 'unshade.recent';
const STORE = 'handles';
const MAX_FILES = 8;

/** @typedef {{name: string, handle?: FileSystemFileHandle}} Recent */

/**
 * Accesses the database of handles; without one, only names are stored.
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} request
 * @returns {Promise<T | undefined>}
 */
function handles(mode, request) {
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
      const pending = request(opening.result.transaction(STORE, mode).objectStore(STORE));
      pending.onsuccess = () => {
        opening.result.close();
        resolve(pending.result);
      };
      pending.onerror = () => resolve(undefined);
    };
  });
}

/** @returns {string[]} names, most recent first */
function names() {
  try {
    const names = JSON.parse(kept(KEY) ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string').slice(0, MAX_FILES) : [];
  } catch {
    return [];
  }
}

/** @returns {Promise<Recent[]>} most recent first */
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
  const previous = names();
  const current = [name, ...previous.filter((other) => other !== name)].slice(0, MAX_FILES);
  keep(KEY, JSON.stringify(current));
  if (handle) await handles('readwrite', (store) => store.put(handle, name));
  for (const old of previous.filter((other) => !current.includes(other))) await handles('readwrite', (store) => store.delete(old));
}

/**
 * Returns the file of a handle, after the browser asked for permission to read it.
 * @param {Recent} recent
 * @returns {Promise<import('./drop.js').Opened>}
 */
export async function reopen({ name, handle }) {
  if (!handle) throw new Error(`${name} must be opened again.`);
  const permission = await /** @type {any} */ (handle).requestPermission?.({ mode: 'read' }) ?? 'granted';
  if (permission !== 'granted') throw new Error(`The browser denied access to ${name}.`);
  return { name, file: await handle.getFile(), handle };
}
