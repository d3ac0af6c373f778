/** Light, dark or system colours, stored in the browser; and the width of the window. */

/** Below this width the sidebar is a drawer. */
export const NARROW = window.matchMedia('(max-width: 759px)');

const CHOICES = /** @type {const} */ (['auto', 'light', 'dark']);
const KEY = 'unshade.theme';

/** @returns {string} */
export function theme() {
  return document.documentElement.dataset.theme ?? 'auto';
}

/** @param {string} choice */
function apply(choice) {
  if (choice === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

/** Applies the stored choice. */
export function restoreTheme() {
  apply(kept(KEY) ?? 'auto');
}

/**
 * Switches to the next choice.
 * @returns {string} the new choice
 */
export function nextTheme() {
  const at = CHOICES.findIndex((choice) => choice === theme());
  const choice = CHOICES[(at + 1) % CHOICES.length];
  apply(choice);
  keep(KEY, choice);
  return choice;
}

/**
 * Returns a stored value; null if the browser denies access to storage.
 * @param {string} key
 * @returns {string | null}
 */
export function kept(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/**
 * @param {string} key
 * @param {string} value
 */
export function keep(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Private windows may deny access; the choice then lasts until the page is closed.
  }
}
