/** What a message is made of: text, mentions, quotes, pictures, files, forwarded messages. All of it is text to the page. */

import { usePage } from "./context.js";
import { sizeText } from "./formats.js";
import { Icon } from "./icons.js";
import { Avatar } from "./person.js";
import { Quote } from "./quote.js";
import { html, useState } from "./vendor/preact.js";

const BLOCKS = new Set(["image", "file", "forward", "reply"]);

/**
 * The parts in order; text and mentions that follow each other share a paragraph.
 * @param {{parts: object[], quoted?: object | null, person?: (id: string) => object, goTo?: (id: string) => void}} properties
 */
export function Parts({ parts, quoted, person, goTo }) {
  const rows = [];
  for (const part of parts) {
    const last = rows.at(-1);
    if (!BLOCKS.has(part.kind) && Array.isArray(last)) {
      last.push(part);
    } else {
      rows.push(BLOCKS.has(part.kind) ? part : [part]);
    }
  }
  return rows.map((row, index) => {
    if (Array.isArray(row)) {
      return html`<p key=${index} class="text">${row.map((part, at) => html`<${Inline} key=${at} part=${part} />`)}</p>`;
    }
    switch (row.kind) {
      case "reply":
        return goTo ? html`<${Quote} key=${index} message=${quoted} person=${person} go=${() => goTo(row.id)} />` : null;
      case "image":
        return html`<${Picture} key=${index} part=${row} />`;
      case "file":
        return html`<${FileCard} key=${index} part=${row} />`;
      default:
        return html`<${Forward} key=${index} part=${row} person=${person} />`;
    }
  });
}

function Inline({ part }) {
  const { words } = usePage();
  switch (part.kind) {
    case "text":
      return part.text;
    case "at":
      return html`<span class="at">@${part.name}</span>`;
    default:
      return html`<span class="other">${words.other_part(part.name ?? part.kind)}</span>`;
  }
}

function Picture({ part }) {
  const { words, actions } = usePage();
  const [broken, setBroken] = useState(false);
  if (broken) {
    return html`<p class="text broken">${words.image_broken(part.name || words.image)}</p>`;
  }
  return html`<button type="button" class="picture" aria-label=${words.enlarge(part.name || words.image)} onClick=${() => actions.enlarge(part)}>
    <img src=${part.url} alt=${part.name || words.image} onError=${() => setBroken(true)} />
  </button>`;
}

function FileCard({ part }) {
  const { words } = usePage();
  const type = /\.([a-z0-9]{1,4})$/iu.exec(part.name)?.[1]?.toUpperCase();
  return html`<div class="file-card">
    <span class="file-type" aria-hidden="true">${type ?? html`<${Icon} name="file" />`}</span>
    <span class="file-text"><span class="file-name">${part.name}</span><small>${sizeText(part.size)}</small></span>
    ${part.url &&
    html`<a class="quiet square" href=${part.url} download=${part.name} aria-label=${words.download_file(part.name)} title=${words.download}>
      <${Icon} name="download" />
    </a>`}
  </div>`;
}

const FORWARD_LINES = 3;

function Forward({ part, person }) {
  const { words } = usePage();
  const beginning = part.nodes.slice(0, FORWARD_LINES).map((node) => {
    const text = node.parts.map((piece) => piece.text ?? "").join("").replace(/\s+/gu, " ");
    return words.says(node.name, text.slice(0, 60));
  });
  return html`<details class="forward">
    <summary>
      <b>${words.forward(part.nodes.length)}</b>
      <span class="forward-lines">${beginning.map((line, at) => html`<span key=${at}>${line}</span>`)}</span>
    </summary>
    <ol>
      ${part.nodes.map(
        (node, at) => html`<li key=${at}>
          <${Avatar} id=${node.sender} name=${node.name} bot=${person?.(node.sender).role === "bot"} />
          <div><b class="forward-name">${node.name}</b><${Parts} parts=${node.parts} person=${person} /></div>
        </li>`,
      )}
    </ol>
  </details>`;
}
