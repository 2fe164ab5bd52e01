/** The right panel: what the bot knows here, why it answered, and what it asked of QQ. */

import { AnswerPanel } from "./answer.js";
import { CallsPanel } from "./calls.js";
import { usePage } from "./context.js";
import { DocumentView } from "./document_view.js";
import { DocumentsPanel } from "./documents.js";
import { Icon } from "./icons.js";
import { createLibrary } from "./library.js";
import { html, useMemo, useRef } from "./vendor/preact.js";

const TABS = ["documents", "answer", "calls"];

export function Evidence({ tab, news, knowledge, shown, calls, chats, sheet, chat, document }) {
  const { words, actions } = usePage();
  const list = useRef(null);
  const library = useMemo(() => createLibrary({ prefix: "/sandbox/library", place: { chat } }), [chat]);

  function onKeyDown(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const at = (TABS.indexOf(tab) + step + TABS.length) % TABS.length;
      actions.tab(TABS[at]);
      list.current.children[at].focus();
    }
  }

  return html`<aside class="evidence" id="evidence" aria-label=${words.evidence}>
    <div class="tabs">
      <div role="tablist" aria-label=${words.evidence} ref=${list} onKeyDown=${onKeyDown}>
        ${TABS.map(
          (name) => html`<button
            key=${name}
            type="button"
            role="tab"
            id=${`tab-${name}`}
            aria-selected=${tab === name ? "true" : "false"}
            aria-controls="tab-panel"
            tabindex=${tab === name ? 0 : -1}
            onClick=${() => actions.tab(name)}
          >
            ${words.tabs[name]}${news[name] && html`<span class="dot"><span class="visually-hidden">${words.news}</span></span>`}
          </button>`,
        )}
      </div>
      ${sheet && html`<button type="button" class="quiet square" aria-label=${words.close} onClick=${actions.togglePanel}><${Icon} name="close" /></button>`}
    </div>
    <div class="tab-panel" role="tabpanel" id="tab-panel" tabindex="0" aria-labelledby=${`tab-${tab}`}>
      ${tab === "documents" &&
      (document
        ? html`<${DocumentView} key=${document} library=${library} number=${document} close=${actions.closeDocument} removed=${() => actions.documentRemoved(document)} />`
        : html`<${DocumentsPanel} knowledge=${knowledge} />`)}
      ${tab === "answer" && html`<${AnswerPanel} shown=${shown} />`}
      ${tab === "calls" && html`<${CallsPanel} calls=${calls} chats=${chats} />`}
    </div>
  </aside>`;
}
