/** Where the matched words stand in a text, whatever their width or case. */

const LEAD_CHARS = 24;
const SPACES = /\s+/gu;

/** Start and end of every matched place, overlapping ones joined, in order. */
export function matchedRanges(text, words) {
  let normal = "";
  const owners = [];
  let index = 0;
  for (const character of text) {
    const part = character.normalize("NFKC").toLowerCase();
    normal += part;
    for (let unit = 0; unit < part.length; unit += 1) {
      owners.push([index, index + character.length]);
    }
    index += character.length;
  }
  const found = [];
  for (const word of words) {
    const sought = word.normalize("NFKC").toLowerCase();
    for (let at = sought ? normal.indexOf(sought) : -1; at >= 0; at = normal.indexOf(sought, at + 1)) {
      found.push([owners[at][0], owners[at + sought.length - 1][1]]);
    }
  }
  found.sort((one, other) => one[0] - other[0]);
  const joined = [];
  for (const [start, end] of found) {
    const last = joined.at(-1);
    if (last && start <= last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      joined.push([start, end]);
    }
  }
  return joined;
}

/** A text in pieces, marked and not. */
export function markedPieces(text, words) {
  const pieces = [];
  let at = 0;
  for (const [start, end] of matchedRanges(text, words)) {
    pieces.push({ text: text.slice(at, start), marked: false }, { text: text.slice(start, end), marked: true });
    at = end;
  }
  pieces.push({ text: text.slice(at), marked: false });
  return pieces.filter((piece) => piece.text);
}

/** At most `limit` characters on one line, from a little before the place where most is matched. */
export function excerpt(text, words, limit) {
  const line = text.replace(SPACES, " ").trim();
  const ranges = matchedRanges(line, words);
  let best = 0;
  let most = 0;
  for (const [start] of ranges) {
    const inside = ranges
      .filter((range) => range[0] >= start && range[1] <= start + limit - LEAD_CHARS)
      .reduce((sum, range) => sum + range[1] - range[0], 0);
    if (inside > most) {
      [best, most] = [start, inside];
    }
  }
  const characters = [...line];
  const before = [...line.slice(0, best)].length;
  const first = characters.length <= limit ? 0 : Math.max(0, before - LEAD_CHARS);
  const cut = characters.slice(first, first + limit).join("");
  return `${first > 0 ? "…" : ""}${cut}${first + limit < characters.length ? "…" : ""}`;
}
