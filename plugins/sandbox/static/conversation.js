/** The messages of one chat as QQ shows them. */

import { Bubble } from "./bubble.js";
import { pure, usePage } from "./context.js";
import { timeText } from "./formats.js";
import { Icon } from "./icons.js";
import { useMessageWindow } from "./message_window.js";
import { directory } from "./person.js";
import { html, useCallback, useEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { Welcome } from "./welcome.js";

const NEW_TIME_AFTER_S = 300;
const LIT_MS = 1600;

export const Conversation = pure(function Conversation({ chat, speaker, explained, shown: shownAnswer, typing, connected, stage, knowledge, bot, sent }) {
  const { words } = usePage();
  const { messages } = chat;
  const { scroller, content, start, behind, onScroll, toEnd, goTo } = useMessageWindow(messages, sent);
  const [active, setActive] = useState("");
  const [lit, setLit] = useState("");
  const person = useMemo(() => directory(chat), [chat.members]);
  const known = useMemo(() => new Map(messages.map((message) => [message.id, message])), [messages]);
  const latest = useRef();
  latest.current = { goTo };

  // It stays the same function, or every bubble would be drawn again with every message.
  const goToQuoted = useCallback((id) => {
    latest.current.goTo(id);
    setLit(id);
  }, []);

  useEffect(() => {
    if (!lit) {
      return undefined;
    }
    const timer = setTimeout(() => setLit(""), LIT_MS);
    return () => clearTimeout(timer);
  }, [lit]);

  const shown = messages.slice(start);
  const current = shown.some((message) => message.id === active) ? active : messages.at(-1)?.id;

  function onKeyDown(event) {
    const row = event.target.closest("li[data-message-id]");
    if (event.target !== row || event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) {
      return;
    }
    event.preventDefault();
    const rows = [...content.current.querySelectorAll("li.message")];
    rows[rows.indexOf(row) + (event.key === "ArrowUp" ? -1 : 1)]?.focus();
  }

  return html`<div class="conversation">
    <div class="scroller" ref=${scroller} onScroll=${onScroll} onPointerLeave=${() => setActive("")}>
      <div class="scroller-content" ref=${content}>
        ${messages.length === 0
          ? html`<${Welcome} chat=${chat} stage=${stage} knowledge=${knowledge} bot=${bot} connected=${connected} />`
          : html`<ol class="messages" aria-label=${words.conversation} onKeyDown=${onKeyDown}>
              ${shown.flatMap((message, at) => {
                const before = shown[at - 1];
                const gap = !before || message.time - before.time > NEW_TIME_AFTER_S;
                // One flat list, so that rows keep their elements when earlier ones go.
                return [
                  gap && html`<li key=${`time ${message.id}`} class="time-line"><time>${timeText(message.time, words)}</time></li>`,
                  html`<${Bubble}
                    key=${message.id}
                    message=${message}
                    person=${person}
                    speaker=${speaker}
                    active=${active === message.id}
                    current=${current === message.id}
                    lit=${lit === message.id}
                    explained=${explained.has(message.id)}
                    shown=${shownAnswer === message.id}
                    connected=${connected}
                    quoted=${known.get(message.parts.find((part) => part.kind === "reply")?.id) ?? null}
                    goTo=${goToQuoted}
                    activate=${setActive}
                  />`,
                ];
              })}
            </ol>`}
        ${typing && html`<p class="typing" role="status">${words.typing(bot.name)}</p>`}
      </div>
    </div>
    ${behind > 0 && html`<button type="button" class="new-messages" onClick=${toEnd}><${Icon} name="down" />${words.new_messages} ${behind}</button>`}
  </div>`;
});
