/** One message of a conversation, with its reactions and what can be done with it. */

import { pure, usePage } from "./context.js";
import { DISLIKE, DRAWN, emojiText, LIKE } from "./emojis.js";
import { Icon } from "./icons.js";
import { Parts } from "./parts.js";
import { Avatar, Badge } from "./person.js";
import { html } from "./vendor/preact.js";

const ADMINS = new Set(["owner", "admin"]);

/** QQ's rule: one's own message, or a plain member's (or the bot's) as an admin, anybody else's as the owner. */
function mayRecall(author, speaker) {
  return author.id === speaker.id || speaker.role === "owner" || (ADMINS.has(speaker.role) && !ADMINS.has(author.role));
}

/**
 * `active` shows the actions; `person` tells who an id is; `quoted` is the message that this one quotes, or null.
 */
export const Bubble = pure(function Bubble(properties) {
  const { message, person, speaker, active, lit, explained, shown, current, connected, quoted, goTo, activate } = properties;
  const { words, actions } = usePage();
  const author = person(message.sender);
  if (message.recalled) {
    const operator = person(message.recalled_by);
    const told = operator.id === author.id ? words.recalled(author.name) : words.recalled_of(operator.name, author.name);
    return html`<li class="notice-line" data-message-id=${message.id}>${told}</li>`;
  }
  const mine = author.id === speaker;
  // The whole bubble is a wide target for the mouse; for keys and fingers there is the button under it.
  const explain = (event) => {
    if (event.pointerType === "mouse" && !event.target.closest("button, a, summary") && getSelection().isCollapsed) {
      actions.explain(message);
    }
  };
  return html`<li
    class=${`message ${mine ? "mine" : "theirs"}${lit ? " lit" : ""}`}
    data-message-id=${message.id}
    tabindex=${current ? 0 : -1}
    onPointerEnter=${(event) => event.pointerType === "mouse" && activate(message.id)}
    onClick=${() => activate(message.id)}
    onFocusIn=${() => activate(message.id)}
  >
    <${Avatar} id=${author.id} name=${author.name} bot=${author.role === "bot"} />
    <div class="message-body">
      <p class="author"><span>${author.name}</span><${Badge} role=${author.role} /></p>
      <div class="bubble-row">
        <div class=${`bubble${explained ? " explained" : ""}${shown ? " shown" : ""}`} onClick=${explained ? explain : undefined}>
          <${Parts} parts=${message.parts} quoted=${quoted} person=${person} goTo=${goTo} />
        </div>
        ${active && html`<${Toolbar} message=${message} author=${author} speaker=${person(speaker)} connected=${connected} />`}
      </div>
      ${message.reactions.length > 0 &&
      html`<ul class="reactions">
        ${message.reactions.map(({ emoji, people }) => {
          const on = people.includes(speaker);
          const names = people.map((id) => person(id).name).join(words.tag === "en" ? ", " : "、");
          return html`<li key=${emoji}>
            <button
              type="button"
              class="reaction"
              aria-pressed=${on ? "true" : "false"}
              aria-label=${words.reaction(emojiText(emoji, words), names)}
              title=${names}
              disabled=${!connected}
              onClick=${() => actions.react(message, emoji, !on)}
            >
              <span aria-hidden="true" class="reaction-text">
                ${DRAWN[emoji] ? html`<${Icon} name=${DRAWN[emoji]} />` : emojiText(emoji, words)} ${people.length}
              </span>
            </button>
          </li>`;
        })}
      </ul>`}
      ${explained && html`<button type="button" class="link why" aria-pressed=${shown ? "true" : "false"} onClick=${() => actions.explain(message)}><${Icon} name="why" />${words.why}</button>`}
    </div>
  </li>`;
});

function Toolbar({ message, author, speaker, connected }) {
  const { words, actions } = usePage();
  const reacted = (emoji) => message.reactions.some((entry) => entry.emoji === emoji && entry.people.includes(speaker.id));
  const react = (emoji, label) => html`<button
    type="button"
    aria-label=${label}
    aria-pressed=${reacted(emoji) ? "true" : "false"}
    title=${label}
    disabled=${!connected}
    onClick=${() => actions.react(message, emoji, !reacted(emoji))}
  ><${Icon} name=${DRAWN[emoji]} /></button>`;
  return html`<div class="toolbar" role="group" aria-label=${words.actions}>
    <button type="button" aria-label=${words.reply} title=${words.reply} onClick=${() => actions.startReply(message)}><${Icon} name="reply" /></button>
    ${react(LIKE, words.react_up)} ${react(DISLIKE, words.react_down)}
    ${mayRecall(author, speaker) &&
    html`<button type="button" aria-label=${words.recall} title=${words.recall} disabled=${!connected} onClick=${() => actions.recall(message)}>
      <${Icon} name="recall" />
    </button>`}
  </div>`;
}
