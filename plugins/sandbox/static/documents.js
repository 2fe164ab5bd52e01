/** The documents of the open chat, as they are taken in. */

import { pure, usePage } from "./context.js";
import { documentFacts } from "./document_view.js";
import { sizeText } from "./formats.js";
import { html } from "./vendor/preact.js";

export const DocumentsPanel = pure(function DocumentsPanel({ knowledge }) {
  const { words } = usePage();
  if (!knowledge) {
    return html`<p class="empty">${words.loading}</p>`;
  }
  const progress = new Map(knowledge.progress.map((entry) => [entry.name, entry]));
  const listed = new Set(knowledge.documents.map((document) => document.name));
  const coming = knowledge.progress.filter((entry) => !listed.has(entry.name));
  const rows = [
    ...coming.map(({ name }) => ({ name, state: "building" })),
    ...knowledge.documents,
  ];
  return html`
    ${knowledge.degraded && html`<p class="warning">${knowledge.degraded}</p>`}
    ${knowledge.asked_group && html`<p class="warning">${words.asked_group(knowledge.asked_group)}</p>`}
    ${knowledge.stale > 0 && html`<p class="warning">${words.stale(knowledge.stale)}</p>`}
    ${rows.length === 0
      ? html`<p class="empty">${words.documents_none}</p>`
      : html`<p class="totals">
            ${words.documents_total(knowledge.total, knowledge.chunks, sizeText(knowledge.size))}
            ${knowledge.shared && html`<span class="tag">${words.shared}</span>`}
          </p>
          <ul class="documents">
            ${rows.map((entry) => html`<${Document} key=${entry.number ?? entry.name} document=${entry} progress=${progress.get(entry.name)} />`)}
          </ul>`}
    <${Indexes} knowledge=${knowledge} />
  `;
});

function Document({ document, progress }) {
  const { words, actions } = usePage();
  const building = document.state === "building" || progress !== undefined;
  const facts = documentFacts(document, words);
  return html`<li class="document" data-document-name=${document.name}>
    <p class="document-head">
      ${document.number > 0 && html`<span class="number">${document.number}</span>`}
      ${document.number > 0 && document.chunks > 0
        ? html`<button type="button" class="document-name link" title=${words.open_document(document.name)} onClick=${() => actions.openDocument(document.number)}>${document.name}</button>`
        : html`<span class="document-name">${document.name}</span>`}
      <span class=${building ? "state building" : "state ready"}>${building ? words.state_building : words.state_ready}</span>
    </p>
    ${facts.length > 0 && html`<p class="facts">${facts.map((fact, at) => html`<span key=${at}>${fact}</span>`)}</p>`}
    ${building && html`<${Progress} name=${document.name} progress=${progress ?? { done: 0, total: 0 }} />`}
  </li>`;
}

function Progress({ name, progress: { done, total } }) {
  const { words } = usePage();
  return html`<p class="document-progress">
    ${total > 0
      ? html`<progress key="known" max=${total} value=${done} aria-label=${words.progress_of(name)}></progress>`
      : html`<progress key="reading" aria-label=${words.progress_of(name)}></progress>`}
    <small>${total > 0 ? words.progress(done, total) : words.reading}</small>
  </p>`;
}

function Indexes({ knowledge }) {
  const { words } = usePage();
  // What is being taken in stands in the index before it counts as a passage of a document.
  const whole = knowledge.progress.length === 0;
  const count = (indexed) => (indexed === null ? words.not_asked : whole ? `${indexed}/${knowledge.chunks}` : `${indexed}`);
  return html`<dl class="pairs">
    <div><dt>${words.indexes}</dt><dd>${words.index_words} ${count(knowledge.indexed_chunks)} · ${words.index_vectors} ${count(knowledge.indexed_vectors)}</dd></div>
    <div><dt>${words.embedding}</dt><dd>${knowledge.embedding}</dd></div>
  </dl>`;
}
