/** The first visit: three sample documents, then five questions to click; the questions stay in a row afterwards. */

import { pure, usePage } from "./context.js";
import { sizeText } from "./formats.js";
import { Icon } from "./icons.js";
import { html, useState } from "./vendor/preact.js";

/** @returns {"none" | "building" | "ready"} whether the samples are in the knowledge base of this chat */
export function samplesState(stage, chat, knowledge) {
  const names = new Set(stage.samples.map((sample) => sample.name));
  const documents = (knowledge?.documents ?? []).filter((document) => names.has(document.name));
  const progress = (knowledge?.progress ?? []).filter((entry) => names.has(entry.name));
  const sent = chat.messages.some((message) => message.parts.some((part) => part.kind === "file" && names.has(part.name)));
  if (documents.length > 0 && progress.length === 0 && documents.every((document) => document.state === "ready")) {
    return !sent || documents.length === names.size ? "ready" : "building";
  }
  return documents.length + progress.length > 0 || sent ? "building" : "none";
}

export function Welcome({ chat, stage, knowledge, bot, connected }) {
  const { words, actions } = usePage();
  if (chat.kind === "private") {
    return html`<section class="welcome">
      <h2>${words.welcome_private}</h2>
      <p>${words.welcome_private_how}</p>
      <p class="hint">${words.drop_hint}</p>
    </section>`;
  }
  const state = samplesState(stage, chat, knowledge);
  return html`<section class="welcome">
    <h2>${words.welcome(bot.name)}</h2>
    <p>${words.welcome_how}</p>
    <ul class="sample-list">
      ${stage.samples.map(
        (sample) => html`<li key=${sample.name}><${Icon} name="file" /><span>${sample.name}</span><small>${sizeText(sample.size)}</small></li>`,
      )}
    </ul>
    <button type="button" class="primary" disabled=${!connected || state !== "none"} onClick=${() => actions.samples(chat)}>
      ${words.send_samples}
    </button>
    <p class="hint">${words.drop_hint}</p>
    <${Questions} chat=${chat} stage=${stage} ready=${state === "ready"} connected=${connected} />
  </section>`;
}

/** The row above the composer, once the samples are on their way; it can be put away. */
export const QuestionRow = pure(function QuestionRow({ chat, stage, knowledge, connected }) {
  const { words } = usePage();
  const [hidden, setHidden] = useState(false);
  const state = samplesState(stage, chat, knowledge);
  if (chat.kind === "private" || chat.messages.length === 0 || state === "none") {
    return null;
  }
  return html`<div class="question-row">
    ${!hidden && html`<${Questions} chat=${chat} stage=${stage} ready=${state === "ready"} connected=${connected} />`}
    <button
      type="button"
      class=${`quiet${hidden ? "" : " square"}`}
      aria-label=${hidden ? words.questions_show : words.questions_hide}
      aria-expanded=${hidden ? "false" : "true"}
      onClick=${() => setHidden(!hidden)}
    >
      ${hidden ? html`<${Icon} name="question" />${words.questions_show}` : html`<${Icon} name="close" />`}
    </button>
  </div>`;
});

function Questions({ chat, stage, ready, connected }) {
  const { words, actions } = usePage();
  return html`<div class="questions" role="group" aria-label=${words.questions}>
    <span class="questions-title">${words.questions}</span>
    ${!ready && html`<span class="hint" id=${`wait-${chat.id}`}>${words.questions_wait}</span>`}
    <ul tabindex=${ready && connected ? undefined : 0}>
      ${stage.questions.map(
        (question) => html`<li key=${question}>
          <button
            type="button"
            class="chip"
            disabled=${!ready || !connected}
            aria-describedby=${ready ? undefined : `wait-${chat.id}`}
            onClick=${() => actions.ask(chat, question)}
          >
            ${question}
          </button>
        </li>`,
      )}
    </ul>
  </div>`;
}
