/** Why an answer is what it is: verdict, what was searched and found, what stood in the prompt, and the time it took. */

import { Candidates } from "./candidates.js";
import { pure, usePage } from "./context.js";
import { durationText } from "./formats.js";
import { html } from "./vendor/preact.js";
import { outcomeOf, reasonOf } from "./verdict.js";

export const AnswerPanel = pure(function AnswerPanel({ shown }) {
  const { words, actions } = usePage();
  const { entry, latest, asked } = shown;
  if (!entry) {
    return html`<p class="empty">${asked ? words.answer_unknown : words.answer_none}</p>
      ${asked && html`<button type="button" class="link" onClick=${actions.latestAnswer}>${words.latest}</button>`}`;
  }
  const { answer } = entry;
  const outcome = outcomeOf(answer);
  return html`
    ${!latest &&
    html`<p class="older">${words.showing_older} <button type="button" class="link" onClick=${actions.latestAnswer}>${words.latest}</button></p>`}
    <section class=${`verdict-card ${outcome}`}>
      <p class="verdict-line">${words.because(words[outcome], reasonOf(answer, words))}</p>
      <p class="facts"><span>${words.kinds[answer.kind] ?? answer.kind}</span>${answer.model && html`<span>${answer.model}</span>`}</p>
    </section>
    ${answer.warning && html`<p class="warning">${answer.warning}</p>`}
    <${Asked} answer=${answer} />
    ${answer.candidates.length > 0 &&
    html`<h2>${words.candidates} <small>${words.threshold} ${answer.threshold.toFixed(2)}</small></h2>
      <p class="facts"><span>${words.counts(answer.counts)}</span></p>
      <${Candidates} candidates=${answer.candidates} threshold=${answer.threshold} />`}
    ${answer.references.length > 0 && html`<${References} answer=${answer} />`}
    ${answer.timings.length > 0 && html`<${Timings} timings=${answer.timings} />`}
  `;
});

function Asked({ answer }) {
  const { words } = usePage();
  const rows = [
    [words.question, answer.question],
    [words.quoted, answer.quoted],
    [words.rewritten, answer.rewritten],
    [words.searched, [answer.question, answer.rewritten].includes(answer.searched) ? "" : answer.searched],
    [words.expansions, answer.expansions.join(words.tag === "en" ? ", " : "、")],
  ].filter(([, text]) => text);
  return html`<dl class="pairs">${rows.map(([name, text]) => html`<div key=${name}><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>`;
}

function References({ answer }) {
  const { words } = usePage();
  return html`<h2>${answer.kind === "excerpt" ? words.references_quoted : words.references}</h2>
    <ul class="references">
      ${answer.references.map(
        (reference) => html`<li key=${reference.number}>
          <details>
            <summary>
              <span class="number">〔${reference.number}〕</span><span class="place">${reference.place}</span>
              ${reference.cited_as !== null && html`<span class="tag">${words.cited(reference.cited_as)}</span>`}
            </summary>
            <p class="facts">
              ${reference.version > 1 && html`<span>${words.version(reference.version)}</span>`}
              <span>${words.score} ${reference.score.toFixed(2)}</span>
            </p>
            <p class="passage whole">${reference.text}</p>
          </details>
        </li>`,
      )}
    </ul>`;
}

function Timings({ timings }) {
  const { words } = usePage();
  const reply = timings.find((timing) => timing.stage === "reply");
  const stages = timings.filter((timing) => timing !== reply && timing.stage !== "total");
  const sum = stages.reduce((total, timing) => total + timing.milliseconds, 0);
  const total = timings.find((timing) => timing.stage === "total")?.milliseconds ?? sum;
  const rest = total - sum;
  const shown = rest > total / 100 && rest > 1 ? [...stages, { stage: "rest", milliseconds: rest }] : stages;
  return html`<h2>${words.timings} <small>${words.stages.total} ${durationText(total, words)}</small></h2>
    <div class="stack" aria-hidden="true">
      ${shown.map(
        ({ stage, milliseconds }, at) => html`<span key=${stage} class=${`slice slice-${at % 5}`} style=${{ width: `${(milliseconds / Math.max(total, sum, 1)) * 100}%` }}></span>`,
      )}
    </div>
    <ul class="legend">
      ${shown.map(
        ({ stage, milliseconds }, at) => html`<li key=${stage}><span class=${`key slice-${at % 5}`}></span>${words.stages[stage] ?? stage} ${durationText(milliseconds, words)}</li>`,
      )}
    </ul>
    ${reply && html`<p class="hint">${words.until_reply(durationText(reply.milliseconds, words))}</p>`}`;
}
