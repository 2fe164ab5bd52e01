/** The text of a passage as a person reads it: table rows as a table, everything else line by line. All of it is text. */

import { html } from "./vendor/preact.js";

const BAR = /(?:^|\s)\|(?:\s|$)/u;
const LEAST_ROWS = 2;
const LONGEST_OVERLAP = 1000;
const SHORTEST_OVERLAP = 6;

/** The cells of a row, as the loaders join them; an empty cell at its edge is a bare bar. */
const cells = (line) => line.split(" | ").map((cell) => cell.trim().replace(/^\|$/u, ""));

/** @returns {({rows: string[][]} | {lines: string[]})[]} runs of table rows and of other lines, in order */
export function blocks(text) {
  const runs = [];
  for (const line of text.split("\n")) {
    const isRow = BAR.test(line);
    const last = runs.at(-1);
    if (last && last.isRow === isRow) {
      last.lines.push(line);
    } else {
      runs.push({ isRow, lines: [line] });
    }
  }
  return runs.map(({ isRow, lines }) => (isRow && lines.length >= LEAST_ROWS ? { rows: lines.map(cells) } : { lines }));
}

/** A passage without what it repeats from the end of the one before. */
export function withoutOverlap(before, text) {
  for (let length = Math.min(LONGEST_OVERLAP, before.length, text.length); length >= SHORTEST_OVERLAP; length -= 1) {
    if (before.endsWith(text.slice(0, length))) {
      return text.slice(length);
    }
  }
  return text;
}

export function Passage({ text }) {
  return blocks(text).map((block, at) =>
    block.rows
      ? html`<div key=${at} class="table-box" tabindex="0"><table>
          <tbody>${block.rows.map((row, place) => html`<${Row} key=${place} row=${row} head=${place === 0} />`)}</tbody>
        </table></div>`
      : html`<p key=${at} class="passage-text">${block.lines.join("\n").trim()}</p>`,
  );
}

function Row({ row, head }) {
  return html`<tr>
    ${row.map((cell, at) => (head ? html`<th key=${at} scope="col">${cell}</th>` : html`<td key=${at}>${cell}</td>`))}
  </tr>`;
}
