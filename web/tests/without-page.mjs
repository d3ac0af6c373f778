/** Lets modules of the page load outside of a browser, for tests of their functions. Import it before them. */

/** @type {any} */ (globalThis).window ??= { matchMedia: () => ({ matches: false, addEventListener() {} }) };
