/** One document: its outline, its text by page and section, and its passages as they are searched. */

import { usePage } from "./context.js";
import { sizeText, timeText } from "./formats.js";
import { Icon } from "./icons.js";
import { Passage, withoutOverlap } from "./passage.js";
import { html, useEffect, useRef, useState } from "./vendor/preact.js";

const VIEWS = ["text", "passages"];

/** The facts about a document in one line. */
export function documentFacts(document, words) {
  return [
    document.version > 1 && words.version(document.version),
    document.chunks > 0 && words.chunks(document.chunks),
    document.size > 0 && sizeText(document.size),
    document.uploader,
    document.time > 0 && timeText(document.time, words),
  ].filter(Boolean);
}

/** Where something stands: the page and the headings. */
function placeText({ page, heading }, words) {
  return [page && words.page(page), heading.join(" › ")].filter(Boolean).join(" · ");
}

/**
 * @param {{library: ReturnType<typeof import("./library.js").createLibrary>, number: number, close: () => void, removed: () => void}} properties
 */
export function DocumentView({ library, number, close, removed }) {
  const { words } = usePage();
  const [opened, setOpened] = useState(null);
  const [failure, setFailure] = useState("");
  const [view, setView] = useState("text");
  const [page, setPage] = useState(0);
  const [passages, setPassages] = useState(null);
  const [target, setTarget] = useState(null);
  const heading = useRef(null);

  useEffect(() => {
    let current = true;
    setOpened(null);
    setPage(0);
    library.open(number).then(
      (found) => current && setOpened(found),
      (error) => current && setFailure(error.code),
    );
    return () => {
      current = false;
    };
  }, [library, number]);

  useEffect(() => {
    if (!opened) {
      return undefined;
    }
    let current = true;
    setPassages(null);
    library.passages(number, page * opened.page_size).then(
      (found) => current && setPassages(found.passages),
      (error) => current && setFailure(error.code),
    );
    return () => {
      current = false;
    };
  }, [opened, page]);

  useEffect(() => heading.current?.focus(), [opened]);
  useEffect(() => {
    if (passages && target !== null) {
      globalThis.document.getElementById(`passage-${target}`)?.scrollIntoView({ block: "start" });
      setTarget(null);
    }
  }, [passages, target, view]);

  const back = html`<button type="button" class="quiet square" aria-label=${words.documents_back} title=${words.documents_back} onClick=${close}><${Icon} name="back" /></button>`;
  if (failure) {
    return html`<div class="document-view">${back}<p class="warning" role="alert">${words.errors[failure] ?? words.errors.unknown}</p></div>`;
  }
  if (!opened) {
    return html`<div class="document-view">${back}<p class="empty">${words.loading}</p></div>`;
  }
  const { document, outline, cut, page_size: size } = opened;
  const pages = Math.max(1, Math.ceil(document.chunks / size));
  const goTo = (ordinal) => {
    setPage(Math.floor(ordinal / size));
    setTarget(ordinal);
  };
  return html`<article class="document-view" aria-label=${document.name}>
    <header class="document-bar">${back}<h2 tabindex="-1" ref=${heading}>${document.name}</h2></header>
    <p class="facts">${documentFacts(document, words).map((fact, at) => html`<span key=${at}>${fact}</span>`)}</p>
    <${Deletion} library=${library} document=${document} removed=${removed} failed=${setFailure} />
    ${outline.length > 1 &&
    html`<details class="outline">
      <summary>${words.outline} <small>${cut ? words.outline_cut(outline.length) : outline.length}</small></summary>
      <ol>
        ${outline.map(
          (entry) => html`<li key=${entry.ordinal} class=${`depth-${Math.min(entry.heading.length, 4)}`}>
            <button type="button" class="link" onClick=${() => goTo(entry.ordinal)}>
              ${[entry.page && words.page(entry.page), entry.heading.at(-1)].filter(Boolean).join(" · ") || words.beginning}
            </button>
          </li>`,
        )}
      </ol>
    </details>`}
    <fieldset class="segments">
      <legend class="visually-hidden">${words.document_views}</legend>
      <div class="segment-row">
        ${VIEWS.map(
          (name) => html`<label key=${name}>
            <input type="radio" name="document-view" checked=${view === name} onChange=${() => setView(name)} />
            <span>${words.views[name]}</span>
          </label>`,
        )}
      </div>
    </fieldset>
    ${passages === null
      ? html`<p class="empty">${words.loading}</p>`
      : passages.length === 0
        ? html`<p class="empty">${document.state === "building" ? words.reading : words.passages_none}</p>`
        : view === "text"
          ? html`<${Sections} passages=${passages} />`
          : html`<ol class="passages">
              ${passages.map(
                (passage) => html`<li key=${passage.ordinal} id=${`passage-${passage.ordinal}`}>
                  <p class="passage-place"><span class="number">${passage.ordinal + 1}</span>${placeText(passage, words)}</p>
                  <${Passage} text=${passage.text} />
                </li>`,
              )}
            </ol>`}
    ${pages > 1 && html`<${Pager} page=${page} pages=${pages} setPage=${setPage} />`}
  </article>`;
}

/** The text as it stands in the document: what neighbouring passages share is shown once. */
function Sections({ passages }) {
  const { words } = usePage();
  const sections = [];
  for (const passage of passages) {
    const place = placeText(passage, words);
    const last = sections.at(-1);
    if (last?.place === place) {
      const rest = withoutOverlap(last.text, passage.text);
      last.text += rest === passage.text ? `\n${rest}` : rest;
      last.ordinals.push(passage.ordinal);
    } else {
      sections.push({ place, text: passage.text, ordinals: [passage.ordinal] });
    }
  }
  return sections.map(
    ({ place, text, ordinals }) => html`<section key=${ordinals[0]} class="document-section">
      ${ordinals.map((ordinal) => html`<span key=${ordinal} id=${`passage-${ordinal}`}></span>`)}
      ${place && html`<h3>${place}</h3>`}
      <${Passage} text=${text} />
    </section>`,
  );
}

export function Pager({ page, pages, setPage }) {
  const { words } = usePage();
  return html`<nav class="pager" aria-label=${words.pages}>
    <button type="button" class="quiet" disabled=${page === 0} onClick=${() => setPage(page - 1)}>${words.page_before}</button>
    <span>${words.page_of(page + 1, pages)}</span>
    <button type="button" class="quiet" disabled=${page + 1 >= pages} onClick=${() => setPage(page + 1)}>${words.page_next}</button>
  </nav>`;
}

function Deletion({ library, document, removed, failed }) {
  const { words } = usePage();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);

  function remove() {
    setBusy(true);
    library.remove(document).then(removed, (error) => failed(error.code));
  }

  if (!asking) {
    return html`<p><button type="button" class="link danger" onClick=${() => setAsking(true)}>${words.delete_document}</button></p>`;
  }
  return html`<div class="warning deletion" role="group" aria-label=${words.delete_document}>
    <p>${words.delete_sure(document.name)}</p>
    <button type="button" class="primary danger" disabled=${busy} onClick=${remove}>${words.delete_yes}</button>
    <button type="button" class="quiet" disabled=${busy} onClick=${() => setAsking(false)}>${words.cancel}</button>
  </div>`;
}
