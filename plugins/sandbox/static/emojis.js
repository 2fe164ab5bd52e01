/** QQ's numbers of emojis: its own faces by number, Unicode ones by code point. */

const FACES = {
  0: "😮", 4: "😎", 5: "😢", 7: "🤐", 8: "😴", 9: "😭", 10: "😅", 12: "😜", 13: "😁", 14: "🙂", 16: "😎", 21: "🥰",
  26: "😱", 27: "😓", 31: "🤬", 32: "❓", 33: "🤫", 39: "👋", 49: "🤗", 53: "🎂", 59: "💩", 60: "☕", 63: "🌹", 66: "❤️",
  74: "☀️", 75: "🌙", 76: "👍", 77: "👎", 78: "🤝", 79: "✌️", 85: "😘", 89: "🍉", 96: "😓", 99: "👏", 101: "😏",
  103: "🥱", 106: "🥺", 116: "💋", 118: "🙏", 120: "👊", 121: "👎", 122: "🤟", 123: "🙅", 124: "👌", 129: "👋",
  144: "🎉", 171: "🍵", 174: "🤷", 179: "🐶", 182: "😂", 201: "👍", 212: "🤔", 264: "🤦", 285: "🐮", 424: "⏳",
};
const FIRST_CODE_POINT = 8000;
const LAST_CODE_POINT = 0x10ffff;

// Some systems have no coloured emojis; these two are the page's own buttons and must not be empty boxes.
export const DRAWN = { 76: "thumb_up", 77: "thumb_down" };
export const LIKE = "76";
export const DISLIKE = "77";

/** @returns {string} the emoji, or words for one that is not known here */
export function emojiText(id, words) {
  const number = Number(id);
  if (Number.isInteger(number) && number >= FIRST_CODE_POINT && number <= LAST_CODE_POINT) {
    return String.fromCodePoint(number);
  }
  return FACES[id] ?? words.emoji(id);
}
