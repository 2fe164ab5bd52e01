/** What the search found for a question, best first, each with its figures against the threshold. */

import { pure, usePage } from "./context.js";
import { percentText, scoreTexts } from "./formats.js";
import { excerpt, markedPieces } from "./matches.js";
import { html, useState } from "./vendor/preact.js";

const EXCERPT_CHARS = 110;

export const Candidates = pure(function Candidates({ candidates, threshold }) {
  return html`<ol class="candidates">
    ${candidates.map((candidate, at) => html`<${Candidate} key=${at} candidate=${candidate} threshold=${threshold} />`)}
  </ol>`;
});

function Candidate({ candidate, threshold }) {
  const { words } = usePage();
  const [whole, setWhole] = useState(false);
  const { place, text, matched, cosine, coverage, score, verdict } = candidate;
  const cut = excerpt(text, matched, EXCERPT_CHARS);
  return html`<li class="candidate">
    <p class="candidate-head">
      <span class="place">${place}</span>
      <span class=${`verdict ${verdict === "approved" ? "passed" : "rejected"}`}>${words.verdicts[verdict] ?? verdict}</span>
    </p>
    <${ScoreBar} score=${score} threshold=${threshold} />
    <p class="facts">
      <span>${cosine === null ? words.no_vector : words.cosine(cosine.toFixed(2))}</span>
      <span>${words.coverage(percentText(coverage))}</span>
    </p>
    <p class=${whole ? "passage whole" : "passage"}>
      ${markedPieces(whole ? text : cut, matched).map((piece, at) => (piece.marked ? html`<mark key=${at}>${piece.text}</mark>` : piece.text))}
    </p>
    ${cut.length < text.length &&
    html`<button type="button" class="link" aria-expanded=${whole ? "true" : "false"} onClick=${() => setWhole(!whole)}>
      ${whole ? words.excerpt_only : words.whole_text}
    </button>`}
  </li>`;
}

function ScoreBar({ score, threshold }) {
  const { words } = usePage();
  if (score === null) {
    return html`<p class="score none"><span class="track"></span><span>${words.not_reranked}</span></p>`;
  }
  const [shown, bar] = scoreTexts(score, threshold);
  const width = `${Math.max(0, Math.min(1, score)) * 100}%`;
  return html`<p class=${`score ${score >= threshold ? "passed" : "rejected"}`}>
    <span class="track" role="img" aria-label=${words.score_label(shown, bar)}>
      <span class="fill" style=${{ width }}></span>
      <span class="threshold" style=${{ left: `${threshold * 100}%` }}></span>
    </span>
    <span aria-hidden="true">${shown}</span>
  </p>`;
}
