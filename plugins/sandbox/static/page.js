/** The page: one store, one connection, drawn again whenever something changes. */

import { createActions } from "./actions.js";
import { ChatList, chatName, chatSign, summary } from "./chat_list.js";
import { Composer } from "./composer.js";
import { connect } from "./connection.js";
import { PageContext, usePage } from "./context.js";
import { Conversation } from "./conversation.js";
import { DialogueMenu } from "./dialogue_menu.js";
import { DropZone } from "./drop_zone.js";
import { Evidence } from "./evidence.js";
import { Icon } from "./icons.js";
import { Lightbox } from "./lightbox.js";
import { MemberMenu } from "./member_menu.js";
import { Banners, Notices } from "./notices.js";
import { Avatar } from "./person.js";
import { save, saved } from "./preferences.js";
import { SettingsMenu, THEMES } from "./settings_menu.js";
import { EMPTY } from "./state.js";
import { createStore, openChat, shownAnswer, speakerIn } from "./store.js";
import { TroubleMenu } from "./trouble_menu.js";
import { createUploads } from "./uploads.js";
import { html, render, useEffect, useMemo, useState } from "./vendor/preact.js";
import { QuestionRow } from "./welcome.js";
import { LANGUAGES, wordsOf } from "./words.js";

const TYPING_MS = 6000;
const NARROW = matchMedia("(max-width: 719px)");
const MEDIUM = matchMedia("(max-width: 1139px)");

const store = createStore({
  ...EMPTY,
  open: saved("chat", ""),
  speaker: saved("speaker", ""),
  narrow: NARROW.matches,
  medium: MEDIUM.matches,
  panel: !MEDIUM.matches && saved("panel", "open") === "open",
});
const uploads = createUploads({ dispatch: store.dispatch, limit: () => store.state.stage?.limits?.file_bytes ?? Infinity });
const actions = createActions(store, () => connection, uploads);
actions.enlarge = (picture) => store.dispatch({ type: "ui/set", patch: { picture } });
actions.startReply = (message) => actions.replyTo(openChat(store.state), message);

for (const query of [NARROW, MEDIUM]) {
  query.addEventListener("change", () => {
    const patch = { narrow: NARROW.matches, medium: MEDIUM.matches };
    if (query === MEDIUM) {
      patch.panel = !MEDIUM.matches;
    }
    store.dispatch({ type: "ui/set", patch });
  });
}

document.addEventListener("keydown", (event) => {
  if (event.altKey && !event.ctrlKey && !event.metaKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
    event.preventDefault();
    actions.openNext(event.key === "ArrowUp" ? -1 : 1);
  } else if (event.key === "Escape" && !event.defaultPrevented && !store.state.picture) {
    closeEvidence();
  }
});

/** Where the evidence lies over the conversation, Esc puts it away. */
function closeEvidence() {
  const { narrow, medium, view, panel } = store.state;
  if (narrow ? view === "evidence" : medium && panel) {
    actions.togglePanel();
  }
}

// A phone opens on the conversation, and going back leads from there to the list.
if (NARROW.matches && !history.state?.inChat) {
  history.pushState({ inChat: true }, "");
}
window.addEventListener("popstate", () => store.dispatch({ type: "ui/view", view: "list" }));

// A file that misses the conversation must not replace the page.
for (const name of ["dragover", "drop"]) {
  window.addEventListener(name, (event) => event.preventDefault());
}

const connection = connect({
  frame(frame) {
    store.dispatch(frame);
    if (frame.type === "stage") {
      connection.send({ type: "watch", chat: store.state.open });
    } else if (frame.type === "typing") {
      setTimeout(() => store.dispatch({ type: "ui/untype", chat: frame.chat }), TYPING_MS);
    }
  },
  status: (status) => store.dispatch({ type: "ui/set", patch: { connection: status } }),
});

