/** The conversation takes files that are dropped anywhere on it, and shows that it does. */

import { usePage } from "./context.js";
import { html, useRef, useState } from "./vendor/preact.js";

export function DropZone({ chat, connected, children }) {
  const { words, actions } = usePage();
  const [over, setOver] = useState(false);
  // Entering a child comes before leaving its parent, so the two are counted.
  const depth = useRef(0);
  const carries = (event) => event.dataTransfer?.types.includes("Files");

  function move(event, step) {
    if (carries(event)) {
      event.preventDefault();
      depth.current = Math.max(0, depth.current + step);
      setOver(depth.current > 0);
    }
  }

  function drop(event) {
    if (carries(event)) {
      event.preventDefault();
      depth.current = 0;
      setOver(false);
      if (connected) {
        actions.sendFiles(chat, [...event.dataTransfer.files]);
      }
    }
  }

  return html`<div
    class="drop-zone"
    onDragEnter=${(event) => move(event, 1)}
    onDragLeave=${(event) => move(event, -1)}
    onDragOver=${(event) => carries(event) && event.preventDefault()}
    onDrop=${drop}
  >
    ${children}
    ${over && html`<div class="drop-hint"><p>${connected ? words.dropping : words.cannot_send}</p></div>`}
  </div>`;
}
