/** A button that opens a small sheet under it; Esc and a click elsewhere close it. */

import { usePage } from "./context.js";
import { Icon } from "./icons.js";
import { html, useEffect, useRef, useState } from "./vendor/preact.js";

/**
 * `children` is a function that gets `close`.
 * @param {{label: string, icon: string, marked?: boolean, className?: string, text?: string}} properties
 */
export function Menu({ label, icon, marked = false, className = "", text = label, children }) {
  const { words } = usePage();
  const [open, setOpen] = useState(false);
  const box = useRef(null);
  const button = useRef(null);

  useEffect(() => {
    if (!open) {
      return undefined;
    }
    const outside = (event) => {
      if (!box.current?.contains(event.target)) {
        setOpen(false);
      }
    };
    const escape = (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        close();
      }
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", escape, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", escape, true);
    };
  }, [open]);

  function close() {
    setOpen(false);
    button.current?.focus();
  }

  return html`<div class=${`menu ${className}`} ref=${box}>
    <button
      ref=${button}
      type="button"
      class=${`quiet${marked ? " marked" : ""}`}
      aria-expanded=${open ? "true" : "false"}
      aria-haspopup="dialog"
      aria-label=${label}
      title=${label}
      onClick=${() => setOpen(!open)}
    >
      <${Icon} name=${icon} /><span class="menu-text">${text}</span>
    </button>
    ${open &&
    html`<div class="sheet" role="dialog" aria-label=${label}>
      <div class="sheet-head">
        <h2>${label}</h2>
        <button type="button" class="quiet square" aria-label=${words.close} onClick=${close}><${Icon} name="close" /></button>
      </div>
      ${children(close)}
    </div>`}
  </div>`;
}