function Page() {
  const [state, setState] = useState(store.state);
  const [language, setLanguage] = useState(saved("language", "zh", Object.keys(LANGUAGES)));
  const [theme, setTheme] = useState(saved("theme", "auto", THEMES));
  const words = useMemo(() => wordsOf(language), [language]);
  const page = useMemo(() => ({ words, actions }), [words]);
  const unread = state.chats.reduce((sum, chat) => sum + chat.unread, 0);

  useEffect(() => store.subscribe(setState), []);
  useEffect(() => {
    document.documentElement.lang = words.tag;
    save("language", language);
  }, [words]);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    save("theme", theme);
  }, [theme]);
  useEffect(() => {
    document.title = unread > 0 ? `(${unread}) ${words.page_title}` : words.page_title;
  }, [unread, words]);

  const connected = state.connection.status === "open";
  return html`<${PageContext.Provider} value=${page}>
    ${state.stage && !(state.narrow && state.view === "list") && html`<a class="skip" href="#message">${words.skip}</a>`}
    <header class="top">
      <h1><img src="/sandbox/static/icon.svg" alt="" width="26" height="26" />${words.product}<small>${words.subtitle}</small></h1>
      ${state.stage &&
      html`<${TroubleMenu} stage=${state.stage} bot=${state.bot} troubles=${state.troubles} connected=${connected} />
        <${DialogueMenu} open=${state.open} replay=${state.replay} connected=${connected} />`}
      <${SettingsMenu} language=${language} theme=${theme} setLanguage=${setLanguage} setTheme=${setTheme} />
    </header>
    ${(state.stage || !connected) && html`<${Banners} connection=${state.connection} troubles=${state.troubles} replay=${state.replay} />`}
    ${state.stage ? html`<${Stage} state=${state} connected=${connected} />` : html`<main class="loading"><p>${words.loading}</p></main>`}
    <${Notices} notices=${state.notices} limit=${state.stage?.limits?.file_bytes} />
    <${Lightbox} picture=${state.picture} close=${() => actions.enlarge(null)} />
    <div class="visually-hidden" aria-live="polite">
      ${state.said && words.says(state.bot.name, summary(state.said, words))}
    </div>
  <//>`;
}

function Stage({ state, connected }) {
  const { stage, bot, narrow, view } = state;
  const chat = openChat(state);
  const speaker = speakerIn(state, chat);
  const shown = useShown(state);
  const explained = useMemo(() => new Set(state.answers.map((entry) => entry.message)), [state.answers]);
  const quotedId = state.replies[chat.id];
  const replyTo = quotedId ? chat.messages.find((message) => message.id === quotedId && !message.recalled) : null;
  const uploading = state.uploads.filter((upload) => upload.chat === chat.id);
  const sheet = narrow ? view === "evidence" : state.panel;
  return html`<div class=${`columns${sheet && !narrow ? " with-evidence" : ""}`} data-view=${view}>
    ${!narrow && html`<${ChatList} chats=${state.chats} open=${state.open} bot=${bot} model=${stage.model} reached=${connected} />`}
    ${narrow && view === "list" && html`<main class="list"><${ChatList} chats=${state.chats} open="" bot=${bot} model=${stage.model} reached=${connected} /></main>`}
    ${(!narrow || view !== "list") &&
    html`<main class="chat" inert=${narrow && view === "evidence"}>
      <${ChatHead} chat=${chat} bot=${bot} speaker=${speaker} narrow=${narrow} evidence=${sheet} />
      <${DropZone} chat=${chat} connected=${connected}>
        <${Conversation} key=${chat.id} chat=${chat} speaker=${speaker} explained=${explained} shown=${sheet && state.tab === "answer" ? shown.entry?.message : ""} typing=${Boolean(state.typing[chat.id])}
          connected=${connected} stage=${stage} knowledge=${state.knowledge[chat.id]} bot=${bot} sent=${state.sent} />
        <${QuestionRow} chat=${chat} stage=${stage} knowledge=${state.knowledge[chat.id]} connected=${connected} />
        <${Composer} key=${`composer ${chat.id}`} chat=${chat} stage=${stage} bot=${bot} speaker=${speaker} replyTo=${replyTo}
          uploads=${uploading} connected=${connected} narrow=${narrow} />
      <//>
    </main>`}
    ${sheet && html`<${Evidence} tab=${state.tab} news=${state.news} knowledge=${state.knowledge[chat.id]} shown=${shown} calls=${state.calls} chats=${state.chats} sheet=${state.medium} chat=${chat.id} document=${state.document} />`}
    ${sheet && narrow && html`<div class="backdrop" onClick=${() => actions.view("conversation")}></div>`}
  </div>`;
}

/** The answer in the panel, the same object as long as it is the same answer. */
function useShown(state) {
  const { entry, latest, asked } = shownAnswer(state);
  return useMemo(() => ({ entry, latest, asked }), [entry, latest, asked]);
}

function ChatHead({ chat, bot, speaker, narrow, evidence }) {
  const { words } = usePage();
  return html`<div class="chat-head">
    ${narrow && html`<button type="button" class="quiet square" aria-label=${words.back} onClick=${() => actions.view("list")}><${Icon} name="back" /></button>`}
    <${Avatar} ...${chatSign(chat, bot)} />
    <h2>${chatName(chat, bot, words)}</h2>
    ${chat.kind === "group" && html`<${MemberMenu} chat=${chat} speaker=${speaker} />`}
    <button
      type="button"
      class="quiet"
      aria-label=${words.evidence_open}
      title=${words.evidence_open}
      aria-pressed=${evidence ? "true" : "false"}
      onClick=${actions.togglePanel}
    >
      <${Icon} name="panel" /><span class="wide-only">${words.evidence_open}</span>
    </button>
  </div>`;
}

render(html`<${Page} />`, document.getElementById("page"));
