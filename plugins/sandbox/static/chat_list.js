/** The left column: groups and private chats, and how the bot is. */

import { pure, usePage } from "./context.js";
import { timeText } from "./formats.js";
import { Avatar } from "./person.js";
import { html } from "./vendor/preact.js";

/** A message in one line, for lists and quotes. */
export function summary(message, words) {
  if (message.recalled) {
    return words.recalled_short;
  }
  const pieces = message.parts.map((part) => {
    switch (part.kind) {
      case "text":
        return part.text;
      case "at":
        return `@${part.name} `;
      case "image":
        return words.other_part(words.image);
      case "file":
        return part.name;
      case "forward":
        return words.forward(part.nodes.length);
      case "other":
        return words.other_part(part.name);
      default:
        return "";
    }
  });
  return pieces.join("").replace(/\s+/gu, " ").trim();
}

/** What a chat is called; all private chats are with the bot, so each is named after the person in it. */
export const chatName = (chat, bot, words) => (chat.kind === "private" ? words.private_with(bot.name, chat.name) : chat.name);

/** The sign of a chat: a private chat has that of the person in it. */
export function chatSign(chat, bot) {
  const person = chat.kind === "private" && chat.members.find((member) => member.id !== bot.id);
  return person ? { id: person.id, name: person.name } : { id: chat.id, name: chat.name, group: true };
}

export const ChatList = pure(function ChatList({ chats, open, bot, model, reached }) {
  const { words } = usePage();
  const kinds = [
    ["group", words.groups],
    ["private", words.privates],
  ];
  return html`<nav class="chat-list" aria-label=${words.chats} aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown">
    <div class="chat-groups">
      ${kinds.map(
        ([kind, title]) => html`<section key=${kind} aria-label=${title}>
          <h2>${title}</h2>
          <ul>
            ${chats
              .filter((chat) => chat.kind === kind)
              .map((chat) => html`<${Entry} key=${chat.id} chat=${chat} open=${chat.id === open} bot=${bot} />`)}
          </ul>
        </section>`,
      )}
    </div>
    <${BotState} bot=${bot} model=${model} reached=${reached} />
  </nav>`;
});

const Entry = pure(function Entry({ chat, open, bot }) {
  const { words, actions } = usePage();
  const last = chat.messages.at(-1);
  const name = chatName(chat, bot, words);
  const author = last && chat.kind === "group" ? chat.members.find((member) => member.id === last.sender)?.name : null;
  const line = last ? summary(last, words) : words.nothing_yet;
  return html`<li>
    <button
      type="button"
      class="chat-entry"
      data-chat-id=${chat.id}
      aria-current=${open ? "true" : undefined}
      onClick=${() => actions.open(chat.id)}
    >
      <${Avatar} ...${chatSign(chat, bot)} />
      <span class="chat-text">
        <span class="chat-name">${name}</span>
        <span class="chat-last">${author ? words.says(author, line) : line}</span>
      </span>
      <span class="chat-side">
        ${last && html`<time>${timeText(last.time, words)}</time>`}
        ${chat.unread > 0 &&
        html`<span class="unread"><span aria-hidden="true">${chat.unread > 99 ? "99+" : chat.unread}</span
          ><span class="visually-hidden">${words.unread(chat.unread)}</span></span>`}
      </span>
    </button>
  </li>`;
});

function BotState({ bot, model, reached }) {
  const { words } = usePage();
  const state = !reached ? words.unknown : bot.connected ? words.online : words.offline;
  return html`<section class="bot-state" aria-label=${words.bot_state}>
    <${Avatar} id=${bot.id} name=${bot.name} bot />
    <div>
      <p><b>${bot.name}</b> <span class=${reached && bot.connected ? "online" : "offline"}>${state}</span></p>
      <dl>
        <div><dt>${words.dialect}</dt><dd>${bot.dialect}</dd></div>
        <div><dt>${words.model}</dt><dd>${model || words.no_model}</dd></div>
      </dl>
    </div>
  </section>`;
}
