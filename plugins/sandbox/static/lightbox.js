/** A picture as large as the window; Esc and a click beside it close it. */

import { usePage } from "./context.js";
import { Icon } from "./icons.js";
import { html, useLayoutEffect, useRef } from "./vendor/preact.js";

export function Lightbox({ picture, close }) {
  const { words } = usePage();
  const dialog = useRef(null);
  useLayoutEffect(() => {
    if (picture) {
      dialog.current.showModal();
    }
  }, [picture]);
  if (!picture) {
    return null;
  }
  const name = picture.name || words.image;
  return html`<dialog class="lightbox" ref=${dialog} aria-label=${name} onClose=${close} onClick=${(event) => event.target === dialog.current && dialog.current.close()}>
    <img src=${picture.url} alt=${name} />
    <button type="button" class="square" aria-label=${words.close} onClick=${() => dialog.current.close()}><${Icon} name="close" /></button>
  </dialog>`;
}
