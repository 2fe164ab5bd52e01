/** What the bot asked of QQ: its OneBot API calls, newest first. */

import { pure, usePage } from "./context.js";
import { clockText, durationText } from "./formats.js";
import { html } from "./vendor/preact.js";

export const CallsPanel = pure(function CallsPanel({ calls, chats }) {
  const { words } = usePage();
  if (calls.length === 0) {
    return html`<p class="empty">${words.calls_none}</p>`;
  }
  const names = new Map(chats.map((chat) => [chat.id, chat.name]));
  return html`<p class="totals">${words.calls_how}</p>
    <ol class="calls">
      ${calls.map(
        (call, at) => html`<li key=${calls.length - at} class="call">
          <p>
            <code>${call.action}</code>
            <span class=${`call-state ${call.status}`}>${words.call_states[call.status] ?? call.status}${call.retcode ? ` ${call.retcode}` : ""}</span>
          </p>
          <p class="facts">
            <span>${clockText(call.time, words)}</span><span>${durationText(call.milliseconds, words)}</span>
            ${call.chat && html`<span>${names.get(call.chat) ?? call.chat}</span>`}
          </p>
          ${call.message && html`<p class="call-message">${call.message}</p>`}
        </li>`,
      )}
    </ol>`;
});
