/** What stands above everything for a while: errors, a lost connection, troubles that are on. */

import { usePage } from "./context.js";
import { ReplayState } from "./dialogue_menu.js";
import { sizeText } from "./formats.js";
import { Icon } from "./icons.js";
import { html, useEffect } from "./vendor/preact.js";

const SHOWN_MS = 9000;

/** A sentence for an error's code, with the server's detail behind it. */
export function errorText({ code, detail }, words, limit) {
  const known = words.errors[code] ?? words.errors.unknown;
  // The one that is too large says by itself what the limit is, which for pictures is another one.
  if (typeof known === "function") {
    return known(detail || (limit ? sizeText(limit) : ""));
  }
  return detail ? words.detail(known, detail) : known;
}

export function Notices({ notices, limit }) {
  return html`<div class="notices" role="alert">
    ${notices.map((notice) => html`<${Notice} key=${notice.key} notice=${notice} limit=${limit} />`)}
  </div>`;
}

function Notice({ notice, limit }) {
  const { words, actions } = usePage();
  useEffect(() => {
    const timer = setTimeout(() => actions.dismiss(notice.key), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notice.key]);
  return html`<p class="notice">
    <span>${errorText(notice, words, limit)}</span>
    <button type="button" class="quiet square" aria-label=${words.close} onClick=${() => actions.dismiss(notice.key)}><${Icon} name="close" /></button>
  </p>`;
}

export function Banners({ connection, troubles, replay }) {
  const { words, actions } = usePage();
  return html`<div class="banners">
    ${connection.status !== "open" &&
    html`<div class="banner lost">
      <span>${connection.status === "waiting" ? words.lost(connection.seconds) : words.reconnecting}</span>
      ${connection.status === "waiting" && html`<button type="button" onClick=${actions.reconnect}>${words.reconnect_now}</button>`}
    </div>`}
    ${troubles.length > 0 &&
    html`<div class="banner trouble">
      <span role="status"><b>${words.trouble_on}</b> ${troubles.map((name) => words.troubles[name] ?? name).join(words.tag === "en" ? ", " : "、")}</span>
      <button type="button" onClick=${actions.endTroubles}>${words.trouble_end}</button>
    </div>`}
    ${replay?.running && html`<div class="banner"><${ReplayState} replay=${replay} /></div>`}
  </div>`;
}
