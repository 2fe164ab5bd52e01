/** Files on their way, above the composer: how far each is, and a second try for one that failed. */

import { usePage } from "./context.js";
import { percentText, sizeText } from "./formats.js";
import { errorText } from "./notices.js";
import { html } from "./vendor/preact.js";

export function UploadTray({ uploads, limit }) {
  const { words } = usePage();
  if (uploads.length === 0) {
    return null;
  }
  return html`<ul class="uploads" aria-label=${words.uploads}>
    ${uploads.map((upload) => html`<${Upload} key=${upload.key} upload=${upload} limit=${limit} />`)}
  </ul>`;
}

function Upload({ upload, limit }) {
  const { words, actions } = usePage();
  const { key, name, size, sent, state } = upload;
  const failed = state === "failed";
  const share = size ? Math.min(1, sent / size) : 0;
  const says = state === "waiting" ? words.waiting : share === 1 ? words.finishing : `${percentText(share)} · ${sizeText(size)}`;
  return html`<li class=${failed ? "upload failed" : "upload"}>
    ${failed
      ? html`<span class="upload-text" role="alert">${words.upload_failed(name, errorText(upload, words, limit))}</span>
          <button type="button" class="quiet" aria-label=${words.of_file(words.retry, name)} onClick=${() => actions.retryUpload(key)}>
            ${words.retry}
          </button>`
      : html`<span class="upload-text"><b>${name}</b> <small>${says}</small></span>
          <progress max="1" value=${share} aria-label=${name}></progress>`}
    <button type="button" class="quiet" aria-label=${words.of_file(failed ? words.remove : words.cancel, name)} onClick=${() => actions.removeUpload(key)}>
      ${failed ? words.remove : words.cancel}
    </button>
  </li>`;
}
