/** The page's few icons, drawn in lines of the text's colour. */

import { html } from "./vendor/preact.js";

const PATHS = {
  back: "M15 5l-7 7 7 7",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 5v14M6 13l6 6 6-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  file: "M7 3h7l4 4v14H7zM14 3v5h4",
  panel: "M4 5h16v14H4zM14.5 5v14",
  people: "M9 11a3.2 3.2 0 1 0 0-6.4A3.2 3.2 0 0 0 9 11zM3 19c0-3.2 2.6-5.2 6-5.2s6 2 6 5.2M16 5.2a3 3 0 0 1 0 5.6M17.5 14.3c2.2.6 3.5 2.3 3.5 4.7",
  question: "M9.2 9a2.9 2.9 0 1 1 4.6 2.3c-1 .7-1.8 1.3-1.8 2.7M12 17.6v.3",
  recall: "M5 8h9a5 5 0 0 1 0 10H8M5 8l4-4M5 8l4 4",
  reply: "M10 6L4 11l6 5v-3.4c5 0 8 1.4 10 4.9-.6-5-3.6-8.4-10-8.9z",
  send: "M4 12l16-7-5 15-3.4-6.2z",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M14 4.5v5M10 14.5v5",
  thumb_down: "M8 4h8.6c1 0 1.9.7 2.1 1.7l1.2 6c.2 1.2-.7 2.3-2 2.3H13l.8 4.3c.2 1-.5 1.9-1.5 1.9L8 13.6zM4 4h4v9.6H4z",
  thumb_up: "M8 20h8.6c1 0 1.9-.7 2.1-1.7l1.2-6c.2-1.2-.7-2.3-2-2.3H13l.8-4.3c.2-1-.5-1.9-1.5-1.9L8 10.4zM4 20h4v-9.6H4z",
  why: "M4 19V9M10 19V5M16 19v-7M21 19H3",
};

/** @param {{name: keyof typeof PATHS}} properties */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
