/** What this browser remembers: language, appearance, who speaks. A browser that forbids storage forgets it. */

const PREFIX = "qunzhi.";

/** @returns {string} the saved choice, or `fallback` where none of the `allowed` is saved */
export function saved(name, fallback, allowed = null) {
  let value = null;
  try {
    value = localStorage.getItem(PREFIX + name);
  } catch {
    return fallback;
  }
  return value === null || (allowed && !allowed.includes(value)) ? fallback : value;
}

export function save(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Private windows of some browsers refuse; the choice then holds until the page is closed.
  }
}
