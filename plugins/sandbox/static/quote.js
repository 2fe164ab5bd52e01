/** The quoted message above a reply: who said what, as a button that goes there. */

import { summary } from "./chat_list.js";
import { usePage } from "./context.js";
import { html } from "./vendor/preact.js";

const SHOWN_CHARS = 80;

/** @param {{message: object | null, person: (id: string) => object, go: () => void}} properties */
export function Quote({ message, person, go }) {
  const { words } = usePage();
  if (!message) {
    return html`<p class="quote gone">${words.gone}</p>`;
  }
  const { name } = person(message.sender);
  // The message that is gone to becomes the active one, so the click must not make this one so.
  const follow = (event) => {
    event.stopPropagation();
    go();
  };
  return html`<button type="button" class="quote" aria-label=${words.go_to_quoted(name)} onClick=${follow}>
    <b>${name}</b><span>${summary(message, words).slice(0, SHOWN_CHARS)}</span>
  </button>`;
}
