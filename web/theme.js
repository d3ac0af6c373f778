/** Light, dark, or as the system has it. The choice is kept in this browser. */

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

/** Takes up the choice of last time. */
export function restoreTheme() {
  apply(kept(KEY) ?? 'auto');
}

/**
 * Goes on to the next choice.
 * @returns {string} what it is now
 */
export function nextTheme() {
  const at = CHOICES.findIndex((choice) => choice === theme());
  const choice = CHOICES[(at + 1) % CHOICES.length];
  apply(choice);
  keep(KEY, choice);
  return choice;
}

/**
 * What this browser was told to keep. A page whose storage is closed does without.
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
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
