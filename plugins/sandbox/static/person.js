/** A person as a sign: the circle with the last character of the name, and the badge of the role. */

import { usePage } from "./context.js";
import { html } from "./vendor/preact.js";

const COLOURS = 8;

/** The same colour for the same id, on every visit. */
function colourOf(id) {
  let hash = 7;
  for (const character of id) {
    hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  }
  return hash % COLOURS;
}

const segmenter = new Intl.Segmenter("zh", { granularity: "grapheme" });

/** People go by the last character of the name, as in QQ; groups by the first, since many end in 群. */
function sign(name, group) {
  const characters = [...segmenter.segment(name.trim())];
  return characters.at(group ? 0 : -1)?.segment ?? "?";
}

/** @param {{id: string, name: string, bot?: boolean, group?: boolean}} properties */
export function Avatar({ id, name, bot = false, group = false }) {
  const kind = bot ? "avatar-bot" : `avatar-${colourOf(id)}`;
  return html`<span class=${`avatar ${kind}${group ? " avatar-group" : ""}`} aria-hidden="true">${sign(name, group)}</span>`;
}

/** Owner, admin and bot are marked as QQ marks them; members are not. */
export function Badge({ role }) {
  const { words } = usePage();
  return role === "member" || !words.roles[role]
    ? null
    : html`<span class=${`badge badge-${role}`}>${words.roles[role]}</span>`;
}

/** @returns {(id: string) => {id: string, name: string, role: string}} who somebody is in a chat, strangers by their number */
export function directory(chat) {
  const known = new Map(chat.members.map((member) => [member.id, member]));
  return (id) => known.get(id) ?? { id, name: id, role: "member" };
}
